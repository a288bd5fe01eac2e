package bench

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestProgressIsLinesInALog(t *testing.T) {
	var out bytes.Buffer
	start := time.Now()
	end := progressLines(&out, "growth", start, start.Add(31*time.Minute), time.Millisecond)
	time.Sleep(20 * time.Millisecond)
	end()
	require.Regexp(t, `^growth: 0s of 31m0s, 31m0s left\n`, out.String())
	size := out.Len()
	time.Sleep(5 * time.Millisecond)
	require.Equal(t, size, out.Len(), "it continued after its end")
}

func TestTimeLeftIsNeverNegative(t *testing.T) {
	now := time.Now()
	require.Zero(t, left(now, now.Add(-time.Minute)))
	require.Equal(t, 90*time.Second, left(now, now.Add(90*time.Second)))
}

func TestProgressIsABarOnATerminal(t *testing.T) {
	var out bytes.Buffer
	end := progressBar(&out, "growth", time.Now(), time.Now().Add(time.Minute))
	end() // returns although the time is not up
}
