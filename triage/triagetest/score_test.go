package triagetest

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func items(pairs ...string) (all []Item) {
	for _, p := range pairs { // label, finding
		all = append(all, Item{Label: p[:1], Finding: p[1:], Signature: p[1:]})
	}
	return all
}

func TestFigures(t *testing.T) {
	perfect := Measure(items("a1", "a1", "b2", "b2", "c3"), 1)
	require.Equal(t, Share{1, 1, 1}, perfect.Precision)
	require.Equal(t, Share{1, 1, 1}, perfect.BRecall)

	// Of finding 1's three pairs one is right; of a's three pairs and b's three two are together, one of each.
	s := Measure(items("a1", "a1", "a2", "b1", "b3", "b3"), 1)
	require.InDelta(t, 2.0/4, s.Precision.Value, 1e-12)
	require.InDelta(t, 2.0/6, s.Recall.Value, 1e-12)
	require.InDelta(t, (2.0/3+2.0/3+1+1.0/3+1+1)/6, s.BPrecision.Value, 1e-12)
	require.InDelta(t, (2.0/3+2.0/3+1.0/3)*2/6, s.BRecall.Value, 1e-12)
	require.LessOrEqual(t, s.Precision.Low, s.Precision.Value)
	require.GreaterOrEqual(t, s.Precision.High, s.Precision.Value)
	require.Equal(t, s, Measure(items("a1", "a1", "a2", "b1", "b3", "b3"), 1), "the same seed gives the same")

	require.True(t, math.IsNaN(Measure(nil, 1).Precision.Value))
}

// A label with weight 2 counts as two labels with the same items, which are not compared with each other.
func TestWeight(t *testing.T) {
	twice := tabulate(items("a1", "a1", "a2", "b1")).figures([]float64{2, 1})
	require.InDelta(t, 2.0/(2+4), twice[0], 1e-12) // a's pair twice, and b with each a of both copies
	require.InDelta(t, 2.0/6, twice[1], 1e-12)
	require.InDelta(t, (2*(2.0/3+2.0/3+1)+1.0/5)/7, twice[2], 1e-12)
}

func TestConfusions(t *testing.T) {
	all := items("a1", "a1", "a2", "b1", "c3")
	require.Equal(t, []Confusion{{Of: "1", Parts: []Part{{"a", 2}, {"b", 1}}, Wrong: 2}}, Merged(all))
	require.Equal(t, []Confusion{{Of: "a", Parts: []Part{{"1", 2}, {"2", 1}}, Wrong: 2}}, Split(all))
}
