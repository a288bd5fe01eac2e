package samplers

import (
	"cmp"
	"slices"
)

// A thread whose CPU time is the same at two times has not run in between: all walks from the one to the other have one stack, frame
// by frame and line by line. So threads that wait are judged, which no other sampler shows: one walk by another one, which the JVM
// made later, and by that of JVMTI.

// judgeStood judges a sample of a thread that did not run by another walk of the same time; false if there is none. index is that
// of the sample in its lane.
func (j *Judge) judgeStood(f *finding, s sample, index int, beside *lanes) bool {
	other, ok := another(s, index, beside)
	if !ok || s.sampler != AllStackTraces && s.sampler != GetStackTrace && s.state != usable {
		return false
	}
	frames, reference := j.stacks.of(s.kept), j.stacks.of(other.kept)
	f.stood = true
	if f.kind, f.divergence = equal(frames, reference); f.kind != "" {
		j.exhibit(f, frames, reference, other.sampler.String())
	}
	return true
}

// of returns the stack that was kept, an empty one if there was none.
func (s *stacks) of(k kept) stack {
	if k.state != usable {
		return nil
	}
	return s.all[k.stack]
}

// another returns a walk of the time in which the thread of a sample did not run, other than this one.
func another(s sample, index int, beside *lanes) (sample, bool) {
	rounds := beside[AllStackTraces]
	switch s.sampler {
	case AllStackTraces:
		for _, i := range [...]int{index - 1, index + 1} {
			if s.stood && i >= 0 && i < len(rounds) && rounds[i].stood && ended(s, rounds[i]) {
				return rounds[i], true
			}
		}
		next, _ := slices.BinarySearchFunc(beside[GetStackTrace], s.end, beginsAt)
		if again := beside[GetStackTrace]; s.stood && next < len(again) && ended(s, again[next]) {
			return again[next], index+1 == len(rounds) || again[next].end <= rounds[index+1].begin
		}
		return sample{}, false
	case GetStackTrace:
		next, _ := slices.BinarySearchFunc(rounds, s.begin, beginsAt)
		if next == 0 || !rounds[next-1].stood {
			return sample{}, false
		}
		return rounds[next-1], ended(s, rounds[next-1])
	}
	return standsAround(s, rounds)
}

func beginsAt(s sample, at int64) int { return cmp.Compare(s.begin, at) }

// ended reports whether both walks ended, with or without a Java frame.
func ended(a, b sample) bool {
	has := func(s sample) bool { return s.state == usable || s.state == absent }
	return has(a) && has(b)
}

// standsAround returns the last round before a sample of another sampler, if the thread did not run from some time before the
// sample, that round included, to some time after it: the sampler's clock is another one, and its walk may come after the sample's
// time.
func standsAround(s sample, rounds []sample) (sample, bool) {
	next, _ := slices.BinarySearchFunc(rounds, s.begin, beginsAt)
	for first := next - 1; first >= 0 && rounds[first].stood; first-- {
		if rounds[first].begin > s.begin-int64(edge) {
			continue
		}
		for last := next - 1; last < len(rounds) && rounds[last].stood; last++ {
			if rounds[last].end >= s.end+int64(edge) {
				return rounds[next-1], rounds[next-1].state == usable
			}
		}
		break
	}
	return sample{}, false
}
