package schedule

import (
	"math"
	"slices"
	"time"

	"misstep/internal/splitmix"
)

func probability(name, doc string, value float64) Parameter {
	return Parameter{Name: name, Doc: doc, Min: 0, Max: 1, Default: value}
}

func micros(name, doc string, low, high, value float64) Parameter {
	return Parameter{Name: name, Doc: doc, Unit: "µs", Min: low, Max: high, Default: value}
}

var (
	shortest  = micros("min_us", "shortest delay", 1, 2e6, 100)
	longest   = micros("max_us", "longest delay; each octave from the shortest on is equally likely", 1, 2e6, 10000)
	longSlice = micros("slice_us", "slice of a thread that does not block; at its end a decision is taken", 10, 100000, 5000)
)

func waitMax(value float64) Parameter {
	return micros("wait_max_us", "later threads pass a waiting thread for at most this long, so that a spinning thread does not "+
		"block the one it waits for forever", 100, 1e6, value)
}

func role(name, doc string) Parameter {
	return Parameter{Name: name, Doc: "bias of " + doc + ": 1 runs first, 0 neutral, -1 is delayed each time; all 0 draws every " +
		"role's bias from the seed", Min: -1, Max: 1}
}

var strategies = []Strategy{
	{
		Name: "none", kind: strategyNone,
		Doc:   "Perturbs nothing: first come, first served, and counted. The baseline.",
		apply: func(map[string]float64, uint64, *Config) {},
	},
	{
		Name: "delay", kind: strategyDelay,
		Doc: "Random delays when a thread wakes up and when its slice ends, so that threads which never block are touched, too.",
		Parameters: []Parameter{
			probability("probability", "of a delay at a wake-up", 0.2),
			probability("expiry", "probability of a delay at the end of a slice", 0.2),
			shortest, longest, longSlice,
		},
		apply: func(v map[string]float64, _ uint64, c *Config) {
			c.Knobs.DelayWakeup, c.Knobs.DelayExpiry = share(v["probability"]), share(v["expiry"])
			delays(v, c)
		},
	},
	{
		Name: "pct", kind: strategyPct,
		Doc: "Random priorities with a few change points (probabilistic concurrency testing), drawn for each thread over its own " +
			"decisions. The waiting thread of the highest priority runs, for as long as wait_max_us lets it pass the others.",
		Parameters: []Parameter{
			{
				Name: "change_points", Doc: "number of times that a thread falls below all others in a span (d - 1)", Max: 16,
				Default: 2, Whole: true,
			},
			{
				Name: "span", Doc: "own decisions over which change points are spread; then a new priority is drawn (k)", Min: 1,
				Max: 1e6, Default: 256, Whole: true,
			},
			waitMax(50000), longSlice,
		},
		apply: func(v map[string]float64, _ uint64, c *Config) {
			c.Knobs.Order = uint32(orderPct)
			c.Knobs.ChangePoints, c.Knobs.ChangeSpan = uint32(v["change_points"]), uint32(v["span"])
			ordered(v, c)
		},
	},
	{
		Name: "starve", kind: strategyStarve,
		Doc: "Starvation windows: for a while some of the threads do not run at all, even when a CPU is idle (after rr's chaos " +
			"mode).",
		Parameters: []Parameter{
			{Name: "share", Doc: "share of time in windows", Min: 0.01, Max: 0.5, Default: 0.2},
			probability("low", "share of threads that a window holds, different ones each time", 0.5),
			micros("min_us", "shortest window", 100, 2e6, 1000),
			micros("max_us", "longest window; each octave from the shortest on is equally likely", 100, 2e6, 100000),
			longSlice,
		},
		apply: func(v map[string]float64, _ uint64, c *Config) {
			c.Knobs.WindowShare, c.Knobs.WindowLow = share(v["share"]), share(v["low"])
			c.Knobs.WindowMin, c.Knobs.WindowMax = nanos(v["min_us"]), nanos(v["max_us"])
			c.Knobs.SliceLong = nanos(v["slice_us"])
		},
	},
	{
		Name: "pos", kind: strategyPos,
		Doc: "A new random priority at each decision (after partial order sampling), so that either of two racing threads may be " +
			"first.",
		Parameters: []Parameter{waitMax(20000), micros("slice_us", longSlice.Doc, 10, 100000, 2000)},
		apply: func(v map[string]float64, _ uint64, c *Config) {
			c.Knobs.Order = uint32(orderPos)
			ordered(v, c)
		},
	},
	{
		Name: "slice", kind: strategySlice,
		Doc: "Random short slices with forced preemption: a thread loses its CPU at points that delays at blocking operations " +
			"never reach.",
		Parameters: []Parameter{
			probability("probability", "that a slice is short", 0.5),
			micros("min_us", "shortest slice", 10, 100000, 50),
			micros("max_us", "longest short slice; each octave from the shortest on is equally likely", 10, 100000, 2000),
			longSlice,
		},
		apply: func(v map[string]float64, _ uint64, c *Config) {
			c.Knobs.SliceShort = share(v["probability"])
			c.Knobs.SliceMin, c.Knobs.SliceMax, c.Knobs.SliceLong = nanos(v["min_us"]), nanos(v["max_us"]), nanos(v["slice_us"])
		},
	},
	{
		Name: "roles", kind: strategyRoles,
		Doc: "Favours or delays the threads of a JVM by their role, which their names tell. Threads of other programs are " +
			"mutators.",
		Parameters: []Parameter{
			role("sampler", "profilers' samplers"), role("vm", "the VM's own threads"), role("gc", "the collector's threads"),
			role("compiler", "the JIT compilers' threads"), role("mutator", "all other threads"),
			shortest, longest, waitMax(20000), longSlice,
		},
		apply: func(v map[string]float64, seed uint64, c *Config) {
			c.Knobs.Order = uint32(orderRoles)
			drawn := true
			for _, name := range RoleNames[1:] {
				drawn = drawn && v[name] == 0
			}
			for i, name := range RoleNames {
				c.Knobs.Bias[i] = int32(math.Round(100 * v[name]))
				if drawn { // delayed, neutral or favoured
					c.Knobs.Bias[i] = int32(splitmix.Mix(seed+uint64(i))%3)*50 - 50
				}
			}
			delays(v, c)
			ordered(v, c)
		},
	},
	{
		Name: "chaos", kind: strategyChaos,
		Doc: "The default mix: slices of some microseconds, after which a thread is delayed while others run, delays at " +
			"wake-ups, absences of several times a thread's own period, an order of the waiting threads, and starvation " +
			"windows; in each epoch all strengths are drawn from the seed, and some mechanisms are off.",
		Parameters: []Parameter{
			micros("epoch_us", "time until all strengths are drawn again", 1000, 60e6, 5000),
			micros("max_delay_us", "longest delay", 10, 2e6, 4000),
			micros("max_away_us", "longest absence: 1 to 32 times as long as the thread usually sleeps, or as a period drawn for "+
				"the epoch; after a sleep that no thread ended mostly 1/2 to 2 times as long as its creators wait; 0 means none",
				0, 2e6, 400000),
		},
		apply: func(v map[string]float64, _ uint64, c *Config) {
			c.Epoch, c.DelayCap, c.AwayCap = nanos(v["epoch_us"]), nanos(v["max_delay_us"]), nanos(v["max_away_us"])
		},
	},
}

// bounds are the parameters of every strategy that perturbs that limit the decisions it may take. A reproducer is narrowed by them
// to the few decisions that matter.
var bounds = func() []Parameter {
	const most = 1<<32 - 1
	all := []Parameter{
		{
			Name: "from", Doc: "a thread's own decisions before this one only cut its run into slices", Max: most,
			Whole: true,
		},
		{
			Name: "until", Doc: "a thread is left alone from its own decision of this number on; 0 means never", Max: most,
			Whole: true,
		},
	}
	for _, role := range RoleNames[1:] {
		all = append(all, Parameter{Name: "spare_" + role, Doc: "1 leaves threads of role " + role + " alone", Max: 1, Whole: true})
	}
	return all
}()

func confine(v map[string]float64, c *Config) {
	c.From, c.Knobs.Until = uint32(v["from"]), uint32(v["until"])
	for i, role := range RoleNames {
		if v["spare_"+role] != 0 {
			c.Flags |= uint32(FlagSpare) << i
		}
	}
}

// Bounds returns the parameters that every strategy that perturbs has besides its own.
func Bounds() []Parameter { return slices.Clone(bounds) }

// All returns all parameters: the strategy's own, then the bounds that every strategy that perturbs has.
func (s Strategy) All() []Parameter {
	if len(s.Parameters) == 0 {
		return nil
	}
	return slices.Concat(s.Parameters, bounds)
}

func delays(v map[string]float64, c *Config) {
	c.Knobs.DelayMin, c.Knobs.DelayMax, c.Knobs.SliceLong = nanos(v["min_us"]), nanos(v["max_us"]), nanos(v["slice_us"])
}

func ordered(v map[string]float64, c *Config) {
	c.Knobs.WaitMax, c.Knobs.SliceLong = nanos(v["wait_max_us"]), nanos(v["slice_us"])
}

func share(x float64) uint64 { return uint64(math.Round(x * (1 << 32))) }

func nanos(us float64) uint64 { return uint64(math.Round(us * float64(time.Microsecond))) }

// Child is misstep_path of policy.h: it returns a thread's path from its parent's path and its ordinal among the parent's children.
func Child(parent, ordinal uint64) uint64 { return splitmix.Mix(splitmix.Mix(parent) + ordinal) }

// Strategies returns all strategies in the order in which they are explained.
func Strategies() []Strategy { return slices.Clone(strategies) }
