package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"misstep/coordinator/campaign"
	misstepv1 "misstep/proto/misstep/v1"
)

func TestCasesAreDistinctValidCampaigns(t *testing.T) {
	names := map[string]bool{}
	for _, c := range realCases() {
		t.Run(c.name, func(t *testing.T) {
			spec, err := campaign.Load([]byte(c.yaml()), c.name)
			require.NoError(t, err)
			require.Equal(t, []string{c.build()}, spec.GetJdks())
			require.Equal(t, "small", spec.GetWorkloads()[0].GetName())
			require.False(t, names[c.name], "twice")
			names[c.name] = true
			require.Subset(t, c.builds, c.affected)
			if c.plan != nil {
				require.Subset(t, spec.GetFlagSets()[0].GetFlags(), c.plan.Needs, "the flag set has what the fault needs")
				require.Empty(t, c.builds, "only one build injects")
			}
		})
	}
	require.GreaterOrEqual(t, len(names), 12)
}

func TestFindingOfACase(t *testing.T) {
	c := realCase{finding: []string{"mismatch gst-asgct", "upcall <clinit>"}}
	of := func(kind string, parts ...string) *misstepv1.Finding {
		return &misstepv1.Finding{Signature: &misstepv1.Signature{Kind: kind, Parts: parts}}
	}
	require.True(t, c.is(of("mismatch", "gst-asgct", "truncated", "upcall <clinit>")))
	require.False(t, c.is(of("mismatch", "gst-asgct", "truncated", "upcall loadClass")))
	require.False(t, c.is(of("crash", "upcall <clinit>")))
}

func TestRateKept(t *testing.T) {
	ratio, low, high := realResult{FinalHits: 40, FinalTries: 120, BestHits: 55, BestTries: 120}.kept()
	require.InDelta(t, 0.727, ratio, 0.001)
	require.InDelta(t, 0.53, low, 0.01)
	require.InDelta(t, 1.00, high, 0.01)
	ratio, low, _ = realResult{FinalHits: 40, FinalTries: 40, BestHits: 40, BestTries: 40}.kept()
	require.Equal(t, []float64{1, 1}, []float64{ratio, low})
	ratio, _, _ = realResult{FinalTries: 40, BestHits: 40, BestTries: 40}.kept()
	require.Zero(t, ratio)
}

func TestSequentialVerdicts(t *testing.T) {
	certain, _ := sequential("", 0.5, sameErrors)
	require.False(t, certain)
	certain, keeps := sequential(strings.Repeat("m", 60), 0.5, sameErrors)
	require.Equal(t, []bool{true, false}, []bool{certain, keeps})
	certain, keeps = sequential(strings.Repeat("hm", 400), 0.5, sameErrors)
	require.Equal(t, []bool{true, true}, []bool{certain, keeps})
	certain, _ = sequential(strings.Repeat("v", 60), 0.5, sameErrors)
	require.False(t, certain)
	require.True(t, void(strings.Repeat("v", 60)))
	require.False(t, void("vhm"))
}

func TestVerdictsAreForeseen(t *testing.T) {
	for _, x := range []struct {
		h, n         int
		ended, keeps bool
	}{
		{0, 0, false, false},
		{60, 70, true, true},
		{10, 51, true, false},
		{50, 60, false, true},
		{0, 5, false, false},
		{0, 30, true, false},
		{29, 30, false, true},
	} {
		ended, keeps := foreseen(x.h, x.n, 100, 60)
		require.Equal(t, []bool{x.ended, x.ended && x.keeps}, []bool{ended, ended && keeps}, "%+v", x)
	}
	ended, keeps := foreseen(0, 900, 6800, 120)
	require.Equal(t, []bool{true, false}, []bool{ended, keeps})
}
