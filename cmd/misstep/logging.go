package main

import (
	"context"
	"io"
	"log/slog"
	"sync"
)

// newLogger logs plain lines from a level on.
func newLogger(w io.Writer, level slog.Level) *slog.Logger {
	return slog.New(&retries{run: &retryRun{}, next: slog.NewTextHandler(w, &slog.HandlerOptions{Level: level})})
}

// retryAttribute marks records about something that will be tried again.
const retryAttribute = "retry_in"

// retries is a handler that writes a run of alike records about retries, such as those of a runner whose coordinator is away, as
// one line: the first at once and then, with their number, every tenth power of them and the end of the run.
type retries struct {
	run  *retryRun
	next slog.Handler
}

// retryRun is what the handlers of one logger share.
type retryRun struct {
	mu    sync.Mutex
	text  string // message of the records; empty: no run
	times int
	last  slog.Record
}

// Enabled is next's.
func (h *retries) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

// WithAttrs shares the run.
func (h *retries) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &retries{run: h.run, next: h.next.WithAttrs(attrs)}
}

// WithGroup shares the run.
func (h *retries) WithGroup(name string) slog.Handler {
	return &retries{run: h.run, next: h.next.WithGroup(name)}
}

// Handle writes a record or counts it.
func (h *retries) Handle(ctx context.Context, r slog.Record) error {
	run := h.run
	run.mu.Lock()
	defer run.mu.Unlock()
	retry := false
	r.Attrs(func(a slog.Attr) bool {
		retry = a.Key == retryAttribute
		return !retry
	})
	if retry && run.text == r.Message {
		run.times++
		run.last = r
		if !powerOfTen(run.times) {
			return nil
		}
		return h.repeated(ctx)
	}
	if run.text != "" && run.times > 1 && !powerOfTen(run.times) {
		if err := h.repeated(ctx); err != nil {
			return err
		}
	}
	run.text, run.times = "", 1
	if retry {
		run.text = r.Message
	}
	return h.next.Handle(ctx, r)
}

func (h *retries) repeated(ctx context.Context) error {
	r := h.run.last.Clone()
	r.AddAttrs(slog.Int("times", h.run.times))
	return h.next.Handle(ctx, r)
}

func powerOfTen(n int) bool {
	for n > 1 && n%10 == 0 {
		n /= 10
	}
	return n == 1
}
