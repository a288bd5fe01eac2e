package web

import (
	"context"
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"misstep/coordinator/access"
	misstepv1 "misstep/proto/misstep/v1"
)

// minFresh is how long an answer is given to everybody who may see it.
const minFresh = time.Second

// cache is a connection that gives answers again for a short time, so that many looks at one page cost the coordinator as much as
// one. It keeps what viewers read in a project, by the project, what the caller may do, and the request. Some findings are seen by
// those alone whom they name: these have answers of their own, and what others share is asked for without a name, so that it has
// nothing for one of them even if it comes just as they are named. Other calls pass through, and have as long as the making of an
// answer.
type cache struct {
	grpc.ClientConnInterface
	answers *answers[proto.Message]
}

func newCache(conn grpc.ClientConnInterface, clock func() time.Time) *cache {
	return &cache{conn, newAnswers(minFresh, func(m proto.Message) int { return proto.Size(m) }, clock)}
}

// Invoke implements grpc.ClientConnInterface.
func (c *cache) Invoke(ctx context.Context, method string, in, out any, options ...grpc.CallOption) error {
	request, ok := in.(proto.Message)
	v, visited := ctx.Value(visitKey{}).(*visit)
	if !ok || !visited || !kept(method, v) {
		ctx, cancel := context.WithTimeout(ctx, maxMaking)
		defer cancel()
		if err := c.ClientConnInterface.Invoke(ctx, method, in, out, options...); err != nil {
			return err
		}
		if access.MethodOf(method).Audited { // it changed something
			c.answers.forget()
		}
		return nil
	}
	text, err := proto.MarshalOptions{Deterministic: true}.Marshal(request)
	if err != nil {
		return err
	}
	name := v.caller.Name
	if !v.named {
		name, ctx = "", access.ForAnyone(ctx)
	}
	key := fmt.Sprintf("%q %q %q %q %s", v.project, name, rightsOf(v.caller), method, text)
	message, err := c.answers.get(ctx, key, func(ctx context.Context) (proto.Message, error) {
		made := out.(proto.Message).ProtoReflect().New().Interface()
		return made, c.ClientConnInterface.Invoke(ctx, method, in, made, options...)
	})
	if err != nil {
		return err
	}
	proto.Merge(out.(proto.Message), message)
	return nil
}

// kept reports whether the answer of a call is one to keep, and whether the visitor may make the call.
func kept(method string, v *visit) bool {
	m := access.MethodOf(method)
	return m.ByProject && slices.Equal(m.Roles, []misstepv1.Role{misstepv1.Role_ROLE_VIEWER}) &&
		v.caller.May(misstepv1.Role_ROLE_VIEWER, v.project)
}
