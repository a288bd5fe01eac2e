package access_test

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"misstep/coordinator/access"
	misstepv1 "misstep/proto/misstep/v1"
)

var (
	viewer  = misstepv1.Role_ROLE_VIEWER
	hunter  = misstepv1.Role_ROLE_HUNTER
	triager = misstepv1.Role_ROLE_TRIAGER
	runner  = misstepv1.Role_ROLE_RUNNER
	admin   = misstepv1.Role_ROLE_ADMIN
)

func TestRolesIncludeOthers(t *testing.T) {
	includes := map[misstepv1.Role][]misstepv1.Role{
		viewer:  {viewer},
		hunter:  {viewer, hunter},
		triager: {viewer, triager},
		runner:  {runner},
		admin:   {viewer, hunter, triager, runner, admin},
	}
	for number := range misstepv1.Role_name {
		for other := range misstepv1.Role_name {
			has, needed := misstepv1.Role(number), misstepv1.Role(other)
			want := false
			for _, r := range includes[has] {
				want = want || r == needed
			}
			assert.Equal(t, want, access.Includes(has, needed), "%v includes %v", has, needed)
		}
	}
}

func TestAGrantIsForItsProjectOnly(t *testing.T) {
	c := &access.Caller{Grants: []access.Grant{{Project: "p", Role: hunter}, {Role: viewer}}}
	assert.True(t, c.May(hunter, "p"))
	assert.False(t, c.May(hunter, "q"))
	assert.False(t, c.May(hunter, ""), "in every project")
	assert.True(t, c.May(viewer, "q"))
	assert.False(t, c.May(triager, "p"))
	assert.True(t, access.From(t.Context()).May(admin, ""), "without a caller it is this process itself")
}

func TestEachCallNamesItsRole(t *testing.T) {
	services := access.Services()
	require.NotEmpty(t, services)
	for _, s := range services {
		for i := range s.Methods().Len() {
			m := access.Describe(s.Methods().Get(i))
			assert.NotEmpty(t, m.Roles, "%s: give it `option (misstep.v1.role)`", s.Methods().Get(i).FullName())
			assert.NotContains(t, m.Roles, misstepv1.Role_ROLE_UNSPECIFIED)
		}
	}
}

// called answers every call with OK and remembers who made it.
type called struct {
	misstepv1.UnimplementedAdminServiceServer
	misstepv1.UnimplementedCorpusServiceServer
	by     *access.Caller
	reader string
	in     string // project
}

func (s *called) GetFinding(ctx context.Context, _ *misstepv1.GetFindingRequest) (*misstepv1.GetFindingResponse, error) {
	s.by, s.reader, s.in = access.From(ctx), access.Reader(ctx), access.Project(ctx)
	return &misstepv1.GetFindingResponse{}, nil
}

func (s *called) ListEntries(ctx context.Context, _ *misstepv1.ListEntriesRequest) (*misstepv1.ListEntriesResponse, error) {
	s.by, s.in = access.From(ctx), access.Project(ctx)
	return &misstepv1.ListEntriesResponse{}, nil
}

func (s *called) Read(_ *misstepv1.ReadRequest, stream grpc.ServerStreamingServer[misstepv1.ReadResponse]) error {
	s.by, s.in = access.From(stream.Context()), access.Project(stream.Context())
	return nil
}

func serve(t *testing.T, o access.Options) (*called, *grpc.ClientConn) {
	s := &called{}
	pipe := bufconn.Listen(1 << 16)
	server := grpc.NewServer(access.ServerOptions(o)...)
	misstepv1.RegisterAdminServiceServer(server, s)
	misstepv1.RegisterCorpusServiceServer(server, s)
	go func() { _ = server.Serve(pipe) }()
	t.Cleanup(server.Stop)
	conn, err := grpc.NewClient("passthrough:test", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return pipe.DialContext(ctx) }))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return s, conn
}

// named authenticates callers by the header "name".
func named(grants map[string][]access.Grant) access.Authenticator {
	return func(ctx context.Context) (*access.Caller, error) {
		md, _ := metadata.FromIncomingContext(ctx)
		names := md.Get("name")
		if len(names) == 0 {
			return nil, nil
		}
		g, ok := grants[names[0]]
		if !ok {
			return nil, errors.New("unknown name")
		}
		return &access.Caller{Name: names[0], Kind: access.Person, Grants: g}, nil
	}
}

func read(ctx context.Context, conn *grpc.ClientConn) error {
	stream, err := misstepv1.NewCorpusServiceClient(conn).Read(ctx, &misstepv1.ReadRequest{})
	if err != nil {
		return err
	}
	if _, err = stream.Recv(); errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func TestCallsAreRefusedWithoutTheirRole(t *testing.T) {
	s, conn := serve(t, access.Options{Authenticators: []access.Authenticator{
		func(context.Context) (*access.Caller, error) { return nil, nil },
		named(map[string][]access.Grant{
			"anna": {{Role: hunter}}, "ben": {{Project: "p", Role: hunter}}, "r": {{Role: runner}}, "new": nil,
		}),
	}})
	api := misstepv1.NewAdminServiceClient(conn)
	for _, test := range []struct {
		name              string
		finding, blob     codes.Code
		message, messages string
	}{
		{name: "anna"},
		{
			name: "ben", finding: codes.PermissionDenied, blob: codes.PermissionDenied,
			message:  "ben may not call GetFinding: it needs the role viewer in the project default, granted is hunter in p; an admin can",
			messages: "ben may not call Read: it needs the role viewer or runner in the project default",
		},
		{name: "r", finding: codes.PermissionDenied, message: "granted is runner"},
		{name: "new", finding: codes.PermissionDenied, blob: codes.PermissionDenied, message: "granted is nothing"},
		{name: "eve", finding: codes.Unauthenticated, blob: codes.Unauthenticated, message: "unknown name", messages: "unknown name"},
		{name: "", finding: codes.Unauthenticated, blob: codes.Unauthenticated, message: "misstep login", messages: "misstep login"},
	} {
		t.Run(test.name, func(t *testing.T) {
			ctx := t.Context()
			if test.name != "" {
				ctx = metadata.AppendToOutgoingContext(ctx, "name", test.name)
			}
			s.by = nil
			_, err := api.GetFinding(ctx, &misstepv1.GetFindingRequest{})
			assert.Equal(t, test.finding, status.Code(err), err)
			assert.Contains(t, status.Convert(err).Message(), test.message)
			assert.Equal(t, err == nil, s.by != nil, "the call reached the service")
			if s.by != nil {
				assert.Equal(t, test.name, s.by.Name)
				assert.Empty(t, s.by.Address, "inside one process")
			}
			s.by = nil
			err = read(ctx, conn)
			assert.Equal(t, test.blob, status.Code(err), err)
			assert.Contains(t, status.Convert(err).Message(), test.messages)
			assert.Equal(t, err == nil, s.by != nil, "the call reached the service")
		})
	}
}

func TestAnswersForAnyoneAreReadWithoutAName(t *testing.T) {
	s, conn := serve(t, access.Options{Authenticators: []access.Authenticator{
		named(map[string][]access.Grant{"anna": {{Role: hunter}}}),
	}})
	api := misstepv1.NewAdminServiceClient(conn)
	ctx := metadata.AppendToOutgoingContext(t.Context(), "name", "anna")
	_, err := api.GetFinding(ctx, &misstepv1.GetFindingRequest{})
	require.NoError(t, err)
	assert.Equal(t, "anna", s.reader)
	_, err = api.GetFinding(access.ForAnyone(ctx), &misstepv1.GetFindingRequest{})
	require.NoError(t, err)
	assert.Empty(t, s.reader)
	assert.Equal(t, "anna", s.by.Name, "who is still the one that calls")
}

func TestWithoutAuthenticatorsCallersAreLocal(t *testing.T) {
	s, conn := serve(t, access.Options{})
	_, err := misstepv1.NewAdminServiceClient(conn).GetFinding(t.Context(), &misstepv1.GetFindingRequest{})
	require.NoError(t, err)
	assert.Equal(t, access.Local, s.by.Kind)
	assert.True(t, s.by.May(admin, ""))
	require.NoError(t, read(t.Context(), conn))
}

func TestAnUnknownCallNeedsARoleThatNobodyHas(t *testing.T) {
	for _, name := range []string{
		"", "/", "/misstep.v1.AdminService/Nothing", "/misstep.v1.Role/ROLE_ADMIN", "/a b/c", "/misstep.v1/Role",
	} {
		assert.Empty(t, access.MethodOf(name).Roles, name)
	}
	assert.Equal(t, []misstepv1.Role{misstepv1.Role_ROLE_ANYONE}, access.MethodOf("/grpc.health.v1.Health/Check").Roles)
	assert.Equal(t, []misstepv1.Role{admin}, access.MethodOf("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo").Roles)
}
