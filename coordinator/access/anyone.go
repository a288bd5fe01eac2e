package access

import (
	"context"

	"google.golang.org/grpc/metadata"
)

// anyoneHeader is the metadata of a call whose answer is for others, too.
const anyoneHeader = "misstep-for-anyone"

// ForAnyone returns a context of a call whose answer may be shown to whoever has the same grants as the caller: it has nothing that
// the caller sees by name.
func ForAnyone(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, anyoneHeader, "true")
}

type unnamedKey struct{}

// Unnamed returns the context of a call that is handled without what the caller sees by name.
func Unnamed(ctx context.Context) context.Context { return context.WithValue(ctx, unnamedKey{}, true) }

// forAnyone heeds in the context of a call what its client said. That only takes away from the answer, so anybody may say it.
func forAnyone(ctx context.Context) context.Context {
	if len(metadata.ValueFromIncomingContext(ctx, anyoneHeader)) == 0 {
		return ctx
	}
	return Unnamed(ctx)
}

// Reader returns the name by which a caller may be shown what others are not; empty when the answer is for others, too. What is
// read depends on the name of a caller by this alone.
func Reader(ctx context.Context) string {
	if ctx.Value(unnamedKey{}) != nil {
		return ""
	}
	return From(ctx).Name
}
