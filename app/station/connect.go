package station

import (
	"context"
	"fmt"
	"regexp"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// Connect connects to the services of a coordinator on the network. Calls to an address at which none answers fail with Unavailable
// and say so.
func Connect(addr string) (*grpc.ClientConn, error) {
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()), MessageSizes,
		grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn,
			call grpc.UnaryInvoker, options ...grpc.CallOption,
		) error {
			return unreachable(addr, call(ctx, method, request, reply, conn, options...))
		}),
		grpc.WithChainStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string,
			open grpc.Streamer, options ...grpc.CallOption,
		) (grpc.ClientStream, error) {
			stream, err := open(ctx, desc, conn, method, options...)
			return stream, unreachable(addr, err)
		}))
	if err != nil {
		return nil, fmt.Errorf("connect to coordinator %s: %w", addr, err)
	}
	return conn, nil
}

// connectionRE matches gRPC's messages about a connection that cannot be made; its group is the cause.
var connectionRE = regexp.MustCompile(`^(?:connection error: desc = "(?:transport: )?(?:Error while dialing: )?(.*)"|` +
	`name resolver error: (.*)|(?:dns: )(.*))$`)

// unreachable rewords an error that means that nobody answers at an address; others stay.
func unreachable(addr string, err error) error {
	s, ok := status.FromError(err)
	if err == nil || !ok || s.Code() != codes.Unavailable {
		return err
	}
	m := connectionRE.FindStringSubmatch(s.Message())
	if m == nil {
		return err
	}
	return status.Errorf(codes.Unavailable, "no coordinator answers at %s (%s); start one with `misstep coordinator`, or correct "+
		"the address", addr, m[1]+m[2]+m[3])
}
