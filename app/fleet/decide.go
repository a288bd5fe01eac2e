package fleet

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"misstep/deploy/nomad"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

// Group is a group of runners as scaling sees it.
type Group struct {
	Name string
	// Offers are the capabilities of its runners beyond running JVMs, which all can.
	Offers []recipe.Capability
	// Slots of each runner.
	Slots int
	// Min and Max bound the number of runners.
	Min, Max int
	// Room is how many runners have a node. Min of them are kept even where they have none.
	Room int
	// Cost of a slot relative to those of other groups.
	Cost float64
}

// Groups are the groups of a fleet that the backlog may scale.
func Groups(f *misstepv1.Fleet) (all []Group) {
	for _, g := range f.GetRunners() {
		if g.GetMax() == 0 {
			continue
		}
		one := Group{
			Name: g.GetName(), Slots: nomad.Slots(g), Min: int(g.GetMin()), Max: int(g.GetMax()), Room: int(g.GetMax()),
			Cost: cmp.Or(g.GetCost(), 1),
		}
		if c := nomad.Capability(g); c != nomad.Plain {
			one.Offers = []recipe.Capability{recipe.Capability(c)}
		}
		all = append(all, one)
	}
	return all
}

// Backlog is the number of trials that wait or run, by what they need; "" is nothing beyond running JVMs.
type Backlog map[recipe.Capability]uint64

// Decide returns how many runners each group should have for a backlog, by name. A slot is wanted for each perSlot trials. Groups
// are filled in the order of their cost, up to their maximum and their room; needs that few groups meet come first, and what their
// runners have left serves the others. unmet has what no group can run, or too few can.
func Decide(groups []Group, backlog Backlog, perSlot int) (wanted map[string]int, unmet Backlog) {
	wanted, unmet = map[string]int{}, Backlog{}
	free := map[string]uint64{} // slots that nothing uses yet
	for _, g := range groups {
		wanted[g.Name] = g.Min
		free[g.Name] = uint64(min(g.Min, g.Room)) * uint64(g.Slots)
	}
	cheapest := slices.SortedFunc(slices.Values(groups), func(a, b Group) int {
		return cmp.Or(cmp.Compare(a.Cost, b.Cost), cmp.Compare(a.Name, b.Name))
	})
	able := func(need recipe.Capability) []Group {
		return slices.DeleteFunc(slices.Clone(cheapest), func(g Group) bool { return !need.MetBy(texts(g.Offers)) })
	}
	needs := slices.SortedFunc(maps.Keys(backlog), func(a, b recipe.Capability) int {
		return cmp.Or(cmp.Compare(len(able(a)), len(able(b))), cmp.Compare(b, a))
	})
	for _, need := range needs {
		slots := ceil(backlog[need], uint64(max(1, perSlot)))
		fit := able(need)
		for _, g := range fit { // what runs anyway
			used := min(slots, free[g.Name])
			free[g.Name] -= used
			slots -= used
		}
		for _, g := range fit {
			more := min(ceil(slots, uint64(g.Slots)), uint64(max(0, min(g.Max, g.Room)-wanted[g.Name])))
			wanted[g.Name] += int(more)
			got := more * uint64(g.Slots)
			used := min(slots, got)
			free[g.Name] += got - used
			slots -= used
		}
		if slots > 0 {
			unmet[need] = slots
		}
	}
	return wanted, unmet
}

// Place is Decide for groups that may have less room than their maximum: room returns how many of so many runners of a group have a
// node. What one group has no node for, the next cheapest gets.
func Place(
	groups []Group, backlog Backlog, perSlot int, room func(group string, count int) (int, error),
) (wanted map[string]int, unmet Backlog, err error) {
	groups = slices.Clone(groups)
	known := map[string]int{} // runners that have a node
	for {
		wanted, unmet = Decide(groups, backlog, perSlot)
		settled := true
		for i := range groups {
			g := &groups[i]
			n := wanted[g.Name]
			if n <= known[g.Name] || n > g.Room {
				continue
			}
			if known[g.Name], err = room(g.Name, n); err != nil {
				return nil, nil, err
			}
			if known[g.Name] < n {
				g.Room, settled = known[g.Name], false
			}
		}
		if settled {
			return wanted, unmet, nil
		}
	}
}

func ceil(a, b uint64) uint64 {
	n := a / b
	if a%b > 0 {
		n++
	}
	return n
}

func texts(all []recipe.Capability) (out []string) {
	for _, c := range all {
		out = append(out, string(c))
	}
	return out
}

// Calm keeps a lull that is short from scaling a group down: it shrinks to the most that was wanted within that time.
type Calm struct {
	// For is how long less must have been wanted.
	For time.Duration

	lulls map[string]lull // by group
}

// lull is a time in which less was wanted than there was.
type lull struct {
	since time.Time
	most  int
}

// Settle returns how many runners a group that has now should get, when wanted is what the backlog asks for at that time.
func (c *Calm) Settle(group string, now, wanted int, at time.Time) int {
	if wanted >= now {
		delete(c.lulls, group)
		return wanted
	}
	if c.lulls == nil {
		c.lulls = map[string]lull{}
	}
	l, lasts := c.lulls[group]
	if !lasts {
		l = lull{since: at}
	}
	l.most = max(l.most, wanted)
	c.lulls[group] = l
	if at.Sub(l.since) < c.For {
		return now
	}
	delete(c.lulls, group)
	return l.most
}
