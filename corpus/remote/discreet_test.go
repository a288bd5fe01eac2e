package remote

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Errors of a store tell a client what is wrong, and not where the store is.
func TestErrorsHaveNoFolders(t *testing.T) {
	open := &fs.PathError{Op: "open", Path: "/srv/misstep/station/blobs/ab/cd.tmp", Err: unix.EACCES}
	for _, c := range []struct {
		err  error
		want string
		code codes.Code
	}{
		{fmt.Errorf("put: %w", open), "put: open cd.tmp: permission denied", codes.Internal},
		{&fs.PathError{Op: "write", Path: "/srv/x", Err: unix.ENOSPC}, "write x: no space left on device", codes.ResourceExhausted},
		{errors.New(`rename "/srv/x/y" (/tmp/z): no`), `rename "y" (z): no`, codes.Internal},
		{errors.New("GET https://example.org/a/b: 404, 3/4 read"), "GET https://example.org/a/b: 404, 3/4 read", codes.Internal},
	} {
		s := status.Convert(toStatus(c.err))
		assert.Equal(t, c.want, s.Message())
		assert.Equal(t, c.code, s.Code())
	}
}
