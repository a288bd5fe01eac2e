package main

import (
	"fmt"
	"math"
	"slices"

	"misstep/bench"
	"misstep/schedule"
	"misstep/workloads/races"
)

func otherStrategies() (names []string) {
	for _, s := range schedule.Strategies() {
		if !slices.Contains(periodicStrategies, s.Name) {
			names = append(names, s.Name)
		}
	}
	return names
}

// figure holds the results of a race under a strategy.
type figure struct {
	Race     string `json:"race"`
	Strategy string `json:"strategy"`
	Runs     int    `json:"runs"`
	Found    int    `json:"found"`
	Troubles int    `json:"troubles"`
	// Iterations in all runs together.
	Total int `json:"total_iterations"`
	// Medians with their intervals; an unknown median is at least the given value.
	Iterations estimate `json:"iterations"`
	Seconds    estimate `json:"seconds"`
	// Sooner is the probability of a difference from scx_chaos such as the observed one if there were none (log-rank test by
	// permutation, on seconds).
	Sooner *float64 `json:"p_sooner_than_scx_chaos,omitempty"`

	iterations, seconds []span
}

type estimate struct {
	Median float64  `json:"median"`
	Known  bool     `json:"known"`
	Low    float64  `json:"low"`
	High   *float64 `json:"high"` // nil: no upper end
}

func estimateOf(spans []span) estimate {
	e := estimate{}
	e.Median, e.Known = median(spans)
	low, high := medianInterval(spans)
	e.Low = low
	if !math.IsInf(high, 1) {
		e.High = &high
	}
	return e
}

func (e estimate) String() string {
	sign, high := "", "∞"
	if !e.Known {
		sign = "> "
	}
	if e.High != nil {
		high = bench.Figure(*e.High)
	}
	return fmt.Sprintf("%s%s [%s, %s]", sign, bench.Figure(e.Median), bench.Figure(e.Low), high)
}

func figureOf(l *lab, s *store, race, strategy string) (figure, bool) {
	f := figure{Race: race, Strategy: strategy}
	for _, c := range slices.Concat(allCells([]string{strategy}), libraryCells([]string{strategy})) {
		if c.Race != race {
			continue
		}
		r, ok := s.result(l, c)
		switch {
		case !ok:
		case r.Trouble != "":
			f.Troubles++
		default:
			f.Runs++
			f.Total += r.Ran
			if r.Found {
				f.Found++
			}
			f.iterations = append(f.iterations, span{float64(r.Ran), r.Found})
			f.seconds = append(f.seconds, span{r.Took, r.Found})
		}
	}
	if f.Runs == 0 {
		return f, f.Troubles > 0
	}
	f.Iterations, f.Seconds = estimateOf(f.iterations), estimateOf(f.seconds)
	return f, true
}

// report builds tables and goals from all entries of the store for the current scheduler.
func report(l *lab, s *store) bench.Report {
	r := bench.Report{Name: "sched"}
	table := bench.Table{
		Title: fmt.Sprintf("time to the bug in virtual time: medians with intervals of 95 %% (runs end after %d iterations or "+
			"%d s, those of periodic races %d s)", cellIterations, cellSeconds, periodicSeconds),
		Columns: []string{"race", "strategy", "found", "iterations", "virtual seconds", "p (sooner than scx_chaos)"},
	}
	figures := map[[2]string]figure{}
	var rows []figure
	for _, race := range slices.Concat(racesC, racesJava, periodicC, periodicJava) {
		peer, _ := figureOf(l, s, race, scxChaos)
		for _, strategy := range slices.Concat(periodicStrategies, otherStrategies()) {
			f, ok := figureOf(l, s, race, strategy)
			if !ok {
				continue
			}
			p := ""
			if strategy != scxChaos && len(peer.seconds) > 0 && len(f.seconds) > 0 {
				x := sooner(f.seconds, peer.seconds)
				f.Sooner = &x
				p = bench.Figure(x)
			}
			found := fmt.Sprintf("%d of %d", f.Found, f.Runs)
			if f.Troubles > 0 {
				found += fmt.Sprintf(" (%d failed)", f.Troubles)
			}
			if f.Runs == 0 {
				table.Rows = append(table.Rows, []string{race, strategy, found, "", "", ""})
			} else {
				table.Rows = append(table.Rows, []string{race, strategy, found, f.Iterations.String(), f.Seconds.String(), p})
			}
			figures[[2]string{race, strategy}] = f
			rows = append(rows, f)
		}
	}
	r.Tables = append(r.Tables, table)
	r.Goals = append(r.Goals, timeGoals(figures)...)
	r.Goals = append(r.Goals, periodicGoals(figures)...)
	overhead, costs := overheadGoals(l, s)
	r.Tables = append(r.Tables, overhead)
	r.Goals = append(r.Goals, costs...)
	replay, again := replayGoals(l, s)
	r.Tables = append(r.Tables, replay)
	r.Goals = append(r.Goals, again...)
	libraries, bugs := libraryGoals(l, s)
	r.Tables = append(r.Tables, libraries)
	r.Goals = append(r.Goals, bugs...)
	r.Goals = append(r.Goals, runGoals(l, s)...)
	samples, forks := jcstressGoals(l, s)
	r.Tables = append(r.Tables, samples)
	r.Goals = append(r.Goals, forks...)
	r.Rows = struct {
		Figures []figure `json:"figures"`
		Entries []entry  `json:"entries"`
	}{rows, s.Entries}
	return r
}

func timeGoals(figures map[[2]string]figure) []bench.Goal {
	measured, every, quiet, runs := 0, 0, 0, 0
	iterations, seconds, compared := 0.0, 0.0, 0
	for _, race := range slices.Concat(racesC, racesJava) {
		chaos, none, peer := figures[[2]string{race, "chaos"}], figures[[2]string{race, "none"}], figures[[2]string{race, scxChaos}]
		if chaos.Runs > 0 {
			measured++
			if chaos.Found > 0 {
				every++
			}
		}
		runs += none.Runs
		quiet += none.Found
		// An unknown median of chaos gives no ratio; an unknown one of scx_chaos gives a lower bound.
		if chaos.Runs > 0 && peer.Runs > 0 && chaos.Iterations.Known && chaos.Seconds.Known {
			compared++
			iterations += math.Log(atLeast(peer.iterations) / chaos.Iterations.Median)
			seconds += math.Log(atLeast(peer.seconds) / max(chaos.Seconds.Median, 1e-6))
		}
	}
	all := float64(len(racesC) + len(racesJava))
	mean := func(sum float64) float64 {
		if compared == 0 {
			return math.NaN()
		}
		return math.Exp(sum / float64(compared))
	}
	under := math.NaN()
	if runs > 0 {
		under = float64(quiet)
	}
	return []bench.Goal{
		{Name: "planted bugs measured under chaos", Goal: 12, Measured: float64(measured), Unit: "races", AtLeast: true},
		{Name: "planted bugs that chaos finds", Goal: all, Measured: float64(every), Unit: "races", AtLeast: true},
		{Name: fmt.Sprintf("bugs found in %d runs under none", runs), Goal: 0, Measured: under, Unit: "bugs"},
		{
			Name: fmt.Sprintf("chaos sooner than scx_chaos, at least (geometric mean of %d races)", compared), Goal: 10,
			Measured: mean(iterations), Unit: "× iterations", AtLeast: true,
		},
		{
			Name: fmt.Sprintf("chaos sooner than scx_chaos, at least (geometric mean of %d races)", compared), Goal: 10,
			Measured: mean(seconds), Unit: "× seconds", AtLeast: true,
		},
	}
}

// periodicGoals are about the races that were judged on: those that chaos hits with nine of ten seeds, and the races together.
func periodicGoals(figures map[[2]string]figure) (goals []bench.Goal) {
	of := map[races.Set]float64{races.Tune: 0, races.Judge: 0}
	complete := map[races.Set]bool{races.Tune: true, races.Judge: true}
	runs, quiet := 0, 0
	for _, race := range races.Periodic {
		f := figures[[2]string{race.Name, "chaos"}]
		if f.Runs < seeds {
			complete[race.Set] = false
		}
		if 10*f.Found >= 9*seeds {
			of[race.Set]++
		}
		none := figures[[2]string{race.Name, "none"}]
		runs, quiet = runs+none.Runs, quiet+none.Found
	}
	for _, set := range []races.Set{races.Judge, races.Tune} {
		hit := of[set]
		if !complete[set] {
			hit = math.NaN() // the table has what was measured
		}
		goals = append(goals, bench.Goal{
			Name: fmt.Sprintf("periodic races to %s on that chaos hits with 9 of 10 seeds within %d s", set, periodicSeconds),
			Goal: 8, Measured: hit, Unit: "races", AtLeast: true,
		})
	}
	under := math.NaN()
	if runs > 0 {
		under = float64(quiet)
	}
	return append(goals, bench.Goal{
		Name: fmt.Sprintf("periodic bugs found in %d runs under none", runs), Goal: 0, Measured: under, Unit: "bugs",
	})
}

func overheadGoals(l *lab, s *store) (t bench.Table, goals []bench.Goal) {
	t = bench.Table{
		Title:   "overhead of an attached scheduler that perturbs nothing",
		Columns: []string{"program", "kernel's own", "attached", "overhead"},
	}
	for _, x := range loads {
		var times [2][]float64
		for _, e := range s.of(kindOverhead, l.policy) {
			if e.Overhead.Name == x.name {
				i := 0
				if e.Overhead.Attached {
					i = 1
				}
				times[i] = append(times[i], e.Overhead.Seconds)
			}
		}
		without, with := bench.Median(times[0]), bench.Median(times[1])
		cost := 100 * (with/without - 1)
		if len(times[1]) > 0 {
			t.Rows = append(t.Rows, []string{x.name, bench.Figure(without) + " s", bench.Figure(with) + " s", bench.Figure(cost) +
				" %"})
		}
		goals = append(goals, bench.Goal{Name: "overhead, " + x.name, Goal: 3, Measured: cost, Unit: "%"})
	}
	return t, goals
}

func replayGoals(l *lab, s *store) (t bench.Table, goals []bench.Goal) {
	t = bench.Table{Title: "the same run again", Columns: append([]string{"race", "same seed, deterministic"}, ways...)}
	boots, least, alike, of := 0, math.NaN(), 0, 0
	var all logTrial
	for _, race := range racesC {
		shown, same, n := s.repeated(l.ofRaces(), race)
		boots = max(boots, n)
		row := make([]string, 2+len(ways))
		row[0] = race
		if n > 0 {
			row[1] = fmt.Sprintf("%d of %d, %d alike", shown, n, same)
			alike, of = alike+same, of+n
			if share := 20 * float64(shown) / float64(n); !(share >= least) { // true for the first one as well
				least = share
			}
		}
		var of logTrial
		for _, e := range s.of(kindLog, l.replays) {
			if e.Log.Race == race {
				of.add(*e.Log)
			}
		}
		if of.Tries > 0 {
			of.fill(row)
			all.add(of)
		}
		if row[1]+row[2] != "" {
			t.Rows = append(t.Rows, row)
		}
	}
	if boots < againBoots {
		least = math.NaN() // incomplete: the table has the figures
	}
	identical := s.identical(l.ofRaces())
	if all.Tries > 0 {
		row := make([]string, 2+len(ways))
		row[0] = "all, in real time"
		all.fill(row)
		t.Rows = append(t.Rows, row)
	}
	return t, []bench.Goal{
		{Name: "the same seed shows each bug again, of 20", Goal: 20, Measured: least, Unit: "runs", AtLeast: true},
		{
			Name: fmt.Sprintf("of these runs, alike to the nanosecond, of %d", of), Goal: 1, Measured: float64(alike) / float64(of),
			Unit: "of 1", AtLeast: true,
		},
		{Name: "a recording replays identically, of 5", Goal: 5, Measured: identical, Unit: "replays", AtLeast: true},
		logGoal(wayRoundPlaces, waySeed, s.of(kindLog, l.replays)),
		logGoal(wayRoundPlaces, wayRound, s.of(kindLog, l.replays)),
		logGoal(wayRoundPlaces, wayRoundOthers, s.of(kindLog, l.replays)),
		logGoal(wayLogPlaces, waySeed, s.of(kindLog, l.replays)),
		logGoal(wayLogPlaces, wayLog, s.of(kindLog, l.replays)),
	}
}
