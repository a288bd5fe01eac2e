package access_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"misstep/coordinator/access"
	misstepv1 "misstep/proto/misstep/v1"
)

// Who shows no good credential is refused before any message of the call is taken: the answer comes though none was sent.
func TestStrangersAreRefusedBeforeTheirMessage(t *testing.T) {
	var mu sync.Mutex
	var refused []access.Call
	asked := 0
	count := func(ctx context.Context) (*access.Caller, error) {
		mu.Lock()
		defer mu.Unlock()
		asked++
		return named(map[string][]access.Grant{"anna": {{Role: admin}}})(ctx)
	}
	s, conn := serve(t, access.Options{
		Authenticators: []access.Authenticator{count},
		Audit: func(_ context.Context, c access.Call) {
			mu.Lock()
			defer mu.Unlock()
			refused = append(refused, c)
		},
	})
	for _, name := range []string{"", "eve"} {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		if name != "" {
			ctx = metadata.AppendToOutgoingContext(ctx, "name", name)
		}
		// A client stream of a unary call: the headers go, and nothing else.
		stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true},
			misstepv1.AdminService_GetFinding_FullMethodName)
		require.NoError(t, err)
		err = stream.RecvMsg(&misstepv1.GetFindingResponse{})
		assert.Equal(t, codes.Unauthenticated, status.Code(err), "%q: %v", name, err)
		cancel()
	}
	require.Eventually(t, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(refused) == 2
	}, 5*time.Second, time.Millisecond, "each is in the audit log once")
	assert.Equal(t, access.Anonymous, refused[0].Caller.Name)

	asked = 0
	ctx := metadata.AppendToOutgoingContext(t.Context(), "name", "anna")
	_, err := misstepv1.NewAdminServiceClient(conn).GetFinding(ctx, &misstepv1.GetFindingRequest{})
	require.NoError(t, err)
	assert.Equal(t, "anna", s.by.Name)
	assert.Equal(t, 1, asked, "a credential is judged once for each call")
}
