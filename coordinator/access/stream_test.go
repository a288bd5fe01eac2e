package access

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	misstepv1 "misstep/proto/misstep/v1"
)

// endless sends blobs that do not end, and takes them.
type endless struct {
	misstepv1.UnimplementedCorpusServiceServer
	took atomic.Int64
}

func (e *endless) Read(_ *misstepv1.ReadRequest, stream grpc.ServerStreamingServer[misstepv1.ReadResponse]) error {
	for {
		if err := stream.Send(&misstepv1.ReadResponse{Data: []byte("x")}); err != nil {
			return err
		}
		time.Sleep(time.Millisecond)
	}
}

func (e *endless) Write(stream grpc.ClientStreamingServer[misstepv1.WriteRequest, misstepv1.WriteResponse]) error {
	for {
		if _, err := stream.Recv(); err != nil {
			return err
		}
		e.took.Add(1)
	}
}

// A credential that ends, or loses its role, while a blob is read or written ends the stream; a store that is away does not.
func TestACredentialEndsInTheMidstOfAStream(t *testing.T) {
	var answer atomic.Pointer[error]
	var weaker atomic.Bool
	g := guard{again: 20 * time.Millisecond, Options: Options{Authenticators: []Authenticator{
		func(context.Context) (*Caller, error) {
			if err := answer.Load(); err != nil {
				return nil, *err
			}
			role := misstepv1.Role_ROLE_ADMIN
			if weaker.Load() {
				role = misstepv1.Role_ROLE_UNSPECIFIED
			}
			return &Caller{Name: "token t", Kind: Token, Grants: []Grant{{Role: role}}}, nil
		},
	}}}
	service, pipe := &endless{}, bufconn.Listen(1<<16)
	server := grpc.NewServer(g.serverOptions()...)
	misstepv1.RegisterCorpusServiceServer(server, service)
	go func() { _ = server.Serve(pipe) }()
	t.Cleanup(server.Stop)
	conn, err := grpc.NewClient("passthrough:test", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return pipe.DialContext(ctx) }))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	client := misstepv1.NewCorpusServiceClient(conn)

	ends := func(what string, change func(), code codes.Code, text string) {
		t.Helper()
		answer.Store(nil)
		weaker.Store(false)
		reads, err := client.Read(t.Context(), &misstepv1.ReadRequest{})
		require.NoError(t, err)
		writes, err := client.Write(t.Context())
		require.NoError(t, err)
		for until := time.Now().Add(5 * g.again); time.Now().Before(until); {
			_, err := reads.Recv()
			require.NoError(t, err, what)
			require.NoError(t, writes.Send(&misstepv1.WriteRequest{}), what)
		}
		change()
		for err = nil; err == nil; {
			_, err = reads.Recv()
		}
		assert.Equal(t, code, status.Code(err), "%s: %v", what, err)
		assert.Contains(t, status.Convert(err).Message(), text)
		time.Sleep(2 * g.again)
		before := service.took.Load()
		_ = writes.Send(&misstepv1.WriteRequest{})
		_, err = writes.CloseAndRecv()
		assert.Equal(t, code, status.Code(err), "%s: %v", what, err)
		assert.Equal(t, before, service.took.Load(), "%s: what came after a silence is refused, too", what)
	}
	says := func(err error) func() { return func() { answer.Store(&err) } }
	ends("expired", says(errors.New("the token expired")), codes.Unauthenticated, "the token expired")
	ends("another role", func() { weaker.Store(true) }, codes.PermissionDenied, "token t may not call Read")

	answer.Store(nil)
	weaker.Store(false)
	late, err := conn.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true},
		misstepv1.CorpusService_FindMissing_FullMethodName)
	require.NoError(t, err, "the headers of a unary call, and no message yet")
	time.Sleep(g.again)
	says(errors.New("the token was revoked"))()
	time.Sleep(2 * g.again)
	require.NoError(t, late.SendMsg(&misstepv1.FindMissingRequest{}))
	require.NoError(t, late.CloseSend())
	err = late.RecvMsg(&misstepv1.FindMissingResponse{})
	assert.Equal(t, codes.Unauthenticated, status.Code(err), "a message long after its headers: %v", err)

	answer.Store(nil)
	reads, err := client.Read(t.Context(), &misstepv1.ReadRequest{})
	require.NoError(t, err)
	_, err = reads.Recv()
	require.NoError(t, err)
	says(status.Error(codes.Unavailable, "the database does not answer"))()
	for until := time.Now().Add(5 * g.again); time.Now().Before(until); {
		_, err := reads.Recv()
		require.NoError(t, err)
	}
}
