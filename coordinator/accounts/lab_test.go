package accounts_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"misstep/coordinator/access"
	"misstep/coordinator/accounts"
	"misstep/coordinator/store"
	"misstep/coordinator/store/memory"
	misstepv1 "misstep/proto/misstep/v1"
)

const (
	viewer  = misstepv1.Role_ROLE_VIEWER
	hunter  = misstepv1.Role_ROLE_HUNTER
	triager = misstepv1.Role_ROLE_TRIAGER
	runner  = misstepv1.Role_ROLE_RUNNER
	admin   = misstepv1.Role_ROLE_ADMIN
)

// lab is a coordinator's accounts behind a connection, on a clock of its own.
type lab struct {
	*testing.T
	now     time.Time
	store   store.Store
	service *accounts.Service
	conn    *grpc.ClientConn
	api     misstepv1.AccessServiceClient
}

// calls answers every call of the other services with Unimplemented, once it was let in.
type calls struct {
	misstepv1.UnimplementedAdminServiceServer
	misstepv1.UnimplementedCorpusServiceServer
	misstepv1.UnimplementedLeaseServiceServer
}

func newLab(t *testing.T, provider *accounts.Provider) *lab {
	l := &lab{T: t, now: time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC), store: memory.New()}
	l.service = accounts.New(accounts.Config{
		Store: l.store, Clock: func() time.Time { return l.now }, Provider: provider, Asked: true,
	})
	options := access.ServerOptions(access.Options{
		Authenticators: []access.Authenticator{l.service.Authenticate}, Audit: l.service.Record,
	})
	server := grpc.NewServer(append(options, grpc.UnknownServiceHandler(func(any, grpc.ServerStream) error {
		return status.Error(codes.Unimplemented, "let in")
	}))...)
	misstepv1.RegisterAccessServiceServer(server, l.service)
	misstepv1.RegisterAdminServiceServer(server, calls{})
	misstepv1.RegisterCorpusServiceServer(server, calls{})
	misstepv1.RegisterLeaseServiceServer(server, calls{})
	pipe := bufconn.Listen(1 << 16)
	go func() { _ = server.Serve(pipe) }()
	t.Cleanup(server.Stop)
	var err error
	l.conn, err = grpc.NewClient("passthrough:test", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return pipe.DialContext(ctx) }))
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.conn.Close() })
	l.api = misstepv1.NewAccessServiceClient(l.conn)
	return l
}

// with returns the context of a call with a credential.
func (l *lab) with(credential string) context.Context {
	if credential == "" {
		return l.Context()
	}
	return metadata.AppendToOutgoingContext(l.Context(), "authorization", "Bearer "+credential)
}

func grant(project string, role misstepv1.Role) *misstepv1.Grant {
	return &misstepv1.Grant{Project: project, Role: role}
}

// token makes a token by this process.
func (l *lab) token(name string, grants ...*misstepv1.Grant) string {
	l.Helper()
	r, err := l.service.CreateToken(l.Context(), &misstepv1.CreateTokenRequest{Name: name, Grants: grants})
	require.NoError(l, err)
	return r.GetSecret()
}

// entries returns the audit log, the oldest first.
func (l *lab) entries() []*misstepv1.AuditEntry {
	l.Helper()
	r, err := l.service.ListAudit(l.Context(), &misstepv1.ListAuditRequest{Limit: 1000})
	require.NoError(l, err)
	var out []*misstepv1.AuditEntry
	for i := range r.GetEntries() {
		out = append(out, r.GetEntries()[len(r.GetEntries())-1-i])
	}
	return out
}
