package main

import (
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/bench"
)

// What a fork wrote on two CPUs.
const dekker = `ACCEPTABLE_INTERESTING 98458 0, 0
ACCEPTABLE 942527 0, 1
ACCEPTABLE 951129 1, 0
ACCEPTABLE 4 1, 1
end
`

func TestOutcomesOfAForkOfJcstress(t *testing.T) {
	r := result{cell: cell{Race: "JMMSample_05_TotalOrder.PlainDekker", Iterations: 1}}
	r.judge(dekker, 3*time.Second)
	assert.Empty(t, r.Trouble)
	assert.True(t, r.Found)
	assert.Equal(t, &outcomes{Seen: map[string]uint64{"0, 0": 98458, "0, 1": 942527, "1, 0": 951129, "1, 1": 4}}, r.Outcomes)
	seen, all := r.Outcomes.of([]string{"0, 1", "1, 1"})
	assert.Equal(t, [2]uint64{942531, 1992118}, [2]uint64{seen, all})

	r = result{cell: r.cell}
	r.judge(strings.Replace(dekker, "ACCEPTABLE 4 1, 1\n", "", 1), 0)
	assert.False(t, r.Found)
	assert.Zero(t, r.Outcomes.Forbidden)
	r.judge(strings.Replace(dekker, "ACCEPTABLE 4 1, 1\n", "FORBIDDEN 3 1, 1\nUNKNOWN 14 7, 7\n", 1), 0)
	assert.Equal(t, uint64(17), r.Outcomes.Forbidden)

	for _, incomplete := range []string{strings.TrimSuffix(dekker, "end\n"), "end\n", "Exception in thread main\n"} {
		r = result{cell: r.cell}
		r.judge(incomplete, 0)
		assert.Contains(t, r.Trouble, strings.Split(incomplete, "\n")[0])
	}
}

func TestGoalsOfJcstress(t *testing.T) {
	cells, err := bench.OpenStore[entry](filepath.Join(t.TempDir(), "cells.jsonl"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cells.Close()) })
	l, s := &lab{digests: map[string]string{}}, &store{cells}
	measured := func() (all []float64) {
		_, goals := jcstressGoals(l, s)
		for _, g := range goals {
			all = append(all, g.Measured)
		}
		return all
	}
	before := measured()
	assert.Zero(t, before[0])
	for _, x := range before[1:] {
		assert.True(t, math.IsNaN(x), "nothing was measured: %v", before)
	}
	for _, c := range jcstressCells() {
		r := result{cell: c, Outcomes: &outcomes{Seen: map[string]uint64{"other": 99}}}
		for _, sample := range jcstressSamples {
			shows := c.Strategy == "chaos" || c.Strategy == scxSlow && c.Seed == firstSeed
			if sample.name == c.Race && !sample.control && shows {
				r.Found, r.Outcomes.Seen[sample.outcomes[0]] = true, 1
			}
		}
		require.NoError(t, s.Add(entry{Kind: kindCell, Fingerprint: l.fingerprint(c), Result: &r}))
	}
	after := measured()
	assert.Equal(t, []float64{10, 1, 0}, after[:3], "forks, the share that shows it, forbidden ones")
	assert.Less(t, after[3], 1e-20)
	table, _ := jcstressGoals(l, s)
	assert.Contains(t, table.Rows, []string{
		"APISample_01_Simple", "1, 1", scxSlow, "1 of 10", "0.02 to 0.40", "1 of 991", bench.Figure(2 * 11 / 184756.0),
	}, "Fisher's test of 10 of 10 against 1 of 10: of the 184,756 tables 11 are as extreme at either end")
	assert.Contains(t, table.Rows[len(table.Rows)-1], "5 of 50")
}
