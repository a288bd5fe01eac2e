package store

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Status gives an error of a store a gRPC code; one that has a code stays as it is. UNAVAILABLE, for everything else, means that
// the caller did nothing wrong and may call again.
func Status(err error) error {
	if _, ok := status.FromError(err); ok { // nil, too
		return err
	}
	code := codes.Unavailable
	switch {
	case errors.Is(err, context.Canceled):
		code = codes.Canceled
	case errors.Is(err, context.DeadlineExceeded):
		code = codes.DeadlineExceeded
	case errors.Is(err, ErrNotFound):
		code = codes.NotFound
	}
	return status.Error(code, err.Error())
}
