// Package bpf runs a program under a sched_ext scheduler that perturbs the order of its threads from a seed, and replays what it did.
package bpf

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Parameter of a strategy.
type Parameter struct {
	// Name as in --param NAME=VALUE and in a recipe.
	Name string
	// Doc says in one line what it does.
	Doc string
	// Unit: "µs", or "" for shares, probabilities and counts.
	Unit string
	// Min, Max and Default values, in Unit.
	Min, Max, Default float64
	// Whole numbers only.
	Whole bool
}

// Range in words, with the unit: "[1, 2000000] µs".
func (p Parameter) Range() string {
	return strings.TrimSpace(fmt.Sprintf("[%s, %s] %s", number(p.Min), number(p.Max), p.Unit))
}

func number(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// Strategy of perturbation.
type Strategy struct {
	// Name as in --strategy NAME and in a recipe.
	Name string
	// Doc explains it in a few lines.
	Doc string
	// Parameters in the order of their explanation, its own. Bounds come on top of them.
	Parameters []Parameter

	kind  schedMisstepStrategy
	apply func(v map[string]float64, seed uint64, c *schedMisstepConfig)
}

// Perturbation is a strategy with its seed and the parameters that differ from the defaults.
type Perturbation struct {
	Strategy   string             `json:"strategy"`
	Seed       uint64             `json:"seed"`
	Parameters map[string]float64 `json:"parameters,omitempty"`
}

func probability(name, doc string, value float64) Parameter {
	return Parameter{Name: name, Doc: doc, Min: 0, Max: 1, Default: value}
}

func micros(name, doc string, low, high, value float64) Parameter {
	return Parameter{Name: name, Doc: doc, Unit: "µs", Min: low, Max: high, Default: value}
}

var (
	shortest = micros("min_us", "shortest delay", 1, 2e6, 100)
	longest  = micros("max_us", "longest delay; each octave from the shortest on is equally likely", 1, 2e6, 10000)
	turn     = micros("slice_us", "slice of a thread that does not block; at its end it comes to a decision", 10, 100000, 5000)
)

func waitMax(value float64) Parameter {
	return micros("wait_max_us", "a waiting thread is passed by later ones for at most this long, so that no spinner holds up for ever the one it waits for",
		100, 1e6, value)
}

func role(name, doc string) Parameter {
	return Parameter{Name: name, Doc: "bias of " + doc + ": 1 runs first, 0 neutral, -1 is delayed each time; all 0 draws every role's bias from the seed", Min: -1, Max: 1}
}

var strategies = []Strategy{
	{
		Name: "none", kind: schedMisstepStrategyMISSTEP_STRATEGY_NONE,
		Doc:   "Perturbs nothing: first come, first served, and counted. The baseline.",
		apply: func(map[string]float64, uint64, *schedMisstepConfig) {},
	},
	{
		Name: "delay", kind: schedMisstepStrategyMISSTEP_STRATEGY_DELAY,
		Doc: "Random delays when a thread wakes up and when its slice ends, so that threads which never block are touched, too.",
		Parameters: []Parameter{
			probability("probability", "of a delay at a wake-up", 0.2), probability("expiry", "probability of a delay at the end of a slice", 0.2),
			shortest, longest, turn,
		},
		apply: func(v map[string]float64, _ uint64, c *schedMisstepConfig) {
			c.Knobs.DelayWakeup, c.Knobs.DelayExpiry = share(v["probability"]), share(v["expiry"])
			delays(v, c)
		},
	},
	{
		Name: "pct", kind: schedMisstepStrategyMISSTEP_STRATEGY_PCT,
		Doc: "Random priorities with a few change points (probabilistic concurrency testing), drawn for each thread over its own decisions. " +
			"The waiting thread of the highest priority runs, for as long as wait_max_us lets it pass the others.",
		Parameters: []Parameter{
			{Name: "change_points", Doc: "times that a thread falls below all others in a span (d - 1)", Max: 16, Default: 2, Whole: true},
			{Name: "span", Doc: "own decisions over which change points are spread; then the priority is drawn anew (k)", Min: 1, Max: 1e6, Default: 256, Whole: true},
			waitMax(50000), turn,
		},
		apply: func(v map[string]float64, _ uint64, c *schedMisstepConfig) {
			c.Knobs.Order = uint32(schedMisstepOrderMISSTEP_ORDER_PCT)
			c.Knobs.ChangePoints, c.Knobs.ChangeSpan = uint32(v["change_points"]), uint32(v["span"])
			ordered(v, c)
		},
	},
	{
		Name: "starve", kind: schedMisstepStrategyMISSTEP_STRATEGY_STARVE,
		Doc: "Starvation windows: for a while a part of the threads does not run at all, even when a CPU is idle (after rr's chaos mode).",
		Parameters: []Parameter{
			{Name: "share", Doc: "of time that is in windows", Min: 0.01, Max: 0.5, Default: 0.2},
			probability("low", "share of threads that a window holds, others each time", 0.5),
			micros("min_us", "shortest window", 100, 2e6, 1000),
			micros("max_us", "longest window; each octave from the shortest on is equally likely", 100, 2e6, 100000),
			turn,
		},
		apply: func(v map[string]float64, _ uint64, c *schedMisstepConfig) {
			c.Knobs.WindowShare, c.Knobs.WindowLow = share(v["share"]), share(v["low"])
			c.Knobs.WindowMin, c.Knobs.WindowMax = nanos(v["min_us"]), nanos(v["max_us"])
			c.Knobs.SliceLong = nanos(v["slice_us"])
		},
	},
	{
		Name: "pos", kind: schedMisstepStrategyMISSTEP_STRATEGY_POS,
		Doc:        "A new random priority at each decision (after partial order sampling), so that of two threads that race either may come first.",
		Parameters: []Parameter{waitMax(20000), micros("slice_us", turn.Doc, 10, 100000, 2000)},
		apply: func(v map[string]float64, _ uint64, c *schedMisstepConfig) {
			c.Knobs.Order = uint32(schedMisstepOrderMISSTEP_ORDER_POS)
			ordered(v, c)
		},
	},
	{
		Name: "slice", kind: schedMisstepStrategyMISSTEP_STRATEGY_SLICE,
		Doc: "Random short slices, ended by force: a thread loses its CPU in mid-run, where delays at blocking operations never reach.",
		Parameters: []Parameter{
			probability("probability", "that a slice is short", 0.5),
			micros("min_us", "shortest slice", 10, 100000, 50),
			micros("max_us", "longest short slice; each octave from the shortest on is equally likely", 10, 100000, 2000),
			turn,
		},
		apply: func(v map[string]float64, _ uint64, c *schedMisstepConfig) {
			c.Knobs.SliceShort = share(v["probability"])
			c.Knobs.SliceMin, c.Knobs.SliceMax, c.Knobs.SliceLong = nanos(v["min_us"]), nanos(v["max_us"]), nanos(v["slice_us"])
		},
	},
	{
		Name: "roles", kind: schedMisstepStrategyMISSTEP_STRATEGY_ROLES,
		Doc: "Favours or holds back the threads of a JVM by what they are, told from their names. Threads of other programs are mutators.",
		Parameters: []Parameter{
			role("sampler", "profilers' samplers"), role("vm", "the VM's own threads"), role("gc", "the collector's threads"),
			role("compiler", "the JIT compilers' threads"), role("mutator", "all other threads"),
			shortest, longest, waitMax(20000), turn,
		},
		apply: func(v map[string]float64, seed uint64, c *schedMisstepConfig) {
			c.Knobs.Order = uint32(schedMisstepOrderMISSTEP_ORDER_ROLES)
			drawn := true
			for _, name := range roleNames[1:] {
				drawn = drawn && v[name] == 0
			}
			for i, name := range roleNames {
				c.Knobs.Bias[i] = int32(math.Round(100 * v[name]))
				if drawn { // one of held back, neutral, favoured
					c.Knobs.Bias[i] = int32(mix(seed+uint64(i))%3)*50 - 50
				}
			}
			delays(v, c)
			ordered(v, c)
		},
	},
	{
		Name: "chaos", kind: schedMisstepStrategyMISSTEP_STRATEGY_CHAOS,
		Doc: "The default mix: slices of some microseconds, after which a thread is held back while others run, delays at wake-ups, an order of the waiting, " +
			"and starvation windows; in each epoch all strengths are drawn from the seed, and some are off.",
		Parameters: []Parameter{
			micros("epoch_us", "time until all is drawn anew", 1000, 60e6, 5000),
			micros("max_delay_us", "longest delay", 10, 2e6, 4000),
		},
		apply: func(v map[string]float64, _ uint64, c *schedMisstepConfig) {
			c.Epoch, c.DelayCap = nanos(v["epoch_us"]), nanos(v["max_delay_us"])
		},
	},
}

// bounds are parameters of every strategy that perturbs: which decisions it may take at all. A reproducer is narrowed by them to the few that matter.
var bounds = func() []Parameter {
	const most = 1<<32 - 1
	all := []Parameter{
		{Name: "from", Doc: "own decisions of a thread before this one cut its run into slices and do no more", Max: most, Whole: true},
		{Name: "until", Doc: "from this own decision on a thread is left alone; 0 is never", Max: most, Whole: true},
	}
	for _, role := range roleNames[1:] {
		all = append(all, Parameter{Name: "spare_" + role, Doc: "1 leaves threads of role " + role + " alone", Max: 1, Whole: true})
	}
	return all
}()

func confine(v map[string]float64, c *schedMisstepConfig) {
	c.From, c.Knobs.Until = uint32(v["from"]), uint32(v["until"])
	for i, role := range roleNames {
		if v["spare_"+role] != 0 {
			c.Flags |= uint32(schedMisstepFlagMISSTEP_FLAG_SPARE) << i
		}
	}
}

// All parameters: the strategy's own, then the bounds that every strategy that perturbs has.
func (s Strategy) All() []Parameter {
	if len(s.Parameters) == 0 {
		return nil
	}
	return slices.Concat(s.Parameters, bounds)
}

func delays(v map[string]float64, c *schedMisstepConfig) {
	c.Knobs.DelayMin, c.Knobs.DelayMax, c.Knobs.SliceLong = nanos(v["min_us"]), nanos(v["max_us"]), nanos(v["slice_us"])
}

func ordered(v map[string]float64, c *schedMisstepConfig) {
	c.Knobs.WaitMax, c.Knobs.SliceLong = nanos(v["wait_max_us"]), nanos(v["slice_us"])
}

func share(x float64) uint64 { return uint64(math.Round(x * (1 << 32))) }

func nanos(us float64) uint64 { return uint64(math.Round(us * float64(time.Microsecond))) }

// mix is misstep_mix of policy.h.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// child is misstep_path of policy.h: the path of a thread by its parent's and its place among what that created.
func child(parent, ordinal uint64) uint64 { return mix(mix(parent) + ordinal) }

// Strategies lists all strategies in the order of their explanation.
func Strategies() []Strategy { return slices.Clone(strategies) }

// ErrInvalid is wrapped by errors about a strategy or a parameter that is not known or out of its range.
var ErrInvalid = errors.New("invalid perturbation")

// Validate says what is wrong with a perturbation, or nil. The error names the parameter and its range.
func (p Perturbation) Validate() error {
	_, err := p.config()
	return err
}

func (p Perturbation) config() (schedMisstepConfig, error) {
	i := slices.IndexFunc(strategies, func(s Strategy) bool { return s.Name == p.Strategy })
	if i < 0 {
		var names []string
		for _, s := range strategies {
			names = append(names, s.Name)
		}
		return schedMisstepConfig{}, fmt.Errorf("%w: no strategy %q; there are %s", ErrInvalid, p.Strategy, strings.Join(names, ", "))
	}
	s := strategies[i]
	values := map[string]float64{}
	parameters := s.All()
	for _, parameter := range parameters {
		values[parameter.Name] = parameter.Default
	}
	for _, name := range slices.Sorted(maps.Keys(p.Parameters)) {
		value := p.Parameters[name]
		j := slices.IndexFunc(parameters, func(x Parameter) bool { return x.Name == name })
		switch {
		case j < 0 && len(parameters) == 0:
			return schedMisstepConfig{}, fmt.Errorf("%w: strategy %s has no parameters, not %q either", ErrInvalid, s.Name, name)
		case j < 0:
			return schedMisstepConfig{}, fmt.Errorf("%w: strategy %s has no parameter %q; it has %s", ErrInvalid, s.Name, name, names(parameters))
		case math.IsNaN(value) || value < parameters[j].Min || value > parameters[j].Max:
			return schedMisstepConfig{}, fmt.Errorf("%w: %s %s = %s is not in %s", ErrInvalid, s.Name, name, number(value), parameters[j].Range())
		case parameters[j].Whole && value != math.Trunc(value):
			return schedMisstepConfig{}, fmt.Errorf("%w: %s %s = %v is not a whole number", ErrInvalid, s.Name, name, value)
		}
		values[name] = value
	}
	if low, high := values["min_us"], values["max_us"]; low > high {
		return schedMisstepConfig{}, fmt.Errorf("%w: %s min_us = %v is above max_us = %v", ErrInvalid, s.Name, low, high)
	}
	if from, until := values["from"], values["until"]; until != 0 && from >= until {
		return schedMisstepConfig{}, fmt.Errorf("%w: %s from = %s leaves no decision before until = %s", ErrInvalid, s.Name, number(from), number(until))
	}
	c := schedMisstepConfig{Seed: p.Seed, Strategy: uint32(s.kind)}
	c.Knobs.Order = uint32(schedMisstepOrderMISSTEP_ORDER_FIFO)
	c.Knobs.Target = 1 << 32
	c.Knobs.SliceLong = nanos(20000)
	s.apply(values, p.Seed, &c)
	confine(values, &c)
	return c, nil
}

func names(parameters []Parameter) string {
	var all []string
	for _, p := range parameters {
		all = append(all, p.Name)
	}
	return strings.Join(all, ", ")
}
