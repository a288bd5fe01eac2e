package samplers

import (
	"cmp"
	"slices"
)

// A thread whose CPU time is the same at two times has not run in between: all walks from the one to the other have one stack,
// frame by frame and line by line. So threads that wait are judged, which no other sampler shows. A match needs the walk of another
// sampler: Thread.getAllStackTraces() is compared with JVMTI's. Of its own walks, before and after, only a difference counts.

// number gives the walks of each time in which a thread stood its number, from 1: rounds, which tell whether the thread has run
// since the one before, and what JVMTI was asked for after one of them.
func (l *lanes) number() {
	rounds, last := l[AllStackTraces], int32(0)
	for i := range rounds {
		if !rounds[i].stood {
			continue
		}
		if i == 0 || !rounds[i-1].stood {
			last++
		}
		rounds[i].stand = last
	}
	for i := range l[GetStackTrace] {
		again := &l[GetStackTrace][i]
		if next, _ := slices.BinarySearchFunc(rounds, again.begin, beginsAt); next > 0 {
			again.stand = rounds[next-1].stand
		}
	}
}

// judgeStood judges a sample of a thread that did not run by another walk of the same time; false if there is none. index is that
// of the sample in its lane.
func (j *Judge) judgeStood(f *finding, s sample, index int, beside *lanes) bool {
	other, ok := another(s, index, beside)
	if !ok {
		return false
	}
	frames, reference := j.stacks.of(s.kept), j.stacks.of(other.kept)
	kind, divergence := equal(frames, reference)
	if kind == "" && other.sampler == s.sampler {
		return false
	}
	f.stood = true
	if f.kind, f.divergence = kind, divergence; kind != "" {
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

// another returns a walk of the time in which the thread of a sample did not run: one of another sampler or, where a round has
// none, a round beside it.
func another(s sample, index int, beside *lanes) (sample, bool) {
	rounds := beside[AllStackTraces]
	switch s.sampler {
	case AllStackTraces:
		if again, ok := sameStand(beside[GetStackTrace], s); ok {
			return again, ended(s, again)
		}
		for _, i := range [...]int{index - 1, index + 1} {
			if s.stand > 0 && i >= 0 && i < len(rounds) && rounds[i].stand == s.stand && ended(s, rounds[i]) {
				return rounds[i], true
			}
		}
		return sample{}, false
	case GetStackTrace:
		round, ok := sameStand(rounds, s)
		return round, ok && ended(s, round)
	}
	round, ok := standsAround(s, rounds)
	return round, ok && s.state == usable && round.state == usable
}

func beginsAt(s sample, at int64) int { return cmp.Compare(s.begin, at) }

// sameStand returns a walk of a lane of the same stand as the sample: the last one before it, or else the first one after it.
func sameStand(lane []sample, s sample) (sample, bool) {
	next, _ := slices.BinarySearchFunc(lane, s.begin, beginsAt)
	for _, i := range [...]int{next - 1, next} {
		if s.stand > 0 && i >= 0 && i < len(lane) && lane[i].stand == s.stand {
			return lane[i], true
		}
	}
	return sample{}, false
}

// ended reports whether both walks ended, with or without a Java frame.
func ended(a, b sample) bool {
	has := func(s sample) bool { return s.state == usable || s.state == absent }
	return has(a) && has(b)
}

// standsAround returns the last round that is clearly before a sample of another sampler, if the thread did not run from that round
// to one that is clearly after it: the sampler's clock is another one, and its walk may come after the sample's time.
func standsAround(s sample, rounds []sample) (sample, bool) {
	before, _ := slices.BinarySearchFunc(rounds, s.begin-int64(edge)+1, beginsAt)
	after, _ := slices.BinarySearchFunc(rounds, s.end+int64(edge), func(r sample, at int64) int { return cmp.Compare(r.end, at) })
	if before == 0 || after == len(rounds) || rounds[before-1].stand == 0 || rounds[before-1].stand != rounds[after].stand {
		return sample{}, false
	}
	return rounds[before-1], true
}
