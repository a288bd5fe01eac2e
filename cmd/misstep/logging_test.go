package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A runner whose coordinator is away does not fill the log: one line at once, then counts.
func TestRetriesAreCounted(t *testing.T) {
	var b bytes.Buffer
	logger := newLogger(&b, slog.LevelInfo)
	for i := range 25 {
		logger.Warn("coordinator does not answer", "error", "refused", retryAttribute, i)
	}
	assert.Equal(t, 2, strings.Count(b.String(), "does not answer"), b.String())
	assert.Contains(t, b.String(), "retry_in=9 times=10\n")
	logger.Info("trial ended")
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	assert.Len(t, lines, 4)
	assert.Contains(t, lines[2], "retry_in=24 times=25")
	assert.Contains(t, lines[3], "trial ended")

	b.Reset()
	logger.Warn("coordinator does not answer", retryAttribute, 1)
	logger.Warn("another", retryAttribute, 1)
	for range 2 {
		logger.Warn("no retry", "lease", 1)
	}
	assert.Equal(t, 4, strings.Count(b.String(), "\n"), "nothing else is left out: %s", b.String())
	assert.NotContains(t, b.String(), "times=")
}
