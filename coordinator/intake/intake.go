// Package intake reads the messages of calls. Who may call is decided from the headers, before any byte of a message is read; what
// is read has a largest size for each method; and it is weighed, so that what it takes in memory is bounded, before it is decoded.
package intake

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Arriving is the request that interceptors see: its message is read after them.
type Arriving struct{ message any }

// Message returns what was read, nil as long as nothing was.
func (a *Arriving) Message() any { return a.message }

// registrar registers services whose messages are read by this package.
type registrar struct {
	grpc.ServiceRegistrar
	after grpc.UnaryServerInterceptor
}

// Registrar returns one that registers services at a server such that the server's interceptors are asked before a message is read:
// their request is an *Arriving. after, unless it is nil, is asked afterwards, with the message.
func Registrar(server grpc.ServiceRegistrar, after grpc.UnaryServerInterceptor) grpc.ServiceRegistrar {
	return registrar{server, after}
}

// RegisterService implements grpc.ServiceRegistrar.
func (r registrar) RegisterService(desc *grpc.ServiceDesc, service any) {
	own := *desc
	own.Methods = make([]grpc.MethodDesc, len(desc.Methods))
	for i, m := range desc.Methods {
		name := "/" + desc.ServiceName + "/" + m.MethodName
		own.Methods[i] = grpc.MethodDesc{MethodName: m.MethodName, Handler: r.late(name, m.Handler)}
	}
	r.ServiceRegistrar.RegisterService(&own, service)
}

// late returns a handler that reads the message of a call once the interceptors have let it pass.
func (r registrar) late(method string, handle grpc.MethodHandler) grpc.MethodHandler {
	largest := Largest(method)
	return func(service any, ctx context.Context, _ func(any) error, ask grpc.UnaryServerInterceptor) (any, error) {
		arriving := &Arriving{}
		admitted := func(ctx context.Context, _ any) (any, error) {
			return handle(service, ctx, func(m any) error {
				arriving.message = m
				if err := receive(ctx, method, m, largest); !errors.Is(err, io.EOF) {
					return err
				}
				return status.Errorf(codes.InvalidArgument, "%s: expected a message", method)
			}, r.after)
		}
		if ask == nil {
			return admitted(ctx, arriving)
		}
		return ask(ctx, arriving, &grpc.UnaryServerInfo{Server: service, FullMethod: method}, admitted)
	}
}

// ServerOption bounds the messages of streams. It comes before all other interceptors of streams.
func ServerOption() grpc.ServerOption {
	return grpc.ChainStreamInterceptor(func(
		service any, s grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler,
	) error {
		return handle(service, &stream{s, info.FullMethod, Largest(info.FullMethod)})
	})
}

type stream struct {
	grpc.ServerStream
	method  string
	largest int
}

// RecvMsg implements grpc.ServerStream.
func (s *stream) RecvMsg(m any) error { return receive(s.Context(), s.method, m, s.largest) }
