package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"misstep/app/submission"
	"misstep/coordinator/campaign"
	"misstep/coordinator/steer"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

// plan says which recipes run in which pair.
type plan struct {
	name       string
	seed       uint64
	builds     [2]Build
	jdks       [2]*misstepv1.Jdk
	expansions [2]*campaign.Expansion
	strategy   steer.Strategy
	pairs      uint64
	time       time.Duration
	leftOut    []string
}

// plan expands the campaign for each side.
func (c Comparison) plan(ctx context.Context, at [2]place) (*plan, error) {
	p := &plan{builds: c.Sides, pairs: c.Pairs, time: c.For}
	for side := range c.Sides {
		request, leftOut, err := c.request(ctx, at[side], c.Sides[side].Profiler)
		if err != nil {
			return nil, err
		}
		if p.expansions[side], err = campaign.NewExpansion(request); err != nil {
			return nil, err
		}
		p.jdks[side], p.leftOut = request.GetJdks()[0], append(p.leftOut, leftOut...)
		p.builds[side].Version, p.builds[side].Digest = p.jdks[side].GetVersion(), p.jdks[side].GetDigest()
		spec := request.GetCampaign()
		p.name, p.seed = spec.GetName(), spec.GetSeed()
		if c.Pairs == 0 && c.For == 0 {
			p.pairs, p.time = (spec.GetBudget().GetTrials()+1)/2, spec.GetBudget().GetTime().AsDuration()
		}
		p.strategy, err = steer.New(spec.GetStrategy(), steer.Config{Seed: spec.GetSeed(), Size: p.expansions[side].Size()})
		if err != nil {
			return nil, err
		}
	}
	return p, p.sameRecipes()
}

// request is the campaign as one side runs it.
func (c Comparison) request(ctx context.Context, at place, profilerText string) (
	*misstepv1.SubmitCampaignRequest, []string, error,
) {
	var profiler *misstepv1.Profiler
	if profilerText != "" {
		var err error
		if profiler, err = recipe.ParseProfiler(profilerText); err != nil {
			return nil, nil, fmt.Errorf("profiler %s: %w", profilerText, err)
		}
	}
	return submission.LoadAs(ctx, at.Installation, c.Campaign, func(spec *misstepv1.Campaign) {
		spec.Jdks = []string{at.name}
		if profiler != nil {
			spec.Profiler = []*misstepv1.Profiler{profiler}
		}
	})
}

// mostCompared is the number of combinations whose recipes are compared before anything runs.
const mostCompared = 1 << 14

// sameRecipes returns an error when the sides do not run the same, but for JDK and profiler: one build lacks a preset or is too old
// for a workload.
func (p *plan) sameRecipes() error {
	different := errors.New("the two builds cannot run the same recipes: leave out of the campaign what one of them lacks")
	if len(p.leftOut) > 0 {
		slices.Sort(p.leftOut)
		different = fmt.Errorf("%w: %s", different, p.leftOut[0])
	}
	if p.expansions[Before].Size() != p.expansions[After].Size() {
		return different
	}
	for k := range min(p.expansions[Before].Size(), mostCompared) {
		if !proto.Equal(common(p.expansions[Before].Recipe(k, 0)), common(p.expansions[After].Recipe(k, 0))) {
			return different
		}
	}
	return nil
}

// common is what the recipes of a pair share. A preset's flags may differ by JDK.
func common(r *misstepv1.Recipe) *misstepv1.Recipe {
	r.Jdk, r.JvmFlags, r.Profiler = nil, nil, nil
	return r
}

// recipes are those of a pair: the same combination with the same seed.
func (p *plan) recipes(i uint64) (recipes [2]*misstepv1.Recipe) {
	k := p.strategy.Choose(i)
	for side := range recipes {
		recipes[side] = p.expansions[side].Recipe(k, i)
	}
	return recipes
}

// progress is how far a comparison is, in a line.
func (p *plan) progress(pairs int, elapsed time.Duration) string {
	text := fmt.Sprintf("%d pairs", pairs)
	if p.pairs > 0 {
		text = fmt.Sprintf("%d of %d pairs", pairs, p.pairs)
	}
	text += ", " + elapsed.Round(time.Second).String()
	if p.time > 0 {
		text += " of " + p.time.String()
	}
	var left time.Duration
	if p.pairs > 0 && pairs > 0 {
		left = time.Duration(float64(elapsed) * (float64(p.pairs)/float64(pairs) - 1))
	}
	if byTime := p.time - elapsed; p.time > 0 && (left == 0 || byTime < left) {
		left = byTime
	}
	return fmt.Sprintf("%s, %s left", text, cmp.Or(max(left, 0).Round(time.Second), time.Second))
}
