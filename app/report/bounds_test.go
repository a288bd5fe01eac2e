package report_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"misstep/app/report"
)

// noise repeats bytes up to a size.
func noise(size int64, block []byte) io.Reader {
	return io.LimitReader(&repeated{block: block}, size)
}

type repeated struct {
	block []byte
	at    int
}

func (r *repeated) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		c := copy(p[n:], r.block[r.at:])
		n, r.at = n+c, (r.at+c)%len(r.block)
	}
	return n, nil
}

// A large input without a report is refused in memory that does not grow with it, and after maxInput bytes at the latest.
func TestNoiseIsRefusedInBoundedMemory(t *testing.T) {
	const size, bound = 100 << 20, 8 << 20
	random := rand.New(rand.NewPCG(1, 2))
	binary := make([]byte, 1<<20)
	for i := range binary {
		binary[i] = byte(random.Uint32())
	}
	var bomb bytes.Buffer
	w, err := gzip.NewWriterLevel(&bomb, gzip.BestSpeed)
	require.NoError(t, err)
	_, err = io.Copy(w, noise(300<<20, make([]byte, 1<<20)))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	for what, test := range map[string]struct {
		in   io.Reader
		want string
	}{
		"binary":       {noise(size, binary), "neither"},
		"one line":     {noise(size, []byte("x")), "neither"},
		"empty lines":  {noise(size/8, []byte("\n")), "neither"},
		"a log":        {noise(size, []byte("12:00:00 INFO \"main\" #1 does what it does, tid=0 and nothing else\n")), "neither"},
		"almost heads": {noise(size/8, []byte("error has been detected by me: Full thread dump follows, \"x tid=0x1\n")), "neither"},
		"a bomb":       {&bomb, "within its first 256 MiB"},
	} {
		t.Run(what, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			answers, failed := report.Triage{Stdin: test.in}.Files([]string{report.Stdin})
			runtime.ReadMemStats(&after)
			require.Empty(t, answers)
			require.Len(t, failed, 1)
			require.ErrorContains(t, failed[0], test.want)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(bound), "bytes allocated")
		})
	}
}

// A report without an end is kept up to a bound.
func TestAReportWithoutAnEnd(t *testing.T) {
	for what, text := range map[string]string{"crash": crashed[:len(crashed)-len("END.\n")], "hang": waiting} {
		t.Run(what, func(t *testing.T) {
			more := noise(100<<20, []byte("j  demo.Peek.at(J)J+0\n\tat demo.Pipe.take(Pipe.java:10)\n"))
			in := io.MultiReader(bytes.NewReader([]byte(text)), more)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			answers, failed := report.Triage{Stdin: in}.Files([]string{report.Stdin})
			runtime.ReadMemStats(&after)
			require.Empty(t, failed)
			require.Len(t, answers, 1)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<30), "bytes allocated")
		})
	}
}
