package limits

import (
	"context"
	"time"

	"google.golang.org/grpc"

	"misstep/coordinator/access"
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
			delay := access.RetryIn(err)
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
