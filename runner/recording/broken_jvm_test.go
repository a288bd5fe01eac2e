package recording

import (
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/internal/testenv"
)

// outcome is what a reading gave.
type outcome struct {
	chunks   []*Chunk
	events   int
	problems []*Problem
	summary  Summary
}

func readBytes(t *testing.T, read reading, data []byte, limits Limits) outcome {
	t.Helper()
	file := filepath.Join(t.TempDir(), "some.jfr")
	require.NoError(t, os.WriteFile(file, data, 0o600))
	var o outcome
	var err error
	o.summary, err = read(t.Context(), file, limits, func(r Record) error {
		switch r := r.(type) {
		case *Chunk:
			o.chunks = append(o.chunks, r)
		case *Event:
			o.events++
		case *Problem:
			o.problems = append(o.problems, r)
		}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, len(o.problems), o.summary.Problems)
	return o
}

// What is whole is read, whatever is wrong after it; the problem names the chunk and the place.
func TestBrokenRecordings(t *testing.T) {
	file := record(t, testenv.Catalogued(t, "jdk17"), 1000)
	chunk, err := os.ReadFile(file)
	require.NoError(t, err)
	for name, read := range readers(t) {
		t.Run(name, func(t *testing.T) { brokenBy(t, name, read, file, chunk) })
	}
}

func brokenBy(t *testing.T, name string, read reading, file string, chunk []byte) {
	size := int64(len(chunk))
	whole := readBytes(t, read, chunk, Limits{})
	require.Positive(t, whole.events)
	require.Empty(t, whole.problems)
	twice := append(append([]byte{}, chunk...), chunk...)

	t.Run("several chunks", func(t *testing.T) {
		o := readBytes(t, read, twice, Limits{})
		require.Empty(t, o.problems)
		require.Equal(t, 2*whole.events, o.events, "also those that begin at the same time")
		require.Equal(t, []int64{0, size}, []int64{o.chunks[0].Offset, o.chunks[1].Offset})
	})
	t.Run("cut", func(t *testing.T) {
		for _, cut := range []int64{1, 30, 68, 500, size / 2, size - 1} {
			o := readBytes(t, read, twice[:size+cut], Limits{})
			require.NotEmpty(t, o.problems, "%d bytes of the second chunk", cut)
			require.GreaterOrEqual(t, o.events, whole.events)
			assert.Equal(t, 1, o.problems[0].Chunk)
			assert.Equal(t, size, o.problems[0].Offset)
			t.Logf("%d of %d bytes: %d of %d events, %v", cut, size, o.events-whole.events, whole.events, o.problems[0])
		}
	})
	t.Run("no recording", func(t *testing.T) {
		for data, want := range map[string]string{
			"":                  "the file is empty",
			"#!/bin/sh\nexit 1": "no chunk begins here: the file has 16 more bytes",
			string(chunk[:4]) + "\x00\x07" + string(chunk[6:]): "the format of the chunk has version 7; known are 1 and 2",
		} {
			o := readBytes(t, read, []byte(data), Limits{})
			require.Len(t, o.problems, 1)
			require.Equal(t, want, o.problems[0].Message)
		}
	})
	t.Run("limits", func(t *testing.T) {
		o := readBytes(t, read, twice, Limits{ChunkBytes: 1000})
		require.Len(t, o.problems, 2)
		require.Contains(t, o.problems[0].Message, "the limit is 1000")
		end := Limits{Bytes: size}
		if name == "helper" {
			end = Limits{OutputBytes: 2000}
		}
		o = readBytes(t, read, twice, end)
		require.False(t, o.summary.Complete)
		require.Less(t, o.events, 2*whole.events)
		_, err := read(t.Context(), file, Limits{Time: time.Nanosecond}, func(Record) error { return nil })
		require.ErrorContains(t, err, "took more than 1ns")
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
	t.Run("changed", func(t *testing.T) { changed(t, read, chunk, whole.events) })
	t.Run("missing", func(t *testing.T) {
		_, err := read(t.Context(), "/no/such/file", Limits{}, func(Record) error { return nil })
		require.ErrorContains(t, err, "/no/such/file")
	})
}

// changed reads copies of a chunk in which a few bytes behind the header are others: each is read or has a problem of its own, and
// those between them are whole.
func changed(t *testing.T, read reading, chunk []byte, events int) {
	const copies = 100
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	var all []byte
	for range copies {
		all = append(all, chunk...)
		broken := append([]byte{}, chunk...)
		for range 1 + random.IntN(4) {
			broken[68+random.IntN(len(broken)-68)] = byte(random.IntN(256))
		}
		all = append(all, broken...)
	}
	o := readBytes(t, read, all, Limits{})
	require.Len(t, o.chunks, 2*copies)
	require.GreaterOrEqual(t, o.events, copies*events)
	for _, p := range o.problems {
		require.Equal(t, 1, p.Chunk%2, "%v", p)
	}
	t.Logf("%d of %d changed chunks have problems, the first: %v", len(o.problems), copies, o.problems[:min(3, len(o.problems))])
}

// The chunk of a JVM that was killed is read up to its last flush.
func TestTheChunkOfAKilledJVM(t *testing.T) {
	j := testenv.Catalogued(t, "jdk25")
	dir := t.TempDir()
	compileRecorded(t, dir)
	repository := filepath.Join(dir, "repository")
	settings, err := filepath.Abs("testdata/samples.jfc")
	require.NoError(t, err)
	program := exec.Command(j.Tool("java"), "-XX:FlightRecorderOptions:repository="+repository,
		"-XX:StartFlightRecording=settings="+settings, "-cp", dir, "Recorded", "60000")
	require.NoError(t, program.Start())
	defer func() { _ = program.Process.Kill() }()
	var file string
	require.Eventually(t, func() bool {
		found, _ := filepath.Glob(filepath.Join(repository, "*", "*.jfr"))
		if len(found) == 0 {
			return false
		}
		file = found[0]
		data, err := os.ReadFile(file)
		return err == nil && len(data) > 200_000
	}, 30*time.Second, 100*time.Millisecond)
	require.NoError(t, program.Process.Kill())
	_ = program.Wait()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	for name, read := range readers(t) {
		o := readBytes(t, read, data, Limits{})
		t.Logf("%s, %d bytes: %d chunks, %d events, %v", name, len(data), len(o.chunks), o.events, o.problems)
		require.Positive(t, o.events)
		require.NotEmpty(t, o.problems)
		require.Contains(t, o.problems[0].Message, "not finished")
	}
}
