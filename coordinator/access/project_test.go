package access_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"misstep/coordinator/access"
	misstepv1 "misstep/proto/misstep/v1"
)

// A call is in the project that its header names, needs its role there, and is in the audit log with it.
func TestACallIsInTheProjectOfItsHeader(t *testing.T) {
	var audited []access.Call
	s, conn := serve(t, access.Options{
		Audit: func(_ context.Context, c access.Call) { audited = append(audited, c) },
		Authenticators: []access.Authenticator{named(map[string][]access.Grant{
			"all": {{Role: viewer}}, "pia": {{Project: "p", Role: hunter}},
			"two": {{Project: "p", Role: runner}, {Project: "q", Role: admin}},
		})},
	})
	api := misstepv1.NewAdminServiceClient(conn)
	for _, c := range []struct {
		name    string
		headers []string
		project string // in which the call arrived
		code    codes.Code
		message string
	}{
		{name: "all", project: "default"},
		{name: "all", headers: []string{"p"}, project: "p"},
		{name: "all", headers: []string{"default"}, project: "default"},
		{name: "pia", headers: []string{"p"}, project: "p"},
		{name: "pia", code: codes.PermissionDenied, message: "needs the role viewer in the project default, granted is hunter in p"},
		{name: "pia", headers: []string{"q"}, code: codes.PermissionDenied, message: "in the project q"},
		{name: "two", headers: []string{"q"}, project: "q"},
		{name: "two", headers: []string{"p"}, code: codes.PermissionDenied, message: "in the project p"},
		{name: "all", headers: []string{"p", "q"}, code: codes.InvalidArgument, message: "expected one project, got 2"},
		{name: "all", headers: []string{"P/../q"}, code: codes.InvalidArgument, message: `expected the name of a project`},
		{name: "all", headers: []string{""}, code: codes.InvalidArgument, message: `expected the name of a project`},
		{name: "pia", headers: []string{"p", "p"}, code: codes.PermissionDenied},
		{name: "pia", headers: []string{""}, code: codes.PermissionDenied},
	} {
		ctx := metadata.AppendToOutgoingContext(t.Context(), "name", c.name)
		for _, h := range c.headers {
			ctx = metadata.AppendToOutgoingContext(ctx, access.ProjectHeader, h)
		}
		s.in, audited = "", nil
		_, err := api.GetFinding(ctx, &misstepv1.GetFindingRequest{})
		assert.Equal(t, c.code, status.Code(err), "%v: %v", c, err)
		assert.Contains(t, status.Convert(err).Message(), c.message)
		assert.Equal(t, c.project, s.in, "%v", c)
		if c.code == codes.PermissionDenied && len(c.headers) == 1 && c.headers[0] != "" {
			require.Len(t, audited, 1)
			assert.Equal(t, c.headers[0], audited[0].Project)
		}
	}
}

// A role in one project is enough for blobs, in calls that stream.
func TestStreamsAreInAProject(t *testing.T) {
	s, conn := serve(t, access.Options{Authenticators: []access.Authenticator{named(map[string][]access.Grant{
		"pia": {{Project: "p", Role: viewer}},
	})}})
	in := func(project string) error {
		s.in = ""
		return read(metadata.AppendToOutgoingContext(t.Context(), "name", "pia", access.ProjectHeader, project), conn)
	}
	require.NoError(t, in("p"))
	assert.Equal(t, "p", s.in)
	assert.Equal(t, codes.PermissionDenied, status.Code(in("q")))
	assert.Empty(t, s.in)
}

// The index of bundles is of no project: the header changes nothing.
func TestOtherCallsAreInNoProject(t *testing.T) {
	s, conn := serve(t, access.Options{Authenticators: []access.Authenticator{named(map[string][]access.Grant{
		"all": {{Role: viewer}}, "pia": {{Project: "p", Role: viewer}},
	})}})
	for name, code := range map[string]codes.Code{"all": codes.OK, "pia": codes.PermissionDenied} {
		ctx := metadata.AppendToOutgoingContext(t.Context(), "name", name, access.ProjectHeader, "p")
		_, err := misstepv1.NewCorpusServiceClient(conn).ListEntries(ctx, &misstepv1.ListEntriesRequest{})
		assert.Equal(t, code, status.Code(err), err)
	}
	assert.Equal(t, "default", s.in)
	assert.Equal(t, "default", access.Project(t.Context()), "this process itself")
}

// The options of a connection put all of its calls into a project.
func TestAConnectionInAProject(t *testing.T) {
	assert.Empty(t, access.DialOptions(""))
	var in []string
	note := func(ctx context.Context) error {
		md, _ := metadata.FromOutgoingContext(ctx)
		in = append(in, md.Get(access.ProjectHeader)...)
		return errors.New("noted")
	}
	options := append(access.DialOptions("p"), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithChainUnaryInterceptor(func(ctx context.Context, _ string, _, _ any, _ *grpc.ClientConn, _ grpc.UnaryInvoker,
			_ ...grpc.CallOption,
		) error {
			return note(ctx)
		}),
		grpc.WithChainStreamInterceptor(func(ctx context.Context, _ *grpc.StreamDesc, _ *grpc.ClientConn, _ string, _ grpc.Streamer,
			_ ...grpc.CallOption,
		) (grpc.ClientStream, error) {
			return nil, note(ctx)
		}))
	conn, err := grpc.NewClient("passthrough:nowhere", options...)
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	_, err = misstepv1.NewAdminServiceClient(conn).GetFinding(t.Context(), &misstepv1.GetFindingRequest{})
	require.Error(t, err)
	require.Error(t, read(t.Context(), conn))
	assert.Equal(t, []string{"p", "p"}, in)
}
