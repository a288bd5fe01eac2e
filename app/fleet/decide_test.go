package fleet

import (
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"misstep/recipe"
)

var (
	cheap = Group{Name: "cheap", Slots: 4, Min: 1, Max: 10, Room: 10, Cost: 0.5}
	dear  = Group{Name: "dear", Slots: 2, Max: 5, Room: 5, Cost: 2}
	sched = Group{Name: "sched", Offers: []recipe.Capability{recipe.SchedExt}, Slots: 2, Max: 3, Room: 3, Cost: 1}
)

func TestDecide(t *testing.T) {
	all := []Group{dear, sched, cheap}
	for name, c := range map[string]struct {
		backlog Backlog
		want    map[string]int
		unmet   Backlog
	}{
		"nothing to do":                {nil, map[string]int{"cheap": 1, "dear": 0, "sched": 0}, Backlog{}},
		"fits what runs anyway":        {Backlog{"": 40}, map[string]int{"cheap": 1, "dear": 0, "sched": 0}, Backlog{}},
		"the cheapest first":           {Backlog{"": 41}, map[string]int{"cheap": 2, "dear": 0, "sched": 0}, Backlog{}},
		"then the next":                {Backlog{"": 410}, map[string]int{"cheap": 10, "dear": 0, "sched": 1}, Backlog{}},
		"who can do it":                {Backlog{recipe.SchedExt: 1}, map[string]int{"cheap": 1, "dear": 0, "sched": 1}, Backlog{}},
		"what it leaves serves others": {Backlog{recipe.SchedExt: 10, "": 50}, map[string]int{"cheap": 1, "dear": 0, "sched": 1}, Backlog{}},
		"more than there may be":       {Backlog{recipe.SchedExt: 100}, map[string]int{"cheap": 1, "dear": 0, "sched": 3}, Backlog{recipe.SchedExt: 4}},
		"nobody can":                   {Backlog{recipe.VM: 5}, map[string]int{"cheap": 1, "dear": 0, "sched": 0}, Backlog{recipe.VM: 1}},
		"without end":                  {Backlog{"": 1 << 63}, map[string]int{"cheap": 10, "dear": 5, "sched": 3}, Backlog{"": 1<<63/10 + 1 - 56}},
	} {
		t.Run(name, func(t *testing.T) {
			got, unmet := Decide(all, c.backlog, 10)
			require.Equal(t, c.want, got)
			require.Equal(t, c.unmet, unmet)
		})
	}
}

func TestDecideProperties(t *testing.T) {
	needs := []recipe.Capability{"", recipe.SchedExt, recipe.VM}
	rapid.Check(t, func(t *rapid.T) {
		var groups []Group
		for i := range rapid.IntRange(1, 5).Draw(t, "groups") {
			g := Group{
				Name: string(rune('a' + i)), Slots: rapid.IntRange(1, 5).Draw(t, "slots"), Min: rapid.IntRange(0, 3).Draw(t, "min"),
				Cost: float64(rapid.IntRange(1, 3).Draw(t, "cost")),
			}
			g.Max = g.Min + rapid.IntRange(0, 5).Draw(t, "more")
			g.Room = rapid.IntRange(0, g.Max).Draw(t, "room")
			if need := rapid.SampledFrom(needs).Draw(t, "offer"); need != "" {
				g.Offers = []recipe.Capability{need}
			}
			groups = append(groups, g)
		}
		backlog := Backlog{}
		for _, need := range needs {
			backlog[need] = rapid.Uint64Range(0, 100).Draw(t, "trials")
		}
		perSlot := rapid.IntRange(1, 10).Draw(t, "per slot")
		wanted, unmet := Decide(groups, backlog, perSlot)
		slots := uint64(0)
		for _, g := range groups {
			require.GreaterOrEqual(t, wanted[g.Name], g.Min)
			require.LessOrEqual(t, wanted[g.Name], g.Max)
			slots += uint64(min(wanted[g.Name], g.Room) * g.Slots)
		}
		// Enough slots for all that is not reported as unmet.
		asked, refused := uint64(0), uint64(0)
		for need, n := range backlog {
			asked += ceil(n, uint64(perSlot))
			refused += unmet[need]
		}
		require.GreaterOrEqual(t, slots, asked-refused)
		// What is unmet is so only if all who can do it have no room for more.
		for need := range unmet {
			for _, g := range groups {
				if need.MetBy(texts(g.Offers)) {
					require.GreaterOrEqual(t, wanted[g.Name], g.Room)
				}
			}
		}
		// Of those that can do the same, none runs beyond its minimum while a cheaper one could run more.
		for _, g := range groups {
			for _, other := range groups {
				if other.Cost < g.Cost && len(g.Offers) == 0 && wanted[g.Name] > g.Min {
					require.GreaterOrEqual(t, wanted[other.Name], other.Room, "%s is cheaper than %s", other.Name, g.Name)
				}
			}
		}
		again, _ := Decide(groups, backlog, perSlot)
		require.Equal(t, wanted, again, "the same question, the same answer")
	})
}

func TestPlace(t *testing.T) {
	for name, c := range map[string]struct {
		backlog Backlog
		room    map[string]int // of groups whose nodes are fewer than their maximum
		want    map[string]int
		unmet   Backlog
	}{
		"all have a node":         {Backlog{"": 80}, nil, map[string]int{"cheap": 2, "dear": 0, "sched": 0}, Backlog{}},
		"none has: the next":      {Backlog{"": 80}, map[string]int{"cheap": 0}, map[string]int{"cheap": 1, "dear": 1, "sched": 3}, Backlog{}},
		"some have":               {Backlog{"": 120}, map[string]int{"cheap": 2}, map[string]int{"cheap": 2, "dear": 0, "sched": 2}, Backlog{}},
		"the next has none":       {Backlog{"": 80}, map[string]int{"cheap": 1, "sched": 0}, map[string]int{"cheap": 1, "dear": 2, "sched": 0}, Backlog{}},
		"nobody else can":         {Backlog{recipe.SchedExt: 30}, map[string]int{"sched": 1}, map[string]int{"cheap": 1, "dear": 0, "sched": 1}, Backlog{recipe.SchedExt: 1}},
		"nobody has":              {Backlog{"": 80}, map[string]int{"cheap": 0, "sched": 0, "dear": 0}, map[string]int{"cheap": 1, "dear": 0, "sched": 0}, Backlog{"": 8}},
		"more than was asked for": {Backlog{"": 80}, map[string]int{"cheap": 9}, map[string]int{"cheap": 2, "dear": 0, "sched": 0}, Backlog{}},
	} {
		t.Run(name, func(t *testing.T) {
			asked := map[string]int{}
			got, unmet, err := Place([]Group{dear, sched, cheap}, c.backlog, 10, func(group string, count int) (int, error) {
				require.Greater(t, count, asked[group], "%s is asked for the same again", group)
				asked[group] = count
				if room, few := c.room[group]; few {
					return min(room, count), nil
				}
				return count, nil
			})
			require.NoError(t, err)
			require.Equal(t, c.want, got)
			require.Equal(t, c.unmet, unmet)
		})
	}
	_, _, err := Place([]Group{cheap}, nil, 10, func(string, int) (int, error) { return 0, io.ErrUnexpectedEOF })
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

func TestCalm(t *testing.T) {
	c := Calm{For: 5 * time.Minute}
	at := func(minutes int) time.Time { return time.Unix(int64(60*minutes), 0) }
	require.Equal(t, 9, c.Settle("g", 4, 9, at(0)), "more is wanted: at once")
	require.Equal(t, 9, c.Settle("g", 9, 2, at(1)))
	require.Equal(t, 9, c.Settle("g", 9, 5, at(3)))
	require.Equal(t, 9, c.Settle("g", 9, 1, at(5)))
	require.Equal(t, 5, c.Settle("g", 9, 1, at(6)), "the most of the lull")
	require.Equal(t, 5, c.Settle("g", 5, 1, at(7)))
	require.Equal(t, 5, c.Settle("g", 5, 5, at(8)), "the lull is over")
	require.Equal(t, 5, c.Settle("g", 5, 1, at(12)))
	require.Equal(t, 1, c.Settle("g", 5, 0, at(17)))
	require.Equal(t, 3, c.Settle("other", 3, 0, at(17)), "each group by itself")
}
