package intake

import (
	"context"
	"encoding/binary"
	"errors"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// source is gRPC's stream of a call (transport.ServerStream). Its length-prefixed messages are those of gRPC's protocol
// (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md). gRPC's own reader knows one largest size for all methods.
type source interface {
	ReadMessageHeader(header []byte) error
	Read(n int) (mem.BufferSlice, error)
}

const (
	prefix = 5 // bytes before a message: whether it is compressed, and its length
	// atOnce is how much of a message is asked for at a time, and what its sender has to send before the rest has room.
	atOnce = 1 << 20
)

// receive reads the next message of a call into m; io.EOF after the last one. Other errors are gRPC statuses.
func receive(ctx context.Context, method string, m any, largest int) error {
	from, ok := grpc.ServerTransportStreamFromContext(ctx).(source)
	into, is := m.(proto.Message)
	if !ok || !is {
		return status.Errorf(codes.Internal, "%s: cannot read a %T", method, m)
	}
	size, err := length(from, method, largest)
	if err != nil {
		return err
	}
	pool := mem.DefaultBufferPool()
	first := pool.Get(min(size, atOnce))
	defer pool.Put(first)
	data := *first
	for have := 0; have < size; {
		n := min(size-have, atOnce)
		part, err := from.Read(n)
		if err != nil {
			return brokenOff(err)
		}
		if have == len(data) {
			whole := make([]byte, size)
			copy(whole, data)
			data = whole
		}
		have += part.CopyTo(data[have:])
		part.Free()
	}
	return decode(method, data, into, largest)
}

// length reads the header of a message.
func length(from source, method string, largest int) (int, error) {
	var header [prefix]byte
	if err := from.ReadMessageHeader(header[:]); err != nil {
		if errors.Is(err, io.EOF) {
			return 0, io.EOF
		}
		return 0, brokenOff(err)
	}
	size := binary.BigEndian.Uint32(header[1:])
	switch {
	case header[0] != 0:
		return 0, status.Errorf(codes.Unimplemented, "%s: messages to a coordinator are not compressed", method)
	case int64(size) > int64(largest):
		return 0, status.Errorf(codes.ResourceExhausted, "%s: expected a message of at most %d bytes, got %d", method, largest,
			size)
	}
	return int(size), nil
}

// brokenOff is the answer to a call whose message did not come whole.
func brokenOff(err error) error {
	if _, ok := status.FromError(err); ok {
		return err
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return status.FromContextError(err).Err()
	}
	return status.Error(codes.Internal, "the message broke off: "+err.Error())
}

// decode weighs a message and decodes it.
func decode(method string, data []byte, into proto.Message, largest int) error {
	if err := Weigh(data, into.ProtoReflect().Descriptor(), Allowance(len(data), largest)); err != nil {
		return status.Errorf(codes.InvalidArgument, "%s: %v", method, err)
	}
	if err := proto.Unmarshal(data, into); err != nil {
		return status.Errorf(codes.InvalidArgument, "%s: %v", method, err)
	}
	return nil
}

// Allowance is what a message of a size may take in memory once it is decoded: together with its bytes at most four times the
// largest message of its method. Short messages may be denser than long ones.
func Allowance(size, largest int) int { return 2*size + largest*3/4 }
