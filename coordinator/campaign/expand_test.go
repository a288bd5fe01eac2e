package campaign_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"pgregory.net/rapid"

	"misstep/coordinator/campaign"
	"misstep/coordinator/steer"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

func submission(c *misstepv1.Campaign) *misstepv1.SubmitCampaignRequest {
	req := &misstepv1.SubmitCampaignRequest{Campaign: c, AgentDigest: "sha256:" + strings.Repeat("c", 64)}
	for _, j := range c.GetJdks() {
		req.Jdks = append(req.Jdks, &misstepv1.Jdk{Name: j, Digest: "sha256:" + strings.Repeat("a", 64), Version: "v" + j})
	}
	for _, w := range c.GetWorkloads() {
		req.Workloads = append(req.Workloads, &misstepv1.Workload{Name: w.GetName(), Digest: "sha256:" + strings.Repeat("b", 64)})
	}
	return req
}

func wide(strategy misstepv1.Strategy, seed uint64) *misstepv1.Campaign {
	return &misstepv1.Campaign{
		Name: "wide", Seed: seed, Strategy: strategy, Jdks: []string{"17", "25"},
		Workloads: []*misstepv1.CampaignWorkload{
			{Name: "all"}, {Name: "some", FlagSets: []string{"c1"}, Arguments: []string{"x"}, Repetitions: 9},
		},
		Instrumentation: []*misstepv1.Instrumentation{{Ratio: 1}, {Ratio: 0.5}},
		Sampling:        []*misstepv1.Sampling{{Interval: durationpb.New(1e6)}, {}},
		FlagSets: []*misstepv1.FlagSet{
			{Name: "c1", Flags: []string{"-XX:TieredStopAtLevel=1"}}, {Name: "c2"}, {Name: "int", Flags: []string{"-Xint"}},
		},
		Checks:  []*misstepv1.Check{{Name: "gst-asgct"}, {Name: "asgct-shadow"}},
		Perturb: []*misstepv1.Perturbation{{Strategy: "none"}, {Strategy: "delay"}},
		Limits:  &misstepv1.Limits{MemoryMib: 100},
		Budget:  &misstepv1.Budget{Trials: 1},
	}
}

// ordered is an expansion in the order of the campaign's strategy.
type ordered struct {
	*campaign.Expansion
	strategy steer.Strategy
}

func (o ordered) Recipe(i uint64) *misstepv1.Recipe {
	return o.Expansion.Recipe(o.strategy.Choose(i), i)
}

func expansion(t require.TestingT, c *misstepv1.Campaign) ordered { return expand(t, submission(c)) }

func expand(t require.TestingT, s *misstepv1.SubmitCampaignRequest) ordered {
	e, err := campaign.NewExpansion(s)
	require.NoError(t, err)
	strategy, err := steer.New(s.GetCampaign().GetStrategy(), steer.Config{Seed: s.GetCampaign().GetSeed(), Size: e.Size()})
	require.NoError(t, err)
	return ordered{e, strategy}
}

// without returns a recipe without its seed.
func without(r *misstepv1.Recipe) string {
	r = proto.CloneOf(r)
	r.Seed = 0
	if r.GetPerturbation() != nil {
		r.Perturbation.Seed = 0
	}
	d, err := misstepv1.RecipeDigest(r)
	if err != nil {
		panic(err)
	}
	return d
}

func TestRoundRobin(t *testing.T) {
	e := expansion(t, wide(misstepv1.Strategy_STRATEGY_ROUND_ROBIN, 5))
	// JDKs × instrumentation × sampling × perturbation × flag sets: 2·2·2·2·3 for one workload and ·1 for the other.
	require.EqualValues(t, 48+16, e.Size())
	var orders [2][]string
	seeds := map[uint64]bool{}
	for round := range orders {
		seen := map[string]bool{}
		for i := range e.Size() {
			r := e.Recipe(uint64(round)*e.Size() + i)
			d := without(r)
			assert.False(t, seen[d], "a combination came twice in one round")
			seen[d] = true
			orders[round] = append(orders[round], d)
			assert.False(t, seeds[r.GetSeed()], "a seed came twice")
			seeds[r.GetSeed()] = true
			if r.GetWorkload().GetName() == "some" {
				assert.Equal(t, "c1", r.GetFlagSet(), "the workload is restricted to that flag set")
				assert.Equal(t, []string{"x"}, r.GetWorkload().GetArguments())
				assert.EqualValues(t, 9, r.GetWorkload().GetRepetitions())
			}
		}
		assert.Len(t, seen, int(e.Size()))
	}
	assert.NotEqual(t, orders[0], orders[1])
	assert.ElementsMatch(t, orders[0], orders[1])
}

func TestRecipe(t *testing.T) {
	c := wide(misstepv1.Strategy_STRATEGY_ROUND_ROBIN, 5)
	c.Instrumentation, c.Sampling, c.FlagSets, c.Perturb = nil, nil, nil, nil
	c.Jdks, c.Workloads = c.GetJdks()[:1], c.GetWorkloads()[:1]
	c.Evidence, c.Limits.Mismatches = "every", 77
	e := expansion(t, c)
	require.EqualValues(t, 1, e.Size())
	r := e.Recipe(0)
	want := &misstepv1.Recipe{
		Jdk:             &misstepv1.Jdk{Name: "17", Digest: "sha256:" + strings.Repeat("a", 64), Version: "v17"},
		Workload:        &misstepv1.Workload{Name: "all", Digest: "sha256:" + strings.Repeat("b", 64)},
		Instrumentation: &misstepv1.Instrumentation{Ratio: 1},
		Checks:          []*misstepv1.Check{{Name: "gst-asgct"}, {Name: "asgct-shadow"}},
		Limits: &misstepv1.Limits{
			Wall: durationpb.New(120e9), MemoryMib: 100, OutputMib: recipe.DefaultOutputMiB, DiskMib: recipe.DefaultDiskMiB,
			StackDepth: recipe.DefaultStackDepth,
			Mismatches: 77,
		},
		Seed: r.GetSeed(), AgentDigest: "sha256:" + strings.Repeat("c", 64), Evidence: "every",
	}
	assert.True(t, proto.Equal(want, r), "want %v\n got %v", want, r)
	// The seed is part of what a stored campaign means: the same for ever.
	assert.Equal(t, uint64(0xb34ea353751c620d), r.GetSeed())
	r.Jdk.Name = "changed"
	assert.Equal(t, "17", e.Recipe(0).GetJdk().GetName(), "recipes share nothing")
}

// Where only one of the perturbations asks for methods, the recipes of the others say nothing of them.
func TestRecipesSayWhatTheyUse(t *testing.T) {
	c := wide(misstepv1.Strategy_STRATEGY_ROUND_ROBIN, 1)
	c.Checks, c.Sampling = []*misstepv1.Check{{Name: "asgct-gst-bracket"}}, []*misstepv1.Sampling{{Interval: durationpb.New(1e6)}}
	c.Instrumentation = []*misstepv1.Instrumentation{{Ratio: 0.5}}
	c.Perturb = []*misstepv1.Perturbation{{Strategy: "none"}, {Strategy: "delay", Mechanism: "agent"}}
	e := expansion(t, c)
	methods := 0
	for i := range e.Size() {
		r := e.Recipe(i)
		assert.Empty(t, recipe.Validate(r), r)
		if r.GetInstrumentation() != nil {
			methods++
		}
	}
	assert.EqualValues(t, e.Size(), 2*methods)
}

// A campaign that lists no checks has all that fit each recipe's methods and signals; the recipes list them.
func TestChecksThatAreNotListed(t *testing.T) {
	names := func(r *misstepv1.Recipe) (out []string) {
		for _, c := range r.GetChecks() {
			out = append(out, c.GetName())
		}
		return out
	}
	c := wide(misstepv1.Strategy_STRATEGY_ROUND_ROBIN, 1)
	c.Checks, c.Perturb = nil, nil
	c.Instrumentation = []*misstepv1.Instrumentation{{Ratio: 0}, {Ratio: 0.5}}
	require.Empty(t, campaign.Validate(c))
	e := expansion(t, c)
	seen := map[string]bool{}
	for i := range e.Size() {
		r := e.Recipe(i)
		assert.Empty(t, recipe.Validate(r), r)
		assert.True(t, recipe.Runnable(r), r)
		seen[strings.Join(names(r), " ")] = true
	}
	assert.Equal(t, map[string]bool{
		"gst-asgct shadow-gst asgct-shadow asgct-gst-bracket edges liveness": true,
		"gst-asgct shadow-gst edges liveness":                                true,
		"asgct-gst-bracket edges liveness":                                   true,
		"liveness":                                                           true,
	}, seen, "a new check is in each line whose methods, signals and traces it needs: add it there, in the table's order")

	c.Instrumentation, c.Sampling = nil, nil
	r := expansion(t, c).Recipe(0)
	assert.Equal(t, recipe.Names(recipe.AgentChecks()), names(r), "the others need a profiler")
	assert.True(t, proto.Equal(recipe.DefaultSampling(), r.GetSampling()), r)
	assert.Empty(t, recipe.Validate(r), r)
}

func TestExpansionFails(t *testing.T) {
	for want, change := range map[string]func(*misstepv1.SubmitCampaignRequest){
		`jdks[1]: "25"`:            func(s *misstepv1.SubmitCampaignRequest) { s.Jdks = s.Jdks[:1] },
		`workloads[0].name: "all"`: func(s *misstepv1.SubmitCampaignRequest) { s.Workloads = s.Workloads[1:] },
		"no combination":           func(s *misstepv1.SubmitCampaignRequest) { s.Campaign.Jdks = nil },
		"more than": func(s *misstepv1.SubmitCampaignRequest) {
			c := s.GetCampaign()
			for range 16 {
				c.Instrumentation = append(c.Instrumentation, c.GetInstrumentation()...)
			}
			c.Sampling = append(c.GetSampling(), c.GetSampling()...)
			for range 16 {
				c.Perturb = append(c.Perturb, c.GetPerturb()...)
			}
			for range 6 {
				c.Sampling = append(c.Sampling, c.GetSampling()...)
			}
		},
	} {
		s := submission(wide(misstepv1.Strategy_STRATEGY_ROUND_ROBIN, 5))
		change(s)
		_, err := campaign.NewExpansion(s)
		require.ErrorContains(t, err, want)
	}
}

// For any campaign, recipes depend only on the campaign and the index, and a round visits every combination once.
func TestExpansionProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &misstepv1.Campaign{
			Name: "p", Seed: rapid.Uint64().Draw(t, "seed"),
			Checks: []*misstepv1.Check{{Name: "gst-asgct"}, {Name: "asgct-shadow"}},
		}
		if rapid.Bool().Draw(t, "random") {
			c.Strategy = misstepv1.Strategy_STRATEGY_RANDOM
		}
		for i := range rapid.IntRange(1, 4).Draw(t, "jdks") {
			c.Jdks = append(c.Jdks, fmt.Sprint("j", i))
		}
		sets := rapid.IntRange(0, 3).Draw(t, "sets")
		for i := range sets {
			c.FlagSets = append(c.FlagSets, &misstepv1.FlagSet{Name: fmt.Sprint("s", i)})
		}
		for i := range rapid.IntRange(1, 4).Draw(t, "workloads") {
			w := &misstepv1.CampaignWorkload{Name: fmt.Sprint("w", i)}
			if sets > 0 && rapid.Bool().Draw(t, "restricted") {
				w.FlagSets = []string{fmt.Sprint("s", rapid.IntRange(0, sets-1).Draw(t, "set"))}
			}
			c.Workloads = append(c.Workloads, w)
		}
		for i := range rapid.IntRange(0, 3).Draw(t, "ratios") {
			c.Instrumentation = append(c.Instrumentation, &misstepv1.Instrumentation{Ratio: float64(i) / 4})
		}
		a, b := expansion(t, c), expansion(t, proto.CloneOf(c))
		seen := map[string]int{}
		for i := range a.Size() {
			r := a.Recipe(i)
			if !proto.Equal(r, b.Recipe(i)) {
				t.Fatalf("two recipes of one index")
			}
			seen[without(r)]++
		}
		if c.GetStrategy() != misstepv1.Strategy_STRATEGY_RANDOM && uint64(len(seen)) != a.Size() {
			t.Fatalf("%d of %d combinations in a round", len(seen), a.Size())
		}
	})
}

// Independent draws reach everything, about equally often.
func TestRandom(t *testing.T) {
	e := expansion(t, wide(misstepv1.Strategy_STRATEGY_RANDOM, 7))
	seen := map[string]int{}
	const each = 200
	for i := range e.Size() * each {
		seen[without(e.Recipe(i))]++
	}
	assert.Len(t, seen, int(e.Size()))
	for _, n := range seen {
		assert.InDelta(t, each, n, 90, "more than six standard deviations off")
	}
}

// TestPresets: a preset has each JDK's own flags; a JDK that does not support it is left out of the product and reported as
// skipped.
func TestPresets(t *testing.T) {
	c := &misstepv1.Campaign{
		Name: "presets", Jdks: []string{"old", "new"},
		Workloads: []*misstepv1.CampaignWorkload{{Name: "w"}, {Name: "modern", FlagSets: []string{"zgc", "mine"}}},
		FlagSets:  []*misstepv1.FlagSet{{Preset: "zgc"}, {Name: "mine", Preset: "c1", Flags: []string{"-Xss1m"}}},
		Checks:    []*misstepv1.Check{{Name: "liveness"}}, Budget: &misstepv1.Budget{Trials: 1},
	}
	require.Empty(t, campaign.Validate(c))
	s := &misstepv1.SubmitCampaignRequest{
		Campaign: c, Jdks: []*misstepv1.Jdk{{Name: "old"}, {Name: "new"}},
		Workloads: []*misstepv1.Workload{{Name: "w"}, {Name: "modern"}},
		Presets: []*misstepv1.JdkPreset{
			{Jdk: "old", Preset: "zgc", Reason: "it has no flag UseZGC"},
			{Jdk: "new", Preset: "zgc", Flags: []string{"-XX:+UseZGC"}},
			{Jdk: "old", Preset: "c1", Flags: []string{"-XX:TieredStopAtLevel=1"}},
			{Jdk: "new", Preset: "c1", Flags: []string{"-XX:TieredStopAtLevel=1"}},
		},
		Unsuited: []*misstepv1.Unsuited{{Jdk: "old", Workload: "modern", Reason: "it needs JDK 17 or newer"}},
	}
	e := expand(t, s)
	require.Equal(t, []string{"flag set zgc on old: it has no flag UseZGC", "workload modern on old: it needs JDK 17 or newer"},
		e.Skipped())
	var got []string
	for i := range e.Size() {
		r := e.Recipe(i)
		got = append(got, fmt.Sprint(r.GetWorkload().GetName(), " ", r.GetJdk().GetName(), " ", r.GetFlagSet(), r.GetJvmFlags()))
	}
	require.ElementsMatch(t, []string{
		"w old mine[-XX:TieredStopAtLevel=1 -Xss1m]", "w new zgc[-XX:+UseZGC]", "w new mine[-XX:TieredStopAtLevel=1 -Xss1m]",
		"modern new zgc[-XX:+UseZGC]", "modern new mine[-XX:TieredStopAtLevel=1 -Xss1m]",
	}, got)

	for want, spoil := range map[string]func(*misstepv1.SubmitCampaignRequest){
		"flag_sets[0].preset: no JDK of the campaign supports zgc: old: it has no flag UseZGC; new: nor has it": func(
			s *misstepv1.SubmitCampaignRequest,
		) {
			s.Presets[1].Reason = "nor has it"
		},
		"workloads[1]: no JDK of the campaign can run modern": func(s *misstepv1.SubmitCampaignRequest) {
			s.Unsuited = append(s.Unsuited, &misstepv1.Unsuited{Jdk: "new", Workload: "modern", Reason: "broken"})
		},
		`flag_sets[0].preset: "zgc" was not resolved for new`: func(s *misstepv1.SubmitCampaignRequest) {
			s.Presets[1].Preset = "other"
		},
		`flag_sets[0].preset: "-jar" decides what is run`: func(s *misstepv1.SubmitCampaignRequest) {
			s.Presets[1].Flags = []string{"-jar"}
		},
	} {
		bad := proto.CloneOf(s)
		spoil(bad)
		_, err := campaign.NewExpansion(bad)
		require.ErrorContains(t, err, want)
	}

	require.Len(t, campaign.Resolve(c, campaign.Names{Presets: []string{"zgc"}}), 1)
	c.FlagSets = append(c.FlagSets, &misstepv1.FlagSet{Preset: "zgc"}, &misstepv1.FlagSet{})
	require.Len(t, campaign.Validate(c), 2, "a name twice, no name")
}
