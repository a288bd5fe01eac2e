package bpf

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
		Header: Header{Perturbation: Perturbation{Strategy: "delay", Seed: 1 << 63, Parameters: map[string]float64{"max_us": 12.5}}, Command: []string{"java", "-jar", "α.jar"}},
		Threads: []Record{
			{Kind: RecordThread, Path: 5, Delay: 0, Counter: 0, TID: 12, Role: RoleMutator, Comm: "java"},
			{Kind: RecordThread, Path: 6, Delay: 5, Counter: 3, TID: 13, Role: RoleGC, Comm: "GC Thread#0", Elapsed: time.Second},
		},
		Decisions: []Record{
			{Kind: RecordDecision, Path: 6, Counter: 0, Event: EventStart, Delay: 1000, Slice: 20e6, Rank: 9, Marks: MarkDelayed, Comm: "fifteen letters", Elapsed: 1},
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

func TestCutLogIsUsedAsFarAsItGoes(t *testing.T) {
	text, want := sampleLog(t)
	for _, missing := range []int{1, recordSize, recordSize + 10} {
		got, err := ReadLog(bytes.NewReader(text[:len(text)-missing]))
		require.NoError(t, err)
		assert.True(t, got.Cut)
		assert.Equal(t, want.Threads, got.Threads)
	}
	assert.Zero(t, want.Cut)
}

func TestWhatIsNoLogIsRefused(t *testing.T) {
	text, _ := sampleLog(t)
	damaged := func(at int, b byte) []byte {
		c := bytes.Clone(text)
		c[at] = b
		return c
	}
	kind := len(text) - recordSize + 56
	for name, b := range map[string][]byte{
		"nothing":               nil,
		"another file":          []byte("#!/bin/sh\n"),
		"another version":       damaged(len(logMagic)-2, '1'),
		"no header":             text[:len(logMagic)],
		"header of other types": append([]byte(logMagic), "{\"seed\": \"x\"}\n"...),
		"endless header":        append([]byte(logMagic), bytes.Repeat([]byte("x"), maxHeader*2)...),
		"unknown kind":          damaged(kind, 9),
		"more after the end":    append(bytes.Clone(text), text[len(text)-recordSize:]...),
		"endless delay":         damaged(len(text)-2*recordSize+16+7, 1),
	} {
		_, err := ReadLog(bytes.NewReader(b))
		assert.ErrorIs(t, err, ErrLog, name)
	}
}

func TestRoundIsTheLastOfTheThreadThatCreatesMost(t *testing.T) {
	thread := func(path, parent uint64, ordinal uint32) Record {
		return Record{Kind: RecordThread, Path: path, Delay: parent, Counter: ordinal}
	}
	l := &Log{Threads: []Record{thread(1, 0, 0), thread(2, 0, 1), thread(3, 0, 2), thread(child(1, 0), 1, 0), thread(child(child(1, 0), 0), child(1, 0), 0)}}
	for i := range uint32(7) {
		l.Threads = append(l.Threads, thread(child(child(1, 0), uint64(i)), child(1, 0), i))
	}
	names := threadNames{}
	for _, r := range l.Threads {
		names.add(r)
	}
	grandchild := child(child(child(1, 0), 3), 8)
	names.add(thread(grandchild, child(child(1, 0), 3), 8))

	none, err := l.round(0)
	require.NoError(t, err)
	r, err := l.round(3)
	require.NoError(t, err)
	assert.Equal(t, round{child(1, 0), 4, 3}, r)
	for now, then := range []uint64{6, 4, 5, 6, 4, 5, 6, 4} {
		path := child(child(1, 0), uint64(now))
		names.add(thread(path, child(1, 0), uint32(now)))
		assert.Equal(t, child(child(1, 0), then), r.recorded(names, path))
		assert.Equal(t, path, none.recorded(names, path))
	}
	assert.Equal(t, child(child(child(1, 0), 6), 8), r.recorded(names, grandchild), "what a round's thread creates is of that round")
	assert.Equal(t, uint64(2), r.recorded(names, 2))
	assert.Equal(t, uint64(99), r.recorded(names, 99), "not known")

	for _, wrong := range []int{-1, 8} {
		_, err = l.round(wrong)
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
		names := threadNames{}
		for _, r := range l.Threads {
			names.add(r)
		}
		var again bytes.Buffer
		w, err := NewLogWriter(&again, l.Header)
		require.NoError(t, err)
		for _, r := range l.Threads {
			_ = names.name(r.Path)
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

func TestRecordIsLaidOutAsInTheKernel(t *testing.T) {
	r := Record{
		Kind: RecordDecision, Elapsed: 1, Path: 2, Delay: 3, Slice: 4, Rank: 5, Counter: 6, TID: 7,
		Event: EventExpiry, Role: RoleVM, Marks: MarkStarved, Comm: "name",
	}
	k := schedMisstepRecord{
		Elapsed: 1, Path: 2, Delay: 3, Slice: 4, Rank: 5, Counter: 6, Tid: 7, Kind: uint16(schedMisstepRecordKindMISSTEP_RECORD_DECISION),
		Event: uint16(schedMisstepEventMISSTEP_EVENT_EXPIRY), Role: uint16(schedMisstepRoleMISSTEP_ROLE_VM),
		Marks: uint16(schedMisstepMarkMISSTEP_MARK_STARVED), Comm: [16]int8{'n', 'a', 'm', 'e'},
	}
	assert.Equal(t, bytesOf(t, k), r.append(nil))
	assert.Equal(t, r, parseRecord(r.append(nil)))
}

func TestNamesOfThreads(t *testing.T) {
	names := threadNames{}
	names.add(Record{Path: 1, Delay: 0, Counter: 0})
	names.add(Record{Path: 2, Delay: 1, Counter: 4})
	names.add(Record{Path: 3, Delay: 2, Counter: 1})
	names.add(Record{Path: 8, Delay: 9, Counter: 1})
	names.add(Record{Path: 9, Delay: 8, Counter: 1})
	assert.Equal(t, "0.4.1", names.name(3))
	assert.Equal(t, "#00000000000000ff", names.name(255))
	assert.NotEmpty(t, names.name(8), "a circle ends")
}
