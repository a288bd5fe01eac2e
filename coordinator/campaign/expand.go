package campaign

import (
	"fmt"
	"math/bits"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	misstepv1 "misstep/proto/misstep/v1"
)

// Expansion is a campaign as a function from the index of a trial to its recipe. It holds the dimensions, never their product,
// so a campaign of a million trials costs no more than one of ten. It is immutable and safe for concurrent use.
type Expansion struct {
	c         *misstepv1.Campaign
	jdks      []*misstepv1.Jdk
	blocks    []block
	size      uint64
	agent     string
	limits    *misstepv1.Limits
	instr     []*misstepv1.Instrumentation
	sampling  []*misstepv1.Sampling
	perturb   []*misstepv1.Perturbation
	perJDK    uint64 // combinations of one workload with one flag set and one JDK
	randomise bool
}

// block is the part of the product that one workload makes with the flag sets it may have.
type block struct {
	workload *misstepv1.Workload
	flags    []*misstepv1.FlagSet
	size     uint64
}

// maxCombinations bounds the product; it keeps all arithmetic far from overflow.
const maxCombinations = 1 << 40

// NewExpansion prepares a campaign whose names the submission resolves. It fails when a name is not resolved or the product is
// too large; it does not repeat Validate.
func NewExpansion(s *misstepv1.SubmitCampaignRequest) (*Expansion, error) {
	c := s.GetCampaign()
	e := &Expansion{
		c: c, agent: s.GetAgentDigest(), limits: withDefaults(c.GetLimits()),
		instr: c.GetInstrumentation(), sampling: c.GetSampling(), perturb: c.GetPerturb(),
		randomise: c.GetStrategy() == misstepv1.Strategy_STRATEGY_RANDOM,
	}
	if len(e.instr) == 0 {
		e.instr = []*misstepv1.Instrumentation{{Ratio: 1}}
	}
	if len(e.sampling) == 0 {
		e.sampling = []*misstepv1.Sampling{nil}
	}
	if len(e.perturb) == 0 {
		e.perturb = []*misstepv1.Perturbation{nil}
	}
	jdks := make(map[string]*misstepv1.Jdk, len(s.GetJdks()))
	for _, j := range s.GetJdks() {
		jdks[j.GetName()] = j
	}
	for i, name := range c.GetJdks() {
		j, ok := jdks[name]
		if !ok {
			return nil, fmt.Errorf("jdks[%d]: %q is not among the JDKs that came with the campaign", i, name)
		}
		e.jdks = append(e.jdks, j)
	}
	workloads := make(map[string]*misstepv1.Workload, len(s.GetWorkloads()))
	for _, w := range s.GetWorkloads() {
		workloads[w.GetName()] = w
	}
	e.perJDK = uint64(len(e.instr) * len(e.sampling) * len(e.perturb))
	for i, cw := range c.GetWorkloads() {
		w, ok := workloads[cw.GetName()]
		if !ok {
			return nil, fmt.Errorf("workloads[%d].name: %q is not among the workloads that came with the campaign", i, cw.GetName())
		}
		b := block{workload: proto.CloneOf(w)}
		if len(cw.GetArguments()) > 0 {
			b.workload.Arguments = cw.GetArguments()
		}
		if cw.GetRepetitions() > 0 {
			b.workload.Repetitions = cw.GetRepetitions()
		}
		b.flags = flagSetsOf(c, cw)
		b.size = uint64(len(b.flags)*len(e.jdks)) * e.perJDK
		e.blocks = append(e.blocks, b)
		if e.size += b.size; e.size > maxCombinations {
			return nil, fmt.Errorf("the campaign has more than %d combinations", uint64(maxCombinations))
		}
	}
	if e.size == 0 {
		return nil, fmt.Errorf("campaign %q has no combination to run: it needs a JDK and a workload", c.GetName())
	}
	return e, nil
}

func flagSetsOf(c *misstepv1.Campaign, w *misstepv1.CampaignWorkload) []*misstepv1.FlagSet {
	if len(c.GetFlagSets()) == 0 {
		return []*misstepv1.FlagSet{{}}
	}
	if len(w.GetFlagSets()) == 0 {
		return c.GetFlagSets()
	}
	var out []*misstepv1.FlagSet
	for _, f := range c.GetFlagSets() {
		for _, name := range w.GetFlagSets() {
			if name == f.GetName() {
				out = append(out, f)
			}
		}
	}
	return out
}

// Size is the number of combinations.
func (e *Expansion) Size() uint64 { return e.size }

// Recipe returns the i-th trial's recipe, from 0: the same for the same campaign and i, always and everywhere. Its seed is
// drawn from the campaign's seed and i, so no two trials of a campaign repeat each other by accident.
func (e *Expansion) Recipe(i uint64) *misstepv1.Recipe {
	var k uint64
	if e.randomise {
		k, _ = bits.Mul64(draw(e.c.GetSeed(), streamChoice, i), e.size) // in [0, size)
	} else {
		// Each round has an order of its own: a campaign cut short in the middle of a round does not always miss the same.
		k = permute(i%e.size, e.size, draw(e.c.GetSeed(), streamOrder, i/e.size))
	}
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
	perturb := proto.CloneOf(e.perturb[pick(len(e.perturb))])
	sampling := proto.CloneOf(e.sampling[pick(len(e.sampling))])
	instr := proto.CloneOf(e.instr[pick(len(e.instr))])
	flags := bl.flags[pick(len(bl.flags))]
	jdk := e.jdks[pick(len(e.jdks))]
	r := &misstepv1.Recipe{
		Jdk:             proto.CloneOf(jdk),
		Workload:        proto.CloneOf(bl.workload),
		JvmFlags:        append([]string(nil), flags.GetFlags()...),
		Instrumentation: instr,
		Sampling:        sampling,
		Perturbation:    perturb,
		Limits:          proto.CloneOf(e.limits),
		Seed:            draw(e.c.GetSeed(), streamSeed, i),
		AgentDigest:     e.agent,
		FlagSet:         flags.GetName(),
	}
	for _, ch := range e.c.GetChecks() {
		r.Checks = append(r.Checks, proto.CloneOf(ch))
	}
	return r
}

// Limits that a campaign takes where it says nothing.
const (
	DefaultWallSeconds = 120
	DefaultMemoryMiB   = 4096
	DefaultOutputMiB   = 16
	DefaultDiskMiB     = 512
	DefaultStackDepth  = 1024
)

func withDefaults(l *misstepv1.Limits) *misstepv1.Limits {
	out := &misstepv1.Limits{}
	if l != nil {
		out = proto.CloneOf(l)
	}
	if out.GetWall().AsDuration() <= 0 {
		out.Wall = &durationpb.Duration{Seconds: DefaultWallSeconds}
	}
	for field, value := range map[*uint32]uint32{
		&out.MemoryMib: DefaultMemoryMiB, &out.OutputMib: DefaultOutputMiB, &out.DiskMib: DefaultDiskMiB, &out.StackDepth: DefaultStackDepth,
	} {
		if *field == 0 {
			*field = value
		}
	}
	return out
}

// Streams keep draws for different purposes apart.
const (
	streamSeed   = 0x73656564
	streamOrder  = 0x6f726465
	streamChoice = 0x63686f69
)

// draw is the i-th number of a stream: splitmix64 (Steele, Lea, Flood 2014) over the three, chained so that neither seeds nor
// indices that differ by one give related numbers.
func draw(seed, stream, i uint64) uint64 { return mix(mix(mix(seed)^stream) ^ i) }

func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// permute maps [0, n) onto itself by a permutation that the key chooses: four Feistel rounds over the smallest even number of
// bits that holds n, repeated until the value falls into the range (cycle walking: fewer than four repeats on average).
func permute(x, n, key uint64) uint64 {
	half := (bits.Len64(n-1) + 1) / 2
	if half == 0 {
		return 0
	}
	mask := uint64(1)<<half - 1
	for {
		l, r := x>>half, x&mask
		for round := range uint64(4) {
			l, r = r, l^(mix(key+round^mix(r))&mask)
		}
		if x = l<<half | r; x < n {
			return x
		}
	}
}
