package access

import (
	"context"
	"time"

	"google.golang.org/grpc/tap"
)

// tapped is the key of who was admitted when the headers of a call came; a nil *admitted has the caller found anew.
type tapped struct{}

type admitted struct {
	caller *Caller
	at     time.Time
}

// tap refuses callers without a good credential when the headers of a call have come. Interceptors are asked after its first
// message was received and parsed, by which strangers could fill the memory. So the log has no more of such a call than its name.
// It runs in the loop that reads the connection: only other calls of the same connection wait for it.
func (g guard) tap(ctx context.Context, info *tap.Info) (context.Context, error) {
	if !named(info.FullMethodName) { // gRPC answers that there is no such call, and reads no message of it
		return ctx, nil
	}
	c, project, err := g.admit(ctx, info.FullMethodName)
	if c.Kind != KindUnspecified {
		// An interceptor says what is missing: it has the message for the log.
		return context.WithValue(ctx, tapped{}, &admitted{c, time.Now()}), nil
	}
	if err == nil { // anyone may call it
		return ctx, nil
	}
	if g.Audit != nil {
		if call := (Call{Caller: c, Method: info.FullMethodName, Project: project, Err: err}); call.Refused() {
			g.Audit(ctx, call)
		}
	}
	return ctx, err
}
