package samplers

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What each sample is worth is what is counted, and known by its time.
func TestEachSampleHasItsVerdict(t *testing.T) {
	tr := newTrial(t, Options{})
	tr.stood(100, 200, "h b run")
	tr.event(cpuTime, 150, "x h b run")
	tr.event(execution, 160, "x h run")
	tr.event(cpuTime, 105, "b run")
	tr.event(execution, 300, "b run !")
	all := map[int64]Verdict{}
	tr.Each(func(v Verdict) { all[v.At/millisecond] = v })
	require.Equal(t, map[int64]Verdict{
		150: {Sampler: JFRCPUTime, Java: 7, At: 150 * millisecond, Standing: 3},
		160: {Sampler: JFRExecution, Java: 7, At: 160 * millisecond, Standing: 3, Kind: kindMissing},
		105: {Sampler: JFRCPUTime, Java: 7, At: 105 * millisecond, Standing: 3, Rule: ruleSpanEdge},
		300: {Sampler: JFRExecution, Java: 7, At: 300 * millisecond, Void: voidDepth},
	}, all)
	got, _ := tr.verdicts()
	require.Equal(t, "4: match 1, mismatch 1, tolerated(span-edge) 1, void(depth) 1", got)
}
