package station

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Only messages about a connection that cannot be made are reworded; the code stays.
func TestUnreachable(t *testing.T) {
	for text, want := range map[string]string{
		`connection error: desc = "transport: Error while dialing: dial tcp 127.0.0.1:1: connect: connection refused"`: "no coordinator " +
			"answers at h:1 (dial tcp 127.0.0.1:1: connect: connection refused); start one with `misstep coordinator`, or correct the address",
		`connection error: desc = "error reading server preface: EOF"`: "no coordinator answers at h:1 (error reading server preface: EOF); " +
			"if it has TLS, give its authority by --tls-ca",
		`connection error: desc = "transport: authentication handshake failed: x509: bad: remedy"`: "no secure connection to h:1: x509: " +
			"bad: remedy",
		`max retries exhausted: failed after 3 attempts: rpc error: code = Unavailable desc = connection error: desc = "x"`: "no " +
			"coordinator answers at h:1 (x); start one with `misstep coordinator`, or correct the address",
		"the store is full": "the store is full",
	} {
		err := (&addresses{list: []string{"h:1"}}).unreachable(status.Error(codes.Unavailable, text))
		assert.Equal(t, codes.Unavailable, status.Code(err))
		assert.Equal(t, want, status.Convert(err).Message())
	}
	other := errors.New(`connection error: desc = "x"`)
	assert.Equal(t, other, (&addresses{list: []string{"h:1"}}).unreachable(other))
	assert.NoError(t, (&addresses{list: []string{"h:1"}}).unreachable(nil))
}
