// Package logctx carries attributes of log records in a context, so that every record about a call or a trial has its ids.
package logctx

import (
	"context"
	"log/slog"
	"slices"
)

type key struct{}

// With returns a context whose records have these attributes besides those that it has already.
func With(ctx context.Context, attrs ...slog.Attr) context.Context {
	return context.WithValue(ctx, key{}, slices.Concat(of(ctx), attrs))
}

func of(ctx context.Context) []slog.Attr {
	attrs, _ := ctx.Value(key{}).([]slog.Attr)
	return attrs
}

// Handler returns a handler that gives next each record with the attributes of its context. An attribute that the record names
// itself stays as it is.
func Handler(next slog.Handler) slog.Handler { return handler{next: next} }

type handler struct {
	next slog.Handler
	// named are the keys of the logger's own attributes.
	named []string
	// grouped loggers get no attributes: they would end in the group.
	grouped bool
}

// Enabled implements slog.Handler.
func (h handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

// WithAttrs implements slog.Handler.
func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	named := slices.Clone(h.named)
	for _, a := range attrs {
		named = append(named, a.Key)
	}
	return handler{h.next.WithAttrs(attrs), named, h.grouped}
}

// WithGroup implements slog.Handler.
func (h handler) WithGroup(name string) slog.Handler {
	return handler{h.next.WithGroup(name), h.named, true}
}

// Handle implements slog.Handler.
func (h handler) Handle(ctx context.Context, r slog.Record) error {
	attrs := of(ctx)
	if h.grouped || len(attrs) == 0 {
		return h.next.Handle(ctx, r)
	}
	named := slices.Clone(h.named)
	r.Attrs(func(a slog.Attr) bool {
		named = append(named, a.Key)
		return true
	})
	r = r.Clone()
	for _, a := range attrs {
		if !slices.Contains(named, a.Key) {
			r.AddAttrs(a)
		}
	}
	return h.next.Handle(ctx, r)
}
