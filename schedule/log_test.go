package schedule

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func sampleLog(t testing.TB) ([]byte, Log) {
	t.Helper()
	l := Log{
		Header: Header{
			Perturbation: Perturbation{Strategy: "delay", Seed: 1 << 63, Parameters: map[string]float64{"max_us": 12.5}},
			Command:      []string{"java", "-jar", "α.jar"},
		},
		Threads: []Record{
			{Kind: RecordThread, Path: 5, Delay: 0, Counter: 0, TID: 12, Role: RoleMutator, Comm: "java"},
			{Kind: RecordThread, Path: 6, Delay: 5, Counter: 3, TID: 13, Role: RoleGC, Comm: "GC Thread#0", Elapsed: time.Second},
		},
		Decisions: []Record{
			{
				Kind: RecordDecision, Path: 6, Counter: 0, Event: EventStart, Delay: 1000, Slice: 20e6, Rank: 9, Marks: MarkDelayed,
				Comm: "fifteen letters", Elapsed: 1,
			},
			{Kind: RecordDecision, Path: 6, Counter: 1, Event: EventExpiry, Slice: 10e3, Marks: MarkShort | MarkChanged},
		},
		Lost: 3,
	}
	var b bytes.Buffer
	w, err := NewLogWriter(&b, l.Header)
	require.NoError(t, err)
	for _, r := range append(append([]Record{}, l.Threads...), l.Decisions...) {
		w.Add(r)
	}
	require.NoError(t, w.Close(l.Lost))
	return b.Bytes(), l
}

func TestLogIsReadAsWritten(t *testing.T) {
	text, want := sampleLog(t)
	got, err := ReadLog(bytes.NewReader(text))
	require.NoError(t, err)
	assert.Equal(t, want, *got)
}

func TestCutLogIsUsedAsFarAsItReaches(t *testing.T) {
	text, want := sampleLog(t)
	for _, missing := range []int{1, RecordSize, RecordSize + 10} {
		got, err := ReadLog(bytes.NewReader(text[:len(text)-missing]))
		require.NoError(t, err)
		assert.True(t, got.Cut)
		assert.Equal(t, want.Threads, got.Threads)
	}
	assert.Zero(t, want.Cut)
}

func TestInvalidLogsAreRejected(t *testing.T) {
	text, _ := sampleLog(t)
	damaged := func(at int, b byte) []byte {
		c := bytes.Clone(text)
		c[at] = b
		return c
	}
	kind := len(text) - RecordSize + 56
	for name, b := range map[string][]byte{
		"nothing":               nil,
		"another file":          []byte("#!/bin/sh\n"),
		"another version":       damaged(len(logMagic)-2, '1'),
		"no header":             text[:len(logMagic)],
		"header of other types": append([]byte(logMagic), "{\"seed\": \"x\"}\n"...),
		"endless header":        append([]byte(logMagic), bytes.Repeat([]byte("x"), maxHeader*2)...),
		"unknown kind":          damaged(kind, 9),
		"more after the end":    append(bytes.Clone(text), text[len(text)-RecordSize:]...),
		"endless delay":         damaged(len(text)-2*RecordSize+16+7, 1),
	} {
		_, err := ReadLog(bytes.NewReader(b))
		assert.ErrorIs(t, err, ErrLog, name)
	}
}

func TestRoundIsTheLastOfTheThreadThatCreatesMost(t *testing.T) {
	thread := func(path, parent uint64, ordinal uint32) Record {
		return Record{Kind: RecordThread, Path: path, Delay: parent, Counter: ordinal}
	}
	l := &Log{Threads: []Record{
		thread(1, 0, 0), thread(2, 0, 1), thread(3, 0, 2), thread(Child(1, 0), 1, 0),
		thread(Child(Child(1, 0), 0), Child(1, 0), 0),
	}}
	for i := range uint32(7) {
		l.Threads = append(l.Threads, thread(Child(Child(1, 0), uint64(i)), Child(1, 0), i))
	}
	names := ThreadNames{}
	for _, r := range l.Threads {
		names.Add(r)
	}
	grandchild := Child(Child(Child(1, 0), 3), 8)
	names.Add(thread(grandchild, Child(Child(1, 0), 3), 8))

	none, err := l.LastRound(0)
	require.NoError(t, err)
	r, err := l.LastRound(3)
	require.NoError(t, err)
	assert.Equal(t, Round{Child(1, 0), 4, 3}, r)
	for now, then := range []uint64{6, 4, 5, 6, 4, 5, 6, 4} {
		path := Child(Child(1, 0), uint64(now))
		names.Add(thread(path, Child(1, 0), uint32(now)))
		assert.Equal(t, Child(Child(1, 0), then), r.Recorded(names, path))
		assert.Equal(t, path, none.Recorded(names, path))
	}
	assert.Equal(t, Child(Child(Child(1, 0), 6), 8), r.Recorded(names, grandchild),
		"a thread that a round's thread creates belongs to that round")
	assert.Equal(t, uint64(2), r.Recorded(names, 2))
	assert.Equal(t, uint64(99), r.Recorded(names, 99), "unknown")

	for _, wrong := range []int{-1, 8} {
		_, err = l.LastRound(wrong)
		require.ErrorIs(t, err, ErrInvalid)
		assert.ErrorContains(t, err, "from 1 to the 7")
	}
}

type failing struct{ after int }

func (f *failing) Write(b []byte) (int, error) {
	if f.after -= len(b); f.after < 0 {
		return 0, errors.New("disk full")
	}
	return len(b), nil
}

func TestLogWriterReportsAFullDisk(t *testing.T) {
	w, err := NewLogWriter(&failing{after: 100}, Header{})
	require.NoError(t, err)
	for range 5000 {
		w.Add(Record{Kind: RecordDecision})
	}
	assert.ErrorContains(t, w.Close(0), "disk full")
}

func FuzzLog(f *testing.F) {
	text, _ := sampleLog(f)
	f.Add(text)
	f.Add(text[:len(text)-7])
	f.Add([]byte(logMagic + "{}\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := ReadLog(bytes.NewReader(b))
		if err != nil {
			return
		}
		names := ThreadNames{}
		for _, r := range l.Threads {
			names.Add(r)
		}
		var again bytes.Buffer
		w, err := NewLogWriter(&again, l.Header)
		require.NoError(t, err)
		for _, r := range l.Threads {
			_ = names.Name(r.Path)
			w.Add(r)
		}
		for _, r := range l.Decisions {
			w.Add(r)
		}
		require.NoError(t, w.Close(l.Lost))
		second, err := ReadLog(&again)
		require.NoError(t, err)
		assert.Equal(t, l.Threads, second.Threads)
		assert.Equal(t, l.Decisions, second.Decisions)
		assert.Equal(t, l.Lost, second.Lost)
	})
}

func TestNamesOfThreads(t *testing.T) {
	names := ThreadNames{}
	names.Add(Record{Path: 1, Delay: 0, Counter: 0})
	names.Add(Record{Path: 2, Delay: 1, Counter: 4})
	names.Add(Record{Path: 3, Delay: 2, Counter: 1})
	names.Add(Record{Path: 8, Delay: 9, Counter: 1})
	names.Add(Record{Path: 9, Delay: 8, Counter: 1})
	assert.Equal(t, "0.4.1", names.Name(3))
	assert.Equal(t, "#00000000000000ff", names.Name(255))
	assert.NotEmpty(t, names.Name(8), "a cycle of parents terminates")
}
