package accounts_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

// wire sends and receives bytes as they are.
type wire struct{}

func (wire) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil } //nolint:forcetypeassert // only this file calls it
func (wire) Name() string                  { return "proto" }
func (wire) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = slices.Clone(data) //nolint:forcetypeassert // only this file calls it
	return nil
}

// Any bytes as the request of any call, sent twice, give a viewer nothing: no grant, no token, no entry of the log, no secret; and
// what nobody may send gets an answer that says so, from an admin, too.
func FuzzCalls(f *testing.F) {
	methods := misstepv1.File_misstep_v1_access_proto.Services().ByName("AccessService").Methods()
	add := func(method int, m proto.Message) {
		raw, err := proto.Marshal(m)
		require.NoError(f, err)
		for _, root := range []bool{false, true} {
			f.Add(method, root, raw)
			f.Add(method, root, append(raw, raw...))
			f.Add(method, root, raw[:len(raw)/2])
		}
	}
	long := strings.Repeat("x", 100_000)
	everywhere := &misstepv1.Grant{Role: admin}
	for i := range methods.Len() {
		for _, m := range []proto.Message{
			&misstepv1.CreateTokenRequest{Name: "x", Grants: []*misstepv1.Grant{everywhere}, Lifetime: durationpb.New(-time.Hour)},
			&misstepv1.CreateTokenRequest{Name: long, Grants: slices.Repeat([]*misstepv1.Grant{everywhere}, 1000)},
			&misstepv1.RevokeTokenRequest{TokenId: "0000000000"}, &misstepv1.RevokeTokenRequest{MadeBy: "local"},
			&misstepv1.GrantAccessRequest{Access: &misstepv1.AccessGrant{Person: "eve", Grant: everywhere}},
			&misstepv1.GrantAccessRequest{Access: &misstepv1.AccessGrant{Group: long, Grant: &misstepv1.Grant{Project: "../x", Role: 99}}},
			&misstepv1.ListAuditRequest{Limit: 1 << 31, Before: 1 << 63},
		} {
			add(i, m)
		}
	}
	f.Fuzz(func(t *testing.T, method int, asRoot bool, raw []byte) {
		m := methods.Get(int(uint(method) % uint(methods.Len())))
		l := newLab(t, nil)
		root, viewing := l.token("root", grant("", admin)), l.token("eve", grant("p", viewer))
		credential := viewing
		if asRoot {
			credential = root
		}
		name := "/" + string(m.Parent().FullName()) + "/" + string(m.Name())
		for range 2 {
			var answer []byte
			err := l.conn.Invoke(l.with(credential), name, &raw, &answer, grpc.ForceCodec(wire{}))
			unread := strings.Contains(status.Convert(err).Message(), "failed to unmarshal the received message")
			broken := status.Code(err) == codes.Internal || status.Code(err) == codes.Unknown
			assert.False(t, broken && !unread, "%s: %v", m.Name(), err)
			for _, secret := range []string{root[20:], viewing[20:]} {
				assert.NotContains(t, string(answer), secret)
				assert.NotContains(t, status.Convert(err).Message(), secret)
			}
			assert.Less(t, len(status.Convert(err).Message()), 8<<10, "an answer does not repeat all that was sent")
		}
		if asRoot {
			return
		}
		require.NoError(t, l.store.View(t.Context(), func(tx store.Tx) error {
			granted, err := tx.Access()
			assert.Empty(t, granted)
			tokens, _ := tx.Tokens()
			assert.Len(t, tokens, 2)
			return err
		}))
		_, err := l.api.ListAudit(l.with(root), &misstepv1.ListAuditRequest{})
		require.NoError(t, err, "the admin's token is still good")
	})
}
