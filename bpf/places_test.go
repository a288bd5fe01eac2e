package bpf

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/schedule"
)

const (
	loop   = 0x401000 // where threads run nearly all the time
	window = 0x401080 // the bug's window
)

// failed returns the log of a program with the given number of rounds of two threads each; in the last one the second thread was
// stopped in the window, and then in the loop several more times.
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

func TestPlacesOfAFile(t *testing.T) {
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
	request := PlacesRequest{File: file, Round: 2, Count: 1, Stderr: io.Discard}
	stops, err := request.List()
	require.NoError(t, err)
	var out bytes.Buffer
	schedule.WriteStops(&out, stops)
	assert.Regexp(t, fmt.Sprintf(`%#x +%#x +0\.79 +race +2 .* 200µs +1 of 243\n$`, window, window), out.String())
	stops, err = PlacesRequest{File: file, Count: 20, Stderr: io.Discard}.List()
	require.NoError(t, err)
	text, err := json.Marshal(stops)
	require.NoError(t, err)
	assert.Contains(t, string(text), fmt.Sprintf(`"address":%d`, window))
	for _, bad := range []PlacesRequest{{Count: 0}, {Count: 1, Round: 81}, {Count: 1, Round: -1}} {
		bad.File, bad.Stderr = file, io.Discard
		_, err = bad.List()
		require.Error(t, err)
	}
	_, err = ReplayRequest{Program: Program{Command: []string{"true"}, Stderr: io.Discard}, File: file, Places: 5}.Run(t.Context())
	require.ErrorContains(t, err, "expected 0 to 4")
}
