package limits

import (
	"context"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// patience is how long a client waits for one call in all.
const patience = 2 * time.Minute

// DialOption makes a client wait and repeat a call that a Limiter refused: nothing was done of it, so any call may be repeated.
func DialOption() grpc.DialOption {
	return grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn,
		call grpc.UnaryInvoker, options ...grpc.CallOption,
	) error {
		for left := patience; ; {
			err := call(ctx, method, request, reply, conn, options...)
			delay := retryIn(err)
			if left -= delay; delay <= 0 || left < 0 {
				return err
			}
			if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < delay {
				return err
			}
			if pause(ctx, delay) != nil {
				return err
			}
		}
	})
}

// retryIn returns after which time a call that was refused for its rate may be repeated; 0 for other errors, such as a message that
// is too large, which has the same code.
func retryIn(err error) time.Duration {
	s, ok := status.FromError(err)
	if err == nil || !ok || s.Code() != codes.ResourceExhausted {
		return 0
	}
	for _, detail := range s.Details() {
		if info, ok := detail.(*errdetails.RetryInfo); ok {
			return max(info.GetRetryDelay().AsDuration(), time.Millisecond)
		}
	}
	return 0
}
