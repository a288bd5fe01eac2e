package logctx_test

import (
	"bytes"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"misstep/internal/logctx"
)

func TestRecordsHaveTheAttributesOfTheirContext(t *testing.T) {
	var b bytes.Buffer
	text := slog.NewTextHandler(&b, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == slog.LevelKey {
			return slog.Attr{}
		}
		return a
	}})
	logger := slog.New(logctx.Handler(text))
	call := logctx.With(t.Context(), slog.String("runner", "r1"))
	trial := logctx.With(call, slog.String("campaign", "C1"), slog.Int("trial", 3))

	logger.InfoContext(t.Context(), "plain")
	logger.InfoContext(trial, "all", "took", 1)
	logger.InfoContext(call, "no trial")
	logger.InfoContext(trial, "its own", "campaign", "C2")
	logger.With("runner", "r2").InfoContext(trial, "the logger's")
	logger.WithGroup("g").InfoContext(trial, "grouped", "x", 1)
	require.Equal(t, `msg=plain
msg=all took=1 runner=r1 campaign=C1 trial=3
msg="no trial" runner=r1
msg="its own" campaign=C2 runner=r1 trial=3
msg="the logger's" runner=r2 campaign=C1 trial=3
msg=grouped g.x=1
`, b.String())
}
