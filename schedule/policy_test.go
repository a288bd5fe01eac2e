package schedule

import (
	"bufio"
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/schedule/scheduletest"
)

// built compiles the policy for user space, once for all tests.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "misstep-policy-")
	if err != nil {
		return "", err
	}
	out := filepath.Join(dir, "policy")
	text, err := exec.Command("cc", "-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-fsanitize=undefined,address",
		"-fno-sanitize-recover=all",
		"test/policy.c", "-o", out).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, text)
	}
	return out, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := built(); err == nil {
		os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// policy runs the user-space policy and returns its lines.
func policy(t testing.TB, args ...string) []string {
	t.Helper()
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skipf("no C compiler: %v", err)
	}
	path, err := built()
	require.NoError(t, err)
	cmd := exec.Command(path, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "policy %v: %s", args, stderr.String())
	var lines []string
	for scanner := bufio.NewScanner(bytes.NewReader(out)); scanner.Scan(); {
		lines = append(lines, scanner.Text())
	}
	return lines
}

// knobs returns a perturbation's knobs as arguments of the user-space policy.
func knobs(t testing.TB, p Perturbation) []string {
	t.Helper()
	c, err := p.Config()
	require.NoError(t, err)
	k := c.Knobs
	args := []string{}
	for name, value := range map[string]uint64{
		"until":        uint64(k.Until),
		"delay_wakeup": k.DelayWakeup, "delay_expiry": k.DelayExpiry, "delay_min": k.DelayMin, "delay_max": k.DelayMax,
		"slice_short": k.SliceShort, "slice_min": k.SliceMin, "slice_max": k.SliceMax, "slice_long": k.SliceLong,
		"wait_max": k.WaitMax,
		"away":     k.Away, "away_min": k.AwayMin, "away_max": k.AwayMax,
		"away_sleep": k.AwaySleep, "away_family": k.AwayFamily,
		"window_share": k.WindowShare, "window_min": k.WindowMin, "window_max": k.WindowMax, "window_low": k.WindowLow,
		"target": k.Target,
		"order":  uint64(k.Order), "change_points": uint64(k.ChangePoints), "change_span": uint64(k.ChangeSpan),
	} {
		args = append(args, fmt.Sprintf("%s=%d", name, value))
	}
	for i, bias := range k.Bias {
		args = append(args, fmt.Sprintf("bias%d=%d", i, bias))
	}
	return args
}

type decision struct{ delay, slice, rank, marks uint64 }

func decide(t testing.TB, p Perturbation, path uint64, event Event, role Role, count int, elapsed, step uint64) []decision {
	t.Helper()
	args := []string{"decide"}
	for _, n := range []uint64{p.Seed, path, uint64(event), uint64(role), uint64(count), elapsed, step} {
		args = append(args, strconv.FormatUint(n, 10))
	}
	c, err := p.Config()
	require.NoError(t, err)
	args = append(args, fmt.Sprintf("from=%d", c.From), fmt.Sprintf("flags=%d", c.Flags))
	var all []decision
	for _, line := range policy(t, append(args, knobs(t, p)...)...) {
		var d decision
		_, err := fmt.Sscan(line, &d.delay, &d.slice, &d.rank, &d.marks)
		require.NoError(t, err)
		all = append(all, d)
	}
	require.Len(t, all, count)
	return all
}

// withKnobs returns the strategies whose knobs come from parameters; chaos draws them in the kernel.
func withKnobs() []Strategy {
	return slices.DeleteFunc(Strategies(), func(s Strategy) bool { return s.Name == "chaos" })
}

// extremes returns perturbations of a strategy with every parameter at its minimum, its default and its maximum.
func extremes(s Strategy, seed uint64) []Perturbation {
	low, high := map[string]float64{}, map[string]float64{}
	for _, p := range s.Parameters {
		low[p.Name], high[p.Name] = p.Min, p.Max
	}
	return []Perturbation{{s.Name, seed, low}, {s.Name, seed, nil}, {s.Name, seed, high}}
}

func TestDecisionsComeFromSeedThreadAndCounter(t *testing.T) {
	for _, s := range withKnobs() {
		t.Run(s.Name, func(t *testing.T) {
			p := Perturbation{Strategy: s.Name, Seed: 7}
			decisions := func(p Perturbation, path uint64) []decision {
				return slices.Concat(decide(t, p, path, EventWakeup, RoleGC, 1000, 0, 3e6),
					decide(t, p, path, EventExpiry, RoleGC, 2000, 0, 3e6))
			}
			first := decisions(p, 11)
			assert.True(t, slices.Equal(first, decisions(p, 11)), "the same point must give the same decision")
			if s.Name == "none" {
				return
			}
			other := p
			other.Seed++
			assert.False(t, slices.Equal(first, decisions(other, 11)), "another seed gives equal decisions: does "+
				"the strategy set any probability, share or order by default?")
			if s.Name != "roles" || slices.ContainsFunc(first, func(d decision) bool { return d.delay > 0 }) {
				assert.False(t, slices.Equal(first, decisions(p, 12)), "another thread gets equal decisions")
			}
		})
	}
}

// A confined perturbation decides as the whole one where it may, and leaves the rest alone.
func TestConfinedToAFewDecisions(t *testing.T) {
	const n = 400
	for _, s := range withKnobs() {
		if s.Name == "none" {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			of := func(parameters map[string]float64, role Role) []decision {
				return decide(t, Perturbation{s.Name, 7, parameters}, 11, EventExpiry, role, n, 0, 3e6)
			}
			whole := of(nil, RoleMutator)
			some := of(map[string]float64{"from": 100, "until": 250}, RoleMutator)
			assert.Equal(t, whole[100:250], some[100:250])
			alone := decision{slice: 20e6}
			for i := range n {
				switch {
				case i < 100:
					assert.Equal(t, decision{slice: whole[i].slice}, decision{some[i].delay, some[i].slice, some[i].rank, 0},
						"only slices before from")
				case i >= 250:
					assert.Equal(t, alone, some[i], "alone from until on")
				}
			}
			for _, d := range of(map[string]float64{"spare_gc": 1}, RoleGC) {
				assert.Equal(t, alone, d, "its role is spared")
			}
			assert.Equal(t, whole, of(map[string]float64{"spare_gc": 1, "spare_vm": 1}, RoleMutator), "others are not")
		})
	}
}

func TestBoundsHoldForAllParameters(t *testing.T) {
	const watchdog = 7e9 // MISSTEP_WATCHDOG_MS
	for _, s := range withKnobs() {
		t.Run(s.Name, func(t *testing.T) {
			for i, p := range extremes(s, 3) {
				for role := RoleSampler; role <= RoleMutator; role += 2 {
					for _, event := range []Event{EventWakeup, EventExpiry} {
						for _, d := range decide(t, p, uint64(role), event, role, 500, uint64(i)*1e9, 7777777) {
							require.LessOrEqual(t, d.delay+d.rank+d.slice, uint64(watchdog))
							require.LessOrEqual(t, d.delay, uint64(4e9))
							require.LessOrEqual(t, d.rank, uint64(1e9))
							require.GreaterOrEqual(t, d.slice, uint64(10e3))
							require.LessOrEqual(t, d.slice, uint64(100e6))
						}
					}
				}
			}
		})
	}
}

func TestNoneDoesNothing(t *testing.T) {
	for _, d := range decide(t, Perturbation{Strategy: "none", Seed: 9}, 5, EventWakeup, RoleMutator, 1000, 0, 1e6) {
		require.Equal(t, decision{slice: 20e6}, d)
	}
}

func TestDelaysAreDistributedAsDocumented(t *testing.T) {
	p := Perturbation{Strategy: "delay", Seed: 42, Parameters: map[string]float64{
		"probability": 0.2, "expiry": 0.05, "min_us": 100,
		"max_us": 10000,
	}}
	for event, expected := range map[Event]float64{EventStart: 0.2, EventWakeup: 0.2, EventExpiry: 0.05} {
		const n = 100000
		var delays []float64
		for _, d := range decide(t, p, 99, event, RoleMutator, n, 0, 1e6) {
			if d.delay > 0 {
				delays = append(delays, float64(d.delay))
				require.NotZero(t, d.marks&uint64(MarkDelayed))
				require.True(t, d.delay >= 100e3 && d.delay <= 10e6, "%d", d.delay)
			}
		}
		sigma := math.Sqrt(expected * (1 - expected) / n)
		assert.InDelta(t, expected, float64(len(delays))/n, 4*sigma, "share of delays at %v", event)
		assert.Less(t, scheduletest.Kolmogorov(delays, scheduletest.Octaves(100e3, 10e6)), scheduletest.Critical(len(delays)),
			"lengths at %v", event)
	}
}

func TestOctavesOverWideRanges(t *testing.T) {
	for _, r := range [][2]uint64{{1, 1 << 31}, {10000, 16000}, {1 << 20, 1 << 32}, {3, 5000}} {
		const n = 20000
		var draws []float64
		for _, line := range policy(t, "octaves", fmt.Sprint(r[0]), fmt.Sprint(r[1]), fmt.Sprint(n)) {
			x, err := strconv.ParseUint(line, 10, 64)
			require.NoError(t, err)
			require.True(t, x >= r[0] && x <= r[1], "%d in %v", x, r)
			draws = append(draws, float64(x))
		}
		if r[0] >= 1000 { // below, integers are too coarse for a continuous distribution
			assert.Less(t, scheduletest.Kolmogorov(draws, scheduletest.Octaves(float64(r[0]), float64(r[1]))),
				scheduletest.Critical(n), "%v", r)
		}
	}
	assert.Equal(t, []string{"7"}, policy(t, "octaves", "7", "7", "1"))
	assert.Equal(t, []string{"9"}, policy(t, "octaves", "9", "3", "1"), "an empty range yields its lower end")
}

func TestSlicesAreShortAsOftenAsAsked(t *testing.T) {
	p := Perturbation{Strategy: "slice", Seed: 5, Parameters: map[string]float64{"probability": 0.3, "min_us": 20, "max_us": 900}}
	const n = 50000
	var short []float64
	for _, d := range decide(t, p, 3, EventExpiry, RoleMutator, n, 0, 1e6) {
		if d.marks&uint64(MarkShort) != 0 {
			short = append(short, float64(d.slice))
		} else {
			require.Equal(t, uint64(5e6), d.slice)
		}
		require.Zero(t, d.delay)
	}
	assert.InDelta(t, 0.3, float64(len(short))/n, 4*math.Sqrt(0.3*0.7/n))
	assert.Less(t, scheduletest.Kolmogorov(short, scheduletest.Octaves(20e3, 900e3)), scheduletest.Critical(len(short)))
}

func TestPosDrawsAUniformRankEachTime(t *testing.T) {
	const n = 50000
	var ranks []float64
	for _, d := range decide(t, Perturbation{Strategy: "pos", Seed: 8}, 3, EventWakeup, RoleMutator, n, 0, 1e6) {
		ranks = append(ranks, float64(d.rank))
	}
	assert.Less(t, scheduletest.Kolmogorov(ranks, func(x float64) float64 { return x / 20e6 }), scheduletest.Critical(n))
}

func TestPctChangesPriorityAtItsChangePoints(t *testing.T) {
	const span, points, wait = 100, 3, 50e6
	p := Perturbation{Strategy: "pct", Seed: 21, Parameters: map[string]float64{"span": span, "change_points": points}}
	all := decide(t, p, 77, EventWakeup, RoleMutator, 50*span, 0, 1e6)
	rounds := map[uint64]bool{}
	for i := 0; i < len(all); i += span {
		round := all[i : i+span]
		changes := map[uint64]int{}
		low := false
		for _, d := range round {
			changes[d.rank]++
			if d.rank >= 0.75*wait {
				low = true
			} else {
				require.False(t, low, "after a change point the thread stays below all threads that have passed none")
				rounds[d.rank] = true
			}
		}
		require.LessOrEqual(t, len(changes), points+1)
		require.True(t, low, "each round has change points")
	}
	assert.Greater(t, len(rounds), 40, "each round draws a new priority")
}

func TestWindowsTakeTheirShareOfTime(t *testing.T) {
	p := Perturbation{Strategy: "starve", Seed: 13, Parameters: map[string]float64{"share": 0.2, "min_us": 1000, "max_us": 50000}}
	const n, step = 200000, 250000 // 50 s
	inside, lengths := 0, map[uint64]bool{}
	args := append([]string{"windows", "13", strconv.Itoa(n), strconv.Itoa(step)}, knobs(t, p)...)
	last := uint64(0)
	for _, line := range policy(t, args...) {
		var at, start, end, next, id uint64
		_, err := fmt.Sscan(line, &at, &start, &end, &next, &id)
		require.NoError(t, err)
		require.True(t, start < end && end <= next && at < next, line)
		require.True(t, end-start >= 1e6 && end-start <= 50e6, line)
		require.GreaterOrEqual(t, start, last, "windows are in the order of time")
		last = start
		lengths[end-start] = true
		if at >= start && at < end {
			inside++
		}
	}
	taken := float64(inside) / n
	assert.True(t, taken > 0.15 && taken <= 0.2, "no more than their share, and little less: %v", taken)
	assert.Greater(t, len(lengths), 100, "windows of many lengths")
}

func TestWindowsHoldTheirThreads(t *testing.T) {
	p := Perturbation{Strategy: "starve", Seed: 13, Parameters: map[string]float64{"low": 0.5}}
	const step = 100000
	args := append([]string{"windows", "13", "50000", strconv.Itoa(step)}, knobs(t, p)...)
	lines := policy(t, args...)
	held, passed := 0, 0
	for i, d := range decide(t, p, 4, EventWakeup, RoleMutator, 50000, 0, step) {
		var at, start, end, next, id uint64
		_, err := fmt.Sscan(lines[i], &at, &start, &end, &next, &id)
		require.NoError(t, err)
		switch {
		case d.delay > 0:
			require.True(t, at >= start && at < end, "held in a window only")
			require.Equal(t, end-at, d.delay, "to the window's end")
			require.NotZero(t, d.marks&uint64(MarkStarved))
			held++
		case at >= start && at < end:
			passed++
		default:
			require.LessOrEqual(t, at+d.slice, max(next, at+10000), "the thread has a decision before the next window")
		}
	}
	assert.InDelta(t, 0.5, float64(held)/float64(held+passed), 0.15)
}

func TestRolesAreFavouredAndHeldBack(t *testing.T) {
	p := Perturbation{Strategy: "roles", Seed: 1, Parameters: map[string]float64{"sampler": 1, "gc": -1, "compiler": -0.5}}
	share := func(r Role) (share float64, rank uint64) {
		delayed := 0
		for _, d := range decide(t, p, 5, EventWakeup, r, 10000, 0, 1e6) {
			if d.delay > 0 {
				delayed++
			}
			rank = d.rank
		}
		return float64(delayed) / 10000, rank
	}
	sampler, first := share(RoleSampler)
	gc, last := share(RoleGC)
	compiler, _ := share(RoleCompiler)
	mutator, between := share(RoleMutator)
	assert.Zero(t, sampler)
	assert.Zero(t, mutator)
	assert.InDelta(t, 1, gc, 0.001)
	assert.InDelta(t, 0.5, compiler, 0.02)
	assert.True(t, first < between && between < last, "%d %d %d", first, between, last)

	draws := map[string]bool{}
	for seed := range uint64(50) {
		c, err := Perturbation{Strategy: "roles", Seed: seed}.Config()
		require.NoError(t, err)
		draws[fmt.Sprint(c.Knobs.Bias)] = true
	}
	assert.Greater(t, len(draws), 30, "without parameters the seed draws the biases")
}

func TestChaosStaysInItsRanges(t *testing.T) {
	const epochs, cap, away = 2000, 10000000, 400000000
	on := map[string]int{}
	orders := map[uint64]int{}
	lines := policy(t, "chaos", "17", strconv.Itoa(cap), strconv.Itoa(away), strconv.Itoa(epochs))
	require.Len(t, lines, epochs)
	for _, line := range lines {
		k := map[string]int64{}
		for field := range strings.FieldsSeq(line) {
			name, text, _ := strings.Cut(field, "=")
			value, err := strconv.ParseInt(text, 10, 64)
			require.NoError(t, err)
			k[name] = value
		}
		require.True(t, 0 < k["delay_min"] && k["delay_min"] <= k["delay_max"] && k["delay_max"] <= cap, line)
		require.True(t, 10000 <= k["slice_min"] && k["slice_min"] < k["slice_max"] && k["slice_max"] <= 100e6, line)
		require.True(t, 1e6 <= k["wait_max"] && k["wait_max"] <= 50e6, line)
		require.True(t, k["window_min"] <= k["window_max"] && k["window_max"] <= 50e6, line)
		require.True(t, 1 <= k["change_points"] && k["change_points"] <= 4 && k["change_span"] >= 16, line)
		require.True(t, 1 <= k["order"] && k["order"] <= 4, line)
		require.True(t, 10000 <= k["away_min"] && k["away_min"] <= k["away_max"] && k["away_max"] == away, line)
		for _, name := range []string{"delay_wakeup", "slice_short", "window_share", "away", "away_sleep"} {
			require.True(t, 0 <= k[name] && k[name] <= 1<<32, line)
			if k[name] > 0 {
				on[name]++
			}
		}
		orders[uint64(k["order"])]++
	}
	for name, share := range map[string]float64{
		"delay_wakeup": 0.875, "slice_short": 0.875, "window_share": 0.125, "away": 0.25,
		"away_sleep": 0.75 + 0.25*0.25, // in the other epochs as after any wake-up
	} {
		assert.InDelta(t, share, float64(on[name])/epochs, 0.04, name)
	}
	for order, n := range orders {
		assert.InDelta(t, 0.25, float64(n)/epochs, 0.04, "order %d", order)
	}
	assert.Equal(t, lines, policy(t, "chaos", "17", strconv.Itoa(cap), strconv.Itoa(away), strconv.Itoa(epochs)))
	assert.NotEqual(t, lines, policy(t, "chaos", "18", strconv.Itoa(cap), strconv.Itoa(away), strconv.Itoa(epochs)))
}

func TestNoThreadWaitsUntilTheWatchdog(t *testing.T) {
	for _, s := range withKnobs() {
		t.Run(s.Name, func(t *testing.T) {
			for i, p := range extremes(s, 3) {
				for _, threads := range []string{"1", "7", "200"} { // the last one includes a hundred spinners
					var longest, beyond uint64
					lines := policy(t, append([]string{"simulate", "3", threads, "20000"}, knobs(t, p)...)...)
					_, err := fmt.Sscan(lines[0], &longest, &beyond)
					require.NoError(t, err)
					assert.Less(t, longest, uint64(7e9), "parameters %d, %s threads", i, threads)
				}
			}
		})
	}
}

func TestNoThreadWaitsLongUnderChaos(t *testing.T) {
	// Spinners and the threads that they wait for, whatever the seed and the longest delay: far below the watchdog's seven seconds.
	for seed := range 8 {
		for _, cap := range []string{"10000", "4000000", "2000000000"} {
			var longest, beyond uint64
			lines := policy(t, "simulate", strconv.Itoa(seed), "8", "3000", "chaos="+cap)
			_, err := fmt.Sscan(lines[0], &longest, &beyond)
			require.NoError(t, err)
			require.Less(t, longest, uint64(4e9), "seed %d, delays up to %s ns", seed, cap)
			require.Less(t, beyond, uint64(1e9), "seed %d: a thread that may run again does run, despite spinning threads", seed)
		}
	}
}

func TestPrioritiesLetASpinnersVictimRun(t *testing.T) {
	// Beyond its own delay a thread waits for no longer than wait_max and one slice of each other thread.
	for _, p := range []Perturbation{
		{"pct", 5, map[string]float64{"wait_max_us": 100000, "slice_us": 5000}},
		{"pos", 5, map[string]float64{"wait_max_us": 100000, "slice_us": 5000}},
		{"roles", 5, map[string]float64{"wait_max_us": 100000, "slice_us": 5000, "sampler": 1, "gc": -1}},
	} {
		var longest, beyond uint64
		lines := policy(t, append([]string{"simulate", "5", "8", "20000"}, knobs(t, p)...)...)
		_, err := fmt.Sscan(lines[0], &longest, &beyond)
		require.NoError(t, err)
		assert.LessOrEqual(t, beyond, uint64(100e6+8*5e6), p.Strategy)
		assert.Greater(t, beyond, uint64(5e6), "%s: spinners do pass others", p.Strategy)
	}
}

func TestChaosEpochsAreSpreadOverTheirOctaves(t *testing.T) {
	// Eight bins of equal probability, at a significance level of 0.001: chi-square with 7 degrees of freedom above 24.32.
	const epochs, bins = 4000, 8
	counts := make([]float64, bins)
	for _, line := range policy(t, "chaos", "23", "4000000", "0", strconv.Itoa(epochs)) {
		for field := range strings.FieldsSeq(line) {
			if text, found := strings.CutPrefix(field, "wait_max="); found {
				value, err := strconv.ParseFloat(text, 64)
				require.NoError(t, err)
				at := scheduletest.Octaves(1e6, 50e6)(value)
				counts[min(bins-1, int(at*bins))]++
			}
		}
	}
	chi := 0.0
	for _, n := range counts {
		chi += (n - epochs/bins) * (n - epochs/bins) / (epochs / bins)
	}
	assert.Less(t, chi, 24.32, "%v", counts)
}

func TestRolesByThreadName(t *testing.T) {
	want := map[string]Role{
		"GC Thread#0": RoleGC, "G1 Conc#0": RoleGC, "G1 Main Marker": RoleGC, "ZDriverMinor": RoleGC, "ZWorkerYoung#0": RoleGC,
		"Shenandoah GC Threads#1": RoleGC, "VM Thread": RoleVM, "VM Periodic Task Thread": RoleVM,
		"C2 CompilerThread0": RoleCompiler, "C1 CompilerThread0": RoleCompiler, "Signal Dispatcher": RoleVM,
		"Service Thread": RoleVM, "Monitor Deflation Thread": RoleVM, "Sweeper thread": RoleVM, "JFR Sampler Thread": RoleSampler,
		"JFR Thread Sampler": RoleSampler, "JFR Recorder Thread": RoleVM, "misstep-sampler": RoleSampler,
		"async-profiler": RoleSampler, "main": RoleMutator, "java": RoleMutator, "Thread-0": RoleMutator, "G": RoleMutator,
		"": RoleMutator, "ForkJoinPool.commonPool-worker-1": RoleMutator, "Generator": RoleMutator, "Zoo": RoleMutator,
	}
	var names []string
	for name := range want {
		names = append(names, name)
	}
	for i, line := range policy(t, append([]string{"roles"}, names...)...) {
		assert.Equal(t, fmt.Sprint(uint16(want[names[i]])), line, names[i])
	}
}
