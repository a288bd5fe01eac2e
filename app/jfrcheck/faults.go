package jfrcheck

import (
	"maps"
	"slices"

	misstepv1 "misstep/proto/misstep/v1"
)

// add adds the counts of a check of one recording.
func (c *Check) add(n *misstepv1.CheckCount) {
	c.Right += n.GetMatch()
	c.Wrong += n.GetMismatch()
	for _, of := range []struct {
		to   *map[string]uint64
		from map[string]uint64
	}{{&c.Tolerated, n.GetTolerated()}, {&c.Void, n.GetVoid()}} {
		if *of.to == nil {
			*of.to = map[string]uint64{}
		}
		for name, units := range of.from {
			(*of.to)[name] += units
		}
	}
}

// faults are those of all recordings. Equal ones of several recordings of one profiler are one, with the first one's details.
type faults map[faultKey]Fault

type faultKey struct{ kind, place, sampler, profiler, known string }

func (f faults) add(one Fault) {
	key := faultKey{one.Kind, one.Place, one.Sampler, one.Profiler, one.Known}
	if before, has := f[key]; has {
		before.Count += one.Count
		before.Samples, before.Events = before.Samples+one.Samples, before.Events+one.Events
		before.Touches = worst(before.Touches, one.Touches)
		one = before
	} else if len(f) >= mostFaults {
		return
	}
	f[key] = one
}

// worst is the class of two that touches more.
func worst(a, b string) string {
	if slices.Index(Touches, b) < slices.Index(Touches, a) {
		return b
	}
	return a
}

func (f faults) list() []Fault { return slices.Collect(maps.Values(f)) }
