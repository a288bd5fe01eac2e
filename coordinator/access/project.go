package access

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"misstep/coordinator/projects"
)

// ProjectHeader is the metadata of a call that names its project.
const ProjectHeader = "misstep-project"

type projectKey struct{}

// InProject returns a context of a call in a project.
func InProject(ctx context.Context, project string) context.Context {
	return context.WithValue(ctx, projectKey{}, project)
}

// Project returns the project of a call, which a call's role was checked in: projects.Default for a call that decides by no project
// and for this process itself.
func Project(ctx context.Context) string {
	if p, ok := ctx.Value(projectKey{}).(string); ok && p != "" {
		return p
	}
	return projects.Default
}

// projectOf returns the project that a call names.
func projectOf(ctx context.Context) (string, error) {
	names := metadata.ValueFromIncomingContext(ctx, ProjectHeader)
	switch {
	case len(names) == 0:
		return projects.Default, nil
	case len(names) > 1:
		return "", status.Errorf(codes.InvalidArgument, "%s: expected one project, got %d", ProjectHeader, len(names))
	}
	if err := projects.Check(names[0]); err != nil {
		return "", status.Errorf(codes.InvalidArgument, "%s: %v", ProjectHeader, err)
	}
	return names[0], nil
}

// DialOptions makes each call of a connection one in a project; "" leaves it to the coordinator.
func DialOptions(project string) []grpc.DialOption {
	if project == "" {
		return nil
	}
	in := func(ctx context.Context) context.Context {
		return metadata.AppendToOutgoingContext(ctx, ProjectHeader, project)
	}
	return []grpc.DialOption{
		grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn,
			call grpc.UnaryInvoker, options ...grpc.CallOption,
		) error {
			return call(in(ctx), method, request, reply, conn, options...)
		}),
		grpc.WithChainStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string,
			open grpc.Streamer, options ...grpc.CallOption,
		) (grpc.ClientStream, error) {
			return open(in(ctx), desc, conn, method, options...)
		}),
	}
}
