package limits

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

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

func caller(name, host string) context.Context {
	return access.With(context.Background(), &access.Caller{Name: name, Kind: access.Token, Address: host + ":1"})
}

const getFinding = "/misstep.v1.AdminService/GetFinding"

func TestEachCallerHasLimitsOfItsOwn(t *testing.T) {
	limited := map[string]int{}
	l := New(map[string]float64{"read": 2, "change": 0}, func(class string) { limited[class]++ })
	now := time.Unix(1_800_000_000, 0)
	l.clock = func() time.Time { return now }
	for range 8 {
		require.NoError(t, l.admit(caller("a", "h"), getFinding, 0))
	}
	err := l.admit(caller("a", "h"), getFinding, 0)
	assert.Equal(t, codes.ResourceExhausted, status.Code(err))
	assert.Equal(t, "a calls GetFinding too often, more than 2 calls a second of class read: come back in 500ms",
		status.Convert(err).Message())
	assert.Equal(t, 500*time.Millisecond, access.RetryIn(err))
	require.NoError(t, l.admit(caller("b", "h"), getFinding, 0), "another caller")
	require.NoError(t, l.admit(caller("a", "i"), getFinding, 0), "another host")
	require.NoError(t, l.admit(caller("a", "h"), "/misstep.v1.AdminService/StopCampaign", 0), "a class without limit")
	require.NoError(t, l.admit(caller("a", "h"), "/grpc.health.v1.Health/Check", 0))
	require.NoError(t, l.admit(context.Background(), getFinding, 0), "this process")
	now = now.Add(499 * time.Millisecond)
	require.Error(t, l.admit(caller("a", "h"), getFinding, 0), "what was refused is not counted, and moves nothing")
	now = now.Add(time.Millisecond)
	require.NoError(t, l.admit(caller("a", "h"), getFinding, 0))
	assert.Equal(t, map[string]int{"read": 2}, limited)
}

func TestEachClassIsKnown(t *testing.T) {
	for _, s := range access.Services() {
		for i := range s.Methods().Len() {
			class := classOf(fmt.Sprintf("/%s/%s", s.FullName(), s.Methods().Get(i).Name()))
			assert.Contains(t, Default, class)
		}
	}
	for method, class := range map[string]string{
		"/misstep.v1.LeaseService/Synchronize": "lease", "/misstep.v1.CorpusService/Read": "blob", getFinding: "read",
		"/misstep.v1.AdminService/SubmitCampaign": "change", "/unknown/Call": "change", "": "change",
	} {
		assert.Equal(t, class, classOf(method), method)
	}
	for _, bad := range []map[string]float64{{"reads": 1}, {"read": -1}} {
		_, err := Rates(bad)
		require.ErrorContains(t, err, "for a class of blob, change, lease, read")
	}
	all, err := Rates(map[string]float64{"read": 0})
	require.NoError(t, err)
	assert.Equal(t, map[string]float64{"lease": 100, "blob": 200, "read": 0, "change": 10}, all)
}

type answering struct {
	misstepv1.UnimplementedAdminServiceServer
	misstepv1.UnimplementedCorpusServiceServer
	calls int
}

func (a *answering) GetFinding(context.Context, *misstepv1.GetFindingRequest) (*misstepv1.GetFindingResponse, error) {
	a.calls++
	return &misstepv1.GetFindingResponse{}, nil
}

func (a *answering) Read(_ *misstepv1.ReadRequest, stream grpc.ServerStreamingServer[misstepv1.ReadResponse]) error {
	a.calls++
	return stream.Send(&misstepv1.ReadResponse{})
}

// A client of this package gets all its answers, at the rate that it may have; one that does not wait is refused.
func TestClientsWaitAndRepeat(t *testing.T) {
	service := &answering{}
	l := New(map[string]float64{"read": 50, "blob": 50}, func(string) {})
	pipe := bufconn.Listen(1 << 16)
	server := grpc.NewServer(append(access.ServerOptions(access.Options{Authenticators: []access.Authenticator{
		func(ctx context.Context) (*access.Caller, error) {
			md, _ := metadata.FromIncomingContext(ctx)
			grants := []access.Grant{{Role: misstepv1.Role_ROLE_ADMIN}}
			return &access.Caller{Name: md.Get("name")[0], Kind: access.Token, Grants: grants}, nil
		},
	}}), l.ServerOptions()...)...)
	misstepv1.RegisterAdminServiceServer(server, service)
	misstepv1.RegisterCorpusServiceServer(server, service)
	go func() { _ = server.Serve(pipe) }()
	t.Cleanup(server.Stop)
	dial := func(options ...grpc.DialOption) *grpc.ClientConn {
		conn, err := grpc.NewClient("passthrough:test", append(options, grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return pipe.DialContext(ctx) }))...)
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	const calls = 220 // 200 at once, 20 at the rate
	ctx := metadata.AppendToOutgoingContext(t.Context(), "name", "patient")
	admin, begin := misstepv1.NewAdminServiceClient(dial(DialOption())), time.Now()
	for range calls {
		_, err := admin.GetFinding(ctx, &misstepv1.GetFindingRequest{})
		require.NoError(t, err)
	}
	assert.Equal(t, calls, service.calls, "each was answered once")
	assert.Greater(t, time.Since(begin), 300*time.Millisecond)

	hasty := misstepv1.NewAdminServiceClient(dial())
	ctx = metadata.AppendToOutgoingContext(t.Context(), "name", "hasty")
	refused := 0
	for range 2 * calls {
		if _, err := hasty.GetFinding(ctx, &misstepv1.GetFindingRequest{}); err != nil {
			assert.Positive(t, access.RetryIn(err), err)
			refused++
		}
	}
	assert.Greater(t, refused, 50)

	short, cancel := context.WithTimeout(ctx, 5*time.Millisecond)
	defer cancel()
	_, err := admin.GetFinding(short, &misstepv1.GetFindingRequest{})
	for err == nil {
		_, err = admin.GetFinding(short, &misstepv1.GetFindingRequest{})
	}
	assert.Contains(t, []codes.Code{codes.ResourceExhausted, codes.DeadlineExceeded}, status.Code(err))

	corpus, begin := misstepv1.NewCorpusServiceClient(dial()), time.Now()
	for range calls {
		stream, err := corpus.Read(ctx, &misstepv1.ReadRequest{})
		require.NoError(t, err)
		_, err = stream.Recv()
		require.NoError(t, err, "streams wait for their turn")
	}
	assert.Greater(t, time.Since(begin), 300*time.Millisecond)
}
