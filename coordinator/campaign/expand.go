package campaign

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"misstep/internal/splitmix"
	"misstep/internal/suggest"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

// Expansion is a campaign as a function from a combination's number and a trial's index to a recipe. It holds the dimensions, never
// their product, so a campaign of a million trials takes no more memory than one of ten. It is immutable and safe for concurrent
// use.
type Expansion struct {
	c        *misstepv1.Campaign
	blocks   []block
	size     uint64
	agent    string
	limits   *misstepv1.Limits
	instr    []*misstepv1.Instrumentation
	sampling []*misstepv1.Sampling
	perturb  []*misstepv1.Perturbation
	perPair  uint64 // combinations of one workload with one flag set on one JDK under one profiler
	skipped  []string
}

// block is the part of the product for one workload: the flag sets and profilers that it may have, on the JDKs that support all.
type block struct {
	workload *misstepv1.Workload
	pairs    []pair
	size     uint64
}

// pair is a flag set on a JDK, under a profiler or none.
type pair struct {
	jdk      *misstepv1.Jdk
	set      string
	flags    []string
	profiler *misstepv1.Profiler
}

// maxCombinations bounds the product; it keeps all arithmetic far from overflow.
const maxCombinations = 1 << 40

// NewExpansion prepares a campaign whose names the submission resolves. It fails when a name is not resolved or the product is
// too large; it does not repeat Validate.
func NewExpansion(s *misstepv1.SubmitCampaignRequest) (*Expansion, error) {
	c := s.GetCampaign()
	if len(c.GetJdks()) == 0 || len(c.GetWorkloads()) == 0 {
		return nil, fmt.Errorf("campaign %q has no combination to run: it needs a JDK and a workload", c.GetName())
	}
	e := &Expansion{
		c: c, agent: s.GetAgentDigest(), limits: recipe.WrittenLimits(c.GetLimits()),
		instr: c.GetInstrumentation(), sampling: c.GetSampling(), perturb: alternatives(c.GetPerturb()),
	}
	if len(e.instr) == 0 {
		e.instr = []*misstepv1.Instrumentation{{Ratio: 1}}
	}
	if len(e.sampling) == 0 {
		e.sampling = []*misstepv1.Sampling{nil}
		if len(c.GetChecks()) == 0 {
			e.sampling[0] = recipe.DefaultSampling()
		}
	}
	jdks := make(map[string]*misstepv1.Jdk, len(s.GetJdks()))
	for _, j := range s.GetJdks() {
		jdks[j.GetName()] = j
	}
	var chosen []*misstepv1.Jdk
	for i, name := range c.GetJdks() {
		j, ok := jdks[name]
		if !ok {
			return nil, fmt.Errorf("jdks[%d]: %q is not among the submitted JDKs", i, name)
		}
		chosen = append(chosen, j)
	}
	presets := make(map[[2]string]*misstepv1.JdkPreset, len(s.GetPresets()))
	for _, p := range s.GetPresets() {
		presets[[2]string{p.GetJdk(), p.GetPreset()}] = p
	}
	unsuited, lacking := map[[2]string]string{}, map[[2]string]string{}
	for _, u := range s.GetUnsuited() {
		if u.GetProfiler() != "" {
			lacking[[2]string{u.GetJdk(), u.GetProfiler()}] = u.GetReason()
		} else {
			unsuited[[2]string{u.GetJdk(), u.GetWorkload()}] = u.GetReason()
		}
	}
	pairs, err := e.pairs(chosen, presets)
	if err != nil {
		return nil, err
	}
	if pairs, err = e.profiled(pairs, lacking); err != nil {
		return nil, err
	}
	workloads := make(map[string]*misstepv1.Workload, len(s.GetWorkloads()))
	for _, w := range s.GetWorkloads() {
		workloads[w.GetName()] = w
	}
	e.perPair = uint64(len(e.instr) * len(e.sampling) * len(e.perturb))
	for i, cw := range c.GetWorkloads() {
		w, ok := workloads[cw.GetName()]
		if !ok {
			return nil, fmt.Errorf("workloads[%d].name: %q is not among the submitted workloads", i, cw.GetName())
		}
		b := block{workload: proto.CloneOf(w)}
		if len(cw.GetArguments()) > 0 {
			b.workload.Arguments = cw.GetArguments()
		}
		if cw.GetRepetitions() > 0 {
			b.workload.Repetitions = cw.GetRepetitions()
		}
		for _, j := range chosen {
			if reason, bad := unsuited[[2]string{j.GetName(), w.GetName()}]; bad {
				e.skip("workload %s on %s: %s", w.GetName(), j.GetName(), reason)
				continue
			}
			for _, p := range pairs {
				if p.jdk == j && (len(cw.GetFlagSets()) == 0 || slices.Contains(cw.GetFlagSets(), p.set)) {
					b.pairs = append(b.pairs, p)
				}
			}
		}
		if len(b.pairs) == 0 {
			return nil, fmt.Errorf("workloads[%d]: no JDK of the campaign can run %s: %s", i, w.GetName(),
				strings.Join(e.skipped, "; "))
		}
		b.size = uint64(len(b.pairs)) * e.perPair
		e.blocks = append(e.blocks, b)
		if e.size += b.size; e.size > maxCombinations {
			return nil, fmt.Errorf("the campaign has more than %d combinations", uint64(maxCombinations))
		}
	}
	return e, nil
}

// pairs returns the flag sets on the JDKs, JDK by JDK, without those that a JDK does not support. A preset that no JDK supports is
// an error.
func (e *Expansion) pairs(jdks []*misstepv1.Jdk, presets map[[2]string]*misstepv1.JdkPreset) ([]pair, error) {
	sets := e.c.GetFlagSets()
	if len(sets) == 0 {
		sets = []*misstepv1.FlagSet{{}}
	}
	var pairs []pair
	reasons := make([][]string, len(sets))
	for _, j := range jdks {
		for i, f := range sets {
			p := pair{jdk: j, set: SetName(f)}
			if f.GetPreset() != "" {
				resolved, ok := presets[[2]string{j.GetName(), f.GetPreset()}]
				if !ok {
					return nil, fmt.Errorf("flag_sets[%d].preset: %s was not resolved for %s; "+
						"submit the campaign with a newer misstep", i, suggest.Quote(f.GetPreset()), j.GetName())
				}
				if resolved.GetReason() != "" {
					reasons[i] = append(reasons[i], j.GetName()+": "+resolved.GetReason())
					e.skip("flag set %s on %s: %s", p.set, j.GetName(), resolved.GetReason())
					continue
				}
				for _, flag := range resolved.GetFlags() {
					if problem := FlagProblem(flag); problem != "" {
						return nil, fmt.Errorf("flag_sets[%d].preset: %s", i, problem)
					}
				}
				p.flags = append(p.flags, resolved.GetFlags()...)
			}
			p.flags = append(p.flags, f.GetFlags()...)
			pairs = append(pairs, p)
		}
	}
	for i, f := range sets {
		if len(reasons[i]) == len(jdks) {
			return nil, fmt.Errorf("flag_sets[%d].preset: no JDK of the campaign supports %s: %s", i, f.GetPreset(),
				strings.Join(reasons[i], "; "))
		}
	}
	return pairs, nil
}

// SetName returns the name of a flag set: its own, else its preset's.
func SetName(f *misstepv1.FlagSet) string { return cmp.Or(f.GetName(), f.GetPreset()) }

func (e *Expansion) skip(format string, args ...any) {
	e.skipped = append(e.skipped, fmt.Sprintf(format, args...))
}

// Skipped describes what the product omits, and why: flag sets and workloads that a JDK does not support.
func (e *Expansion) Skipped() []string { return slices.Clone(e.skipped) }

// Size returns the number of combinations.
func (e *Expansion) Size() uint64 { return e.size }

// Recipe returns the recipe of the trial with index i for combination k, which is less than Size. It depends on the campaign, k and
// i only. Its seed is drawn from the campaign's seed and i, so no two trials of a campaign repeat each other by accident. The
// campaign's strategy (package steer) chooses the combination of a trial.
func (e *Expansion) Recipe(k, i uint64) *misstepv1.Recipe {
	b := 0
	for k >= e.blocks[b].size {
		k -= e.blocks[b].size
		b++
	}
	pick := func(n int) int {
		x := int(k % uint64(n))
		k /= uint64(n)
		return x
	}
	bl := e.blocks[b]
	seed := splitmix.Draw(e.c.GetSeed(), streamSeed, i)
	perturb := concrete(e.perturb[pick(len(e.perturb))], seed)
	sampling := proto.CloneOf(e.sampling[pick(len(e.sampling))])
	instr := proto.CloneOf(e.instr[pick(len(e.instr))])
	on := bl.pairs[pick(len(bl.pairs))]
	r := &misstepv1.Recipe{
		Jdk:             proto.CloneOf(on.jdk),
		Workload:        proto.CloneOf(bl.workload),
		JvmFlags:        slices.Clone(on.flags),
		Instrumentation: instr,
		Sampling:        sampling,
		Perturbation:    perturb,
		Limits:          proto.CloneOf(e.limits),
		Seed:            seed,
		AgentDigest:     e.agent,
		FlagSet:         on.set,
		Executor:        e.c.GetExecutor(),
		Evidence:        e.c.GetEvidence(),
		Profiler:        proto.CloneOf(on.profiler),
		FailureFindings: e.c.GetFailureFindings(),
	}
	if len(e.c.GetChecks()) == 0 {
		r.Checks = recipe.FittingChecks(r)
	}
	for _, ch := range e.c.GetChecks() {
		if known, _ := recipe.FindCheck(ch.GetName()); known.Judges(r.GetProfiler()) {
			r.Checks = append(r.Checks, proto.CloneOf(ch))
		}
	}
	recipe.DropUnused(r) // one of several perturbations may use methods, another may not, and likewise of profilers
	return r
}

// Streams separate the draws for different purposes. Package steer has others.
const (
	streamSeed  = 0x73656564
	streamRange = 0x72616e67
)
