package jfrcheck

import (
	"fmt"
	"math"

	"misstep/runner/recording"
)

// framesCheck is the name of the check of single frames.
const framesCheck = "frames"

// Kinds of frames that cannot be.
const (
	kindAbstract = "abstract-method"
	kindRange    = "bci-range"
)

const (
	accNative   = 0x0100
	accAbstract = 0x0400
	// pseudo is the descriptor of async-profiler's frames that are no methods.
	pseudo = "()L;"
)

// frames checks each frame by itself, for which no class file is needed: an abstract method has no frame, and no code has so many
// bytes (JVMS 4.6 and 4.7.3).
type frames struct {
	right, wrong uint64
	found        map[badFrame]*Fault // of this recording
	all          faults
	verdicts     map[*recording.Stack]stackVerdict // of this chunk
}

type badFrame struct{ kind, method, sampler string }

type stackVerdict struct {
	right, wrong int
	kind         string
	at           int // of the first wrong frame
}

func newFrames() *frames {
	return &frames{found: map[badFrame]*Fault{}, all: faults{}, verdicts: map[*recording.Stack]stackVerdict{}}
}

// Visit takes a record.
func (f *frames) Visit(r recording.Record) error {
	switch r := r.(type) {
	case *recording.Chunk:
		clear(f.verdicts)
	case *recording.Event:
		if r.Stack != nil && samplerTypes[r.Type] {
			f.event(r)
		}
	}
	return nil
}

func (f *frames) event(e *recording.Event) {
	v, known := f.verdicts[e.Stack]
	if !known {
		v = verdictOf(e.Stack)
		f.verdicts[e.Stack] = v
	}
	f.right += uint64(v.right)
	f.wrong += uint64(v.wrong)
	if v.kind == "" {
		return
	}
	at := e.Stack.Frames[v.at]
	key := badFrame{v.kind, methodName(at.Method), e.Type}
	fault := f.found[key]
	if fault == nil {
		if len(f.found) >= mostFaults {
			return
		}
		fault = &Fault{
			Check: framesCheck, Kind: v.kind, Sampler: e.Type, Place: key.method, Detail: fmt.Sprintf("bytecode index %d", at.BCI),
			Stack: stackText(e.Stack),
		}
		f.found[key] = fault
	}
	fault.Count++
}

func verdictOf(s *recording.Stack) (v stackVerdict) {
	for i, frame := range s.Frames {
		m := frame.Method
		if m == nil || m.Descriptor == pseudo {
			continue
		}
		kind := ""
		switch {
		case m.Modifiers&accAbstract != 0:
			kind = kindAbstract
		case frame.BCI >= math.MaxUint16:
			kind = kindRange
		}
		if kind == "" {
			v.right++
			continue
		}
		if v.wrong++; v.kind == "" {
			v.kind, v.at = kind, i
		}
	}
	return v
}

func (f *frames) ends(r *Recording) {
	for _, fault := range f.found {
		fault.Profiler, fault.Touches, fault.Samples = r.blamed(), TouchesSamples, fault.Count
		f.all.add(*fault)
	}
	clear(f.found)
	clear(f.verdicts)
}

func (f *frames) report(r *Report) {
	r.Checks = append(r.Checks, Check{
		Name: framesCheck, What: "each frame of a sample can be one", Unit: "frames", Right: f.right, Wrong: f.wrong,
	})
	r.Faults = append(r.Faults, f.all.list()...)
}

// mostFrames of an example are shown.
const mostFrames = 64

func stackText(s *recording.Stack) []string {
	lines := stackLines(len(s.Frames), func(i int) string { return frameText(methodName(s.Frames[i].Method), s.Frames[i].BCI) })
	if s.Truncated || s.Cut {
		lines = append(lines, "(truncated)")
	}
	return lines
}

// stackLines are the lines of the first frames of a stack, and how many there are more.
func stackLines(size int, line func(int) string) []string {
	lines := make([]string, 0, min(size, mostFrames)+1)
	for i := range min(size, mostFrames) {
		lines = append(lines, line(i))
	}
	if size > mostFrames {
		lines = append(lines, fmt.Sprintf("… %d more", size-mostFrames))
	}
	return lines
}

func frameText(method string, bci int32) string { return fmt.Sprintf("%s @ %d", method, bci) }
