package retest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func result(finding, build string, hits, tries uint64, state State) Result {
	return Result{Finding: finding, Build: "sha256:" + build, Name: build, Now: Count{hits, tries}, State: state}
}

func TestTogether(t *testing.T) {
	present := func(f, build string) Result { return result(f, build, 9, 10, StillPresent) }
	fixed := func(f, build string) Result { return result(f, build, 0, 10, Fixed) }
	for _, c := range []struct {
		name    string
		results []Result
		want    []string
	}{
		{"same fix", []Result{present("A", "1"), fixed("A", "2"), present("B", "1"), fixed("B", "2")}, []string{"B"}},
		{"other build", []Result{present("A", "1"), fixed("A", "2"), present("B", "1"), fixed("B", "3")}, nil},
		{"not seen before on the same build", []Result{present("A", "1"), fixed("A", "2"), present("B", "0"), fixed("B", "2")}, nil},
		{"still present", []Result{present("A", "1"), fixed("A", "2"), present("B", "1"), present("B", "2")}, nil},
		{
			"a build between tells them apart",
			[]Result{
				present("A", "1"), fixed("A", "2"), fixed("A", "3"),
				present("B", "1"), present("B", "2"), fixed("B", "3"),
			},
			nil,
		},
		{
			"unclear proves nothing",
			[]Result{present("A", "1"), fixed("A", "2"), present("B", "1"), result("B", "2", 0, 2, Unclear)},
			nil,
		},
		{
			"too few tries for the difference",
			[]Result{present("A", "1"), fixed("A", "2"), result("B", "1", 1, 1, StillPresent), fixed("B", "2")},
			nil,
		},
		{
			"the latest result counts",
			[]Result{present("A", "1"), fixed("A", "2"), fixed("B", "2"), present("B", "1"), present("B", "2")},
			nil,
		},
		{"no retests of it", []Result{present("B", "1"), fixed("B", "2")}, nil},
	} {
		var got []string
		for _, p := range Together("A", c.results) {
			got = append(got, p.Other)
		}
		assert.Equal(t, c.want, got, c.name)
	}
	got := Together("A", []Result{present("A", "1"), fixed("A", "2"), present("B", "1"), fixed("B", "2")})
	require.Len(t, got, 1)
	assert.Equal(t, "1", got[0].Present)
	assert.Equal(t, "2", got[0].Fixed)
	assert.InDelta(t, 1.2e-4, got[0].P, 1e-5)
}
