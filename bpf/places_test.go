package bpf

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"misstep/schedule"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	loop   = 0x401000 // where threads run nearly all the time
	window = 0x401080 // the bug's
)

// failed is the log of a program of so many rounds with two threads each; in the last one the second thread was stopped in the
// window, and then came by the loop three more times.
func failed(rounds int) *schedule.Log {
	main := schedule.Child(0x6d69737374657000, 0)
	l := &schedule.Log{Threads: []schedule.Record{{Kind: schedule.RecordThread, Path: main, Comm: "race"}}}
	at := time.Duration(0)
	for i := range uint64(2 * rounds) {
		path := schedule.Child(main, i)
		thread := schedule.Record{Kind: schedule.RecordThread, Path: path, Delay: main, Counter: uint32(i), Comm: "race"}
		l.Threads = append(l.Threads, thread)
		places := []uint64{0, loop, loop + 8, loop}
		if i == uint64(2*rounds-1) {
			places = []uint64{0, loop, window, loop, loop, loop, loop}
		}
		for counter, place := range places {
			at += 100 * time.Microsecond
			l.Decisions = append(l.Decisions, schedule.Record{
				Kind: schedule.RecordDecision, Path: path, Counter: uint32(counter), Event: schedule.EventExpiry,
				Slice: 15e3, Place: place, Elapsed: at, Comm: "race",
			})
		}
	}
	return l
}

func TestCommandLineShowsPlaces(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log")
	f, err := os.Create(file)
	require.NoError(t, err)
	defer f.Close()
	w, err := schedule.NewLogWriter(f, schedule.Header{FixedAddresses: true, Command: []string{"/no/such"}})
	require.NoError(t, err)
	l := failed(40)
	for _, r := range append(l.Threads, l.Decisions...) {
		w.Add(r)
	}
	require.NoError(t, w.Close(0))
	code, out, text := command(t, "places", "--round", "2", "--count", "1", file)
	require.Zero(t, code, text)
	assert.Regexp(t, fmt.Sprintf(`%#x +%#x +0\.79 +race +2 .* 200µs +1 of 243\n$`, window, window), out)
	code, out, text = command(t, "places", "--json", file)
	require.Zero(t, code, text)
	assert.Contains(t, out, fmt.Sprintf(`"address": %d`, window))
	for _, bad := range [][]string{{"--count", "0"}, {"--round", "81"}, {"--round=-1"}} {
		code, _, text = command(t, append([]string{"places", file}, bad...)...)
		assert.Equal(t, exitOwn, code)
		assert.NotEmpty(t, text)
	}
	code, _, text = command(t, "replay", "--places", "5", file, "--", "true")
	assert.Equal(t, exitOwn, code)
	assert.Contains(t, text, "want 0 to 4")
}
