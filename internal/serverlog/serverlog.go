// Package serverlog is for what HTTP servers log of connections, which strangers cause as often as they like.
package serverlog

import (
	"log"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"misstep/internal/shorten"
)

const (
	// burst lines are logged at once, then one in each interval.
	burst    = 10
	interval = 30 * time.Second
	// maxLine bounds a line in bytes.
	maxLine = 300
)

// New returns the ErrorLog of a server of a kind, e.g. "pages". Its lines, such as those of handshakes that fail, are warnings of
// the logger; lines beyond a few at once and one in half a minute are counted, and the next line has their number.
func New(logger *slog.Logger, server string) *log.Logger {
	return log.New(&writer{logger: logger, server: server, limit: rate.NewLimiter(rate.Every(interval), burst)}, "", 0)
}

type writer struct {
	logger  *slog.Logger
	server  string
	limit   *rate.Limiter
	omitted atomic.Int64
}

// Write implements io.Writer; log.Logger calls it once for each line.
func (w *writer) Write(line []byte) (int, error) {
	if !w.limit.Allow() {
		w.omitted.Add(1)
		return len(line), nil
	}
	w.logger.Warn("connection", "server", w.server, "error", shorten.To(strings.TrimSpace(string(line)), maxLine), "omitted",
		w.omitted.Swap(0))
	return len(line), nil
}
