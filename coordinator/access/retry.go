package access

import (
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
)

// ComeBack is an answer with the time after which the call may be repeated; nothing was done of it.
func ComeBack(wait time.Duration, format string, args ...any) error {
	e := status.Newf(codes.ResourceExhausted, format, args...)
	if detailed, err := e.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(wait)}); err == nil {
		e = detailed
	}
	return e.Err()
}

// RetryIn returns after which time a call that was refused by ComeBack may be repeated; 0 for other errors, such as a message that
// is too large, which has the same code.
func RetryIn(err error) time.Duration {
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
