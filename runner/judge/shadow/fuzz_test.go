package shadow

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"misstep/agent"
	"misstep/runner/recording"
)

// bytes deals out the bytes of a fuzzer's input, zeros after its end.
type bytes []byte

func (b *bytes) next() (v byte) {
	if len(*b) > 0 {
		v, *b = (*b)[0], (*b)[1:]
	}
	return v
}

// records makes a tap and a recording out of bytes: few values for each field, so that they meet.
func records(b *bytes) (*agent.Tap, []string, []recording.Record) {
	names := []string{"a/A.a()V", "a/A.b()V", "java/lang/MisstepShadow.enter(I)J", "a/A.<init>()V", "", "x"}
	tap := &agent.Tap{Signals: [2]uint32{27, uint32(12 * (b.next() % 2))}, Names: map[uint32]string{}}
	for range b.next() % 8 {
		tap.Names[uint32(b.next()%4)] = names[int(b.next())%len(names)]
	}
	for range b.next() % 4 {
		v := uint64(b.next())
		tap.Clocks = append(tap.Clocks, agent.TapClock{MonotonicNanos: v, RealtimeNanos: 3 * v, Ticks: uint64(b.next())})
	}
	for range b.next() % 16 {
		begin := uint64(b.next())
		flags := b.next()
		c := agent.TapCall{
			TID: uint32(b.next() % 3), Signal: []uint32{27, 12, 0}[b.next()%3], BeginNanos: begin, BeginTicks: begin,
			EndNanos: uint64(b.next()), EndTicks: uint64(b.next()), Nested: uint32(b.next() % 2), Shadow: flags&1 == 0,
			Overflow: flags&2 != 0, Carrier: flags&4 != 0, Depth: uint32(b.next() % 4),
		}
		for range b.next() % 4 {
			c.Entries = append(c.Entries, uint32(b.next()%4))
		}
		if flags&8 == 0 {
			c.Depth = uint32(len(c.Entries))
		}
		tap.Calls = append(tap.Calls, c)
	}
	classes := []string{"a.A", "java.lang.MisstepShadow", "jdk.internal.vm.Continuation", ""}
	methods := []string{"a", "b", "enter", "<init>", "break_compiled", "enterSpecial"}
	types := []string{"jdk.ExecutionSample", "jdk.CPUTimeSample", "jdk.NativeMethodSample", "jdk.ThreadPark"}
	var out []recording.Record
	for len(*b) > 0 && len(out) < 64 {
		switch b.next() % 8 {
		case 0:
			out = append(out, &recording.Chunk{
				StartNanos: int64(b.next()), StartTicks: int64(b.next()), TicksPerSecond: int64(b.next()) * 1e7,
			})
		case 1:
			out = append(out, &recording.Lost{}, &recording.Fault{}, &recording.Problem{}, &recording.Setting{}, &recording.Pool{})
		default:
			e := &recording.Event{
				Type: types[b.next()%4], StartNanos: int64(b.next()), Biased: recording.Truth(b.next() % 3),
				Failed: recording.Truth(b.next() % 3),
			}
			if v := b.next(); v%8 > 0 {
				e.Thread = &recording.Thread{OS: int64(v % 3), Virtual: v%8 == 1}
			}
			if v := b.next(); v%8 > 0 {
				e.Stack = &recording.Stack{Truncated: v%8 == 1, Cut: v%8 == 2}
				for range b.next() % 8 {
					f := recording.Frame{BCI: int32(b.next()) - 4, Kind: recording.FrameKind(b.next() % 7)}
					if v := b.next(); v%8 > 0 {
						f.Method = &recording.Method{
							Class: classes[v%4], Name: methods[int(v)%len(methods)], Descriptor: []string{"()V", "(I)J"}[v%2],
						}
					}
					e.Stack.Frames = append(e.Stack.Frames, f)
				}
			}
			out = append(out, e)
		}
	}
	return tap, names[:2], out
}

// Whatever a recording and a tap hold, each sample gets one verdict, and each mismatch is one that can be shown.
func FuzzVerdicts(f *testing.F) {
	f.Add([]byte{}, false)
	f.Add([]byte("\x01\x02\x01\x00\x02\x01\x02\x05\x05\x09\x09\x03\x10\x00\x01\x00\x20\x20\x00\x02\x02\x01\x02"+
		"\x00\x05\x05\x64\x02\x00\x11\x00\x00\x04\x04\x03\x10\x01\x04\x20\x02\x08"), false)
	f.Add([]byte("\x00\x03\x01\x00\x02\x01\x03\x00\x01\x01\x08\x04\x10\x00\x01\x00\x20\x20\x00\x01\x01\x01"+
		"\x00\x00\x00\x64\x02\x00\x11\x00\x00\x04\x04\x02\x10\x01\x04\x20\x05\x08"), true)
	f.Fuzz(func(t *testing.T, data []byte, other bool) {
		b := bytes(data)
		tap, methods, list := records(&b)
		in := Input{Check: "jfr-shadow", Source: JFR, Feature: 24 + len(data)%2, Tap: tap, Methods: methods, Limit: 3}
		if other {
			in.Source, in.Walker = AsyncProfiler, []string{"vm", "no"}[len(data)%2]
		}
		j := New(in)
		samples := 0
		chunk := false
		own := []string{"jdk.ExecutionSample"}
		if in.Source == JFR {
			own = append(own, "jdk.CPUTimeSample", "jdk.NativeMethodSample")
		}
		for _, r := range list {
			require.NoError(t, j.Visit(r))
			if _, is := r.(*recording.Chunk); is {
				chunk = true
			}
			if e, is := r.(*recording.Event); is && chunk && slices.Contains(own, e.Type) {
				samples++
			}
		}
		v := j.Verdicts()
		sum := v.Count.GetMatch() + v.Count.GetMismatch()
		for _, n := range v.Count.GetTolerated() {
			sum += n
		}
		for _, n := range v.Count.GetUnwalkable() {
			sum += n
		}
		for _, n := range v.Count.GetVoid() {
			sum += n
		}
		require.EqualValues(t, samples, v.Count.GetTotal())
		require.Equal(t, v.Count.GetTotal(), sum)
		require.LessOrEqual(t, len(v.Mismatches), 3)
		for _, m := range v.Mismatches {
			require.NotEmpty(t, m.GetKind())
			require.Positive(t, m.GetCount())
			require.LessOrEqual(t, int(m.GetDivergence()), len(m.GetReference().GetFrames())+1)
			require.Positive(t, len(m.GetReference().GetFrames())+len(m.GetSuspect().GetFrames()))
		}
	})
}
