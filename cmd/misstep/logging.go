package main

import (
	"context"
	"io"
	"log/slog"
	"sync"

	"misstep/internal/logctx"
)

// newLogger returns a logger of plain lines at a minimum level; each has the ids in its context.
func newLogger(w io.Writer, level slog.Level) *slog.Logger {
	text := logctx.Handler(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
	return slog.New(&retries{run: &retryRun{}, next: text})
}

// retryAttribute marks records about something that will be retried.
const retryAttribute = "retry_in"

// retries is a handler that thins out a run of records about the same retry, such as those of a runner whose coordinator does not
// answer. It writes the first record at once; then, with their number, the 10th, the 100th, ..., and the last of the run.
type retries struct {
	run  *retryRun
	next slog.Handler
}

// retryRun is shared by the handlers of one logger.
type retryRun struct {
	mu    sync.Mutex
	text  string // message of the records; empty: no run
	times int
	last  slog.Record
}

// Enabled implements slog.Handler.
func (h *retries) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

// WithAttrs implements slog.Handler; the run is shared.
func (h *retries) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &retries{run: h.run, next: h.next.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler; the run is shared.
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
