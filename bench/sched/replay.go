package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"misstep/bench"
	"misstep/bpf"
	"misstep/deploy/vm"
	"misstep/schedule"
)

const (
	againBoots = 20
	replays    = 5
	repeated   = 7 // seed of the machine that is booted again
	// This machine differs from those in which the bugs were found, so the same seeds take different times to hit them: a race has
	// so many times the iterations and seconds of a cell.
	againFactor = 10
)

// repetition is a machine with many programs that is booted repeatedly, and recorded.
type repetition struct {
	again, recording string // kinds of its entries
	fingerprint      string // of its entries
	races            []string
	cells            []cell // with which chaos may have hit them
}

// ofRaces is the machine with the races in C.
func (l *lab) ofRaces() repetition {
	return repetition{kindAgain, kindRecording, l.policy + l.build, racesC, cellsOf([]string{"chaos"})}
}

// shown returns, for each race that chaos has hit, the cell that hit it soonest, with more time. Once the first of the
// repeated boots is stored it returns that boot's cells, since another list would be another machine.
func (l *lab) shown(s *store, m repetition) (all []cell) {
	for _, e := range s.of(m.again, m.fingerprint) {
		if e.Boot == 1 {
			all = append(all, e.Result.cell)
		}
	}
	if len(all) > 0 {
		return all
	}
	for _, race := range m.races {
		var best *result
		for _, c := range m.cells {
			if r, ok := s.result(l, c); ok && c.Race == race && r.Found && (best == nil || r.Took < best.Took) {
				best = &r
			}
		}
		if best != nil && l.measures(race) {
			c := best.cell
			c.Iterations *= againFactor
			c.Seconds *= againFactor
			all = append(all, c)
		}
	}
	return all
}

// again boots the same machine with the same cells repeatedly; each boot runs all of them.
func (l *lab) again(ctx context.Context, s *store, m repetition) error {
	cells := l.shown(s, m)
	if len(cells) == 0 {
		return nil
	}
	for {
		n := 0
		for _, e := range s.of(m.again, m.fingerprint) {
			n = max(n, e.Boot)
		}
		if n >= againBoots {
			return nil
		}
		c, err := l.machine(cells, repeated)
		if err != nil {
			return err
		}
		var results []result
		err = boot(ctx, c, "cells", guestSelf, func(line []byte) error {
			var r result
			if err := json.Unmarshal(line, &r); err != nil {
				return fmt.Errorf("reading a result of the guest: %w: %.200q", err, line)
			}
			results = append(results, r)
			return nil
		})
		if err != nil {
			return err
		}
		for _, r := range results { // whole boots only
			if err := s.Add(entry{Kind: m.again, Fingerprint: m.fingerprint, Boot: n + 1, Result: &r}); err != nil {
				return err
			}
		}
	}
}

// recordings records one machine that runs all shown cells, and replays it.
func (l *lab) recordings(ctx context.Context, s *store, m repetition) error {
	cells := l.shown(s, m)
	n := len(s.of(m.recording, m.fingerprint))
	if len(cells) == 0 || n >= replays {
		return nil
	}
	c, err := l.machine(cells, repeated)
	if err != nil {
		return err
	}
	c.Record = filepath.Join(l.scratch, "recording")
	if err := boot(ctx, c, "cells", guestSelf, func([]byte) error { return nil }); err != nil {
		return err
	}
	for ; n < replays; n++ {
		_, err := vm.Replay(ctx, c.Record, vm.ReplayConfig{Limit: 24 * time.Hour}, io.Discard, io.Discard)
		if err != nil && !errors.Is(err, vm.ErrDeparted) {
			return err
		}
		if err := s.Add(entry{Kind: m.recording, Fingerprint: m.fingerprint, Boot: n + 1, Same: err == nil}); err != nil {
			return err
		}
	}
	return nil
}

// logTrial compares the ways to repeat a run of one race in real time.
type logTrial struct {
	Race string `json:"race"`
	// Found is the logged run that hit the bug; 0 iterations: none did.
	Found result `json:"found"`
	// Round is how many threads the race creates in each iteration.
	Round int `json:"round"`
	// Tries of each way, in turn.
	Tries int `json:"tries"`
	// Ways by name: runs that hit the bug, and the seconds of all runs.
	Ways map[string]wayOf `json:"ways"`
	// Places at which the replay of the log's last round stopped threads, and those of the log's end.
	Places []string `json:"places,omitempty"`
	Ending []string `json:"ending,omitempty"`
}

type wayOf struct {
	Hits    int     `json:"hits"`
	Seconds float64 `json:"seconds"`
}

// The ways to repeat a run: by the decisions of its log's last round in every round, with stops at its places, with stops at other
// places (to show the effect of breakpoints and holds by themselves), and without stops; by the log from its beginning, with stops
// at the places of its end, and without; by the seed.
const (
	wayRoundPlaces = "round, places"
	wayRoundOthers = "round, other places"
	wayRound       = "round"
	wayLogPlaces   = "log, places"
	wayLog         = "log"
	waySeed        = "seed"
)

var ways = []string{wayRoundPlaces, wayRoundOthers, wayRound, wayLogPlaces, wayLog, waySeed}

func (t *logTrial) add(o logTrial) {
	t.Tries += o.Tries
	if t.Ways == nil {
		t.Ways = map[string]wayOf{}
	}
	for name, w := range o.Ways {
		sum := t.Ways[name]
		t.Ways[name] = wayOf{sum.Hits + w.Hits, sum.Seconds + w.Seconds}
	}
}

// fill writes the hits into a row of the table, starting at its third column.
func (t *logTrial) fill(row []string) {
	for i, name := range ways {
		w := t.Ways[name]
		row[2+i] = fmt.Sprintf("%d of %d, %.2g s", w.Hits, t.Tries, w.Seconds/float64(t.Tries))
	}
}

// logGoal returns the goal for how much more often one way to repeat a run hits than another.
func logGoal(way, other string, all []entry) bench.Goal {
	var pairs [][2]int
	for _, e := range all {
		if e.Log.Tries > 0 {
			pairs = append(pairs, [2]int{e.Log.Ways[way].Hits, e.Log.Ways[other].Hits})
		}
	}
	factor, low, high := ratioOfHits(pairs)
	name := fmt.Sprintf("hit rate in real time by %s, over that by %s (%d recorded runs, 95 %%: %s to %s)", way, other, len(pairs),
		bench.Figure(low), bench.Figure(high))
	return bench.Goal{Name: name, Goal: 1.01, Measured: factor, Unit: "×", AtLeast: true}
}

const (
	logRuns  = 8 // number of runs with the bug that are repeated, for each race
	logTries = 6
	logSeeds = 60 // seeds that are tried until one hits the bug, within so many iterations and seconds
	// Few iterations: a repeated run has as many as the original took, and in hundreds of iterations most runs would hit the bug
	// anyway.
	logIterations = 50
	logSeconds    = 20
)

// logs compares replays of logs with runs of the same seed in a machine of real time.
func (l *lab) logs(ctx context.Context, s *store) error {
	done := map[string]int{}
	for _, e := range s.of(kindLog, l.replays) {
		done[e.Log.Race]++
	}
	var cells []cell
	for n := range logRuns {
		for _, race := range racesC {
			if done[race] <= n && l.measures(race) {
				cells = append(cells, cell{race, "chaos", firstSeed + uint64(n*logSeeds), logIterations, logSeconds})
			}
		}
	}
	if len(cells) == 0 {
		return nil
	}
	path := filepath.Join(l.scratch, "logs.json")
	text, err := json.Marshal(cells)
	if err == nil {
		err = os.WriteFile(path, text, 0o644)
	}
	if err != nil {
		return fmt.Errorf("writing the cells: %w", err)
	}
	c := vm.Config{
		Mode: vm.ModeShared, Home: l.home, Root: true, Limit: 24 * time.Hour, Dir: "/",
		Env: []string{racesVariable + "=" + l.races, cellsVariable + "=" + path},
	}
	return boot(ctx, c, "logs", l.self, func(line []byte) error {
		var t logTrial
		if err := json.Unmarshal(line, &t); err != nil {
			return fmt.Errorf("reading a result of the guest: %w: %.200q", err, line)
		}
		return s.Add(entry{Kind: kindLog, Fingerprint: l.replays, Log: &t})
	})
}

// guestLogs searches for a run that hits each race and repeats it in all ways in turn.
func guestLogs(ctx context.Context) error {
	cells, err := readCells()
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	for _, c := range cells {
		t, err := repeat(ctx, c)
		if err != nil {
			return fmt.Errorf("%s: %w", c.Race, err)
		}
		if err := out.Encode(t); err != nil {
			return fmt.Errorf("writing a result: %w", err)
		}
	}
	return nil
}

func repeat(ctx context.Context, c cell) (logTrial, error) {
	t := logTrial{Race: c.Race}
	var recorded *schedule.Log
	for range logSeeds {
		p := schedule.Perturbation{Strategy: c.Strategy, Seed: c.Seed}
		var file bytes.Buffer
		log, err := schedule.NewLogWriter(&file, schedule.Header{Perturbation: p, FixedAddresses: true, Command: c.command()})
		if err != nil {
			return t, err
		}
		r := runOurs(ctx, c, bpf.Options{Perturbation: p, FixedAddresses: true, Log: log})
		if r.Trouble != "" {
			return t, errors.New(r.Trouble)
		}
		if r.Found {
			if recorded, err = schedule.ReadLog(&file); err != nil {
				return t, err
			}
			t.Found = r
			break
		}
		c.Seed++
	}
	if recorded == nil {
		return t, nil
	}
	c.Iterations = t.Found.Ran
	t.Round = threadsOfIteration(recorded, t.Found.Ran)
	replays, err := replaysOf(recorded, t.Round, c.Seed)
	if err != nil {
		return t, err
	}
	t.Ways = map[string]wayOf{}
	for try := range logTries {
		for i := range ways {
			way := ways[(i+try)%len(ways)]
			o := replays[way]
			o.Perturbation, o.FixedAddresses = schedule.Perturbation{Strategy: c.Strategy, Seed: c.Seed}, true
			r := runOurs(ctx, c, o)
			if r.Trouble != "" {
				return t, errors.New(r.Trouble)
			}
			w := t.Ways[way]
			w.Seconds += r.Took
			if r.Found {
				w.Hits++
			}
			t.Ways[way] = w
			switch way {
			case wayRoundPlaces:
				t.Places = r.Places
			case wayLogPlaces:
				t.Ending = r.Places
			}
		}
		t.Tries++
	}
	return t, nil
}

// replaysOf returns each way's options except the perturbation.
func replaysOf(recorded *schedule.Log, round int, seed uint64) (map[string]bpf.Options, error) {
	last, err := recorded.Stops(round)
	if err != nil {
		return nil, err
	}
	ending, err := recorded.Stops(0)
	if err != nil {
		return nil, err
	}
	last, ending = schedule.Choose(last, schedule.MaxPlaces), schedule.Choose(ending, schedule.MaxPlaces)
	return map[string]bpf.Options{
		wayRoundPlaces: {Replay: recorded, Round: round, Stops: last},
		wayRoundOthers: {Replay: recorded, Round: round, Stops: elsewhere(recorded, last, seed)},
		wayRound:       {Replay: recorded, Round: round},
		wayLogPlaces:   {Replay: recorded, Stops: ending},
		wayLog:         {Replay: recorded},
		waySeed:        {},
	}, nil
}

// elsewhere moves stops to places that are equally rare in the log and not near another stop.
func elsewhere(l *schedule.Log, stops []schedule.Stop, seed uint64) (moved []schedule.Stop) {
	count := map[uint64]int{}
	for _, d := range l.Decisions {
		if d.Event == schedule.EventExpiry && d.Place != 0 {
			count[d.Place]++
		}
	}
	const apart = 64 // bytes: certainly another place
	var others []uint64
	for place, n := range count {
		near := func(s schedule.Stop) bool { return max(s.Place, place)-min(s.Place, place) <= apart }
		if n <= 3 && !slices.ContainsFunc(stops, near) {
			others = append(others, place)
		}
	}
	slices.Sort(others)
	random := rand.New(rand.NewPCG(seed, 0))
	random.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
	at := map[uint64]uint64{}
	for _, s := range stops {
		if _, known := at[s.Place]; !known {
			if len(at) == len(others) {
				break
			}
			at[s.Place] = others[len(at)]
		}
		s.Place = at[s.Place]
		moved = append(moved, s)
	}
	return moved
}

// threadsOfIteration returns how many threads a race's first thread created in each iteration; the last iteration may be
// incomplete.
func threadsOfIteration(l *schedule.Log, iterations int) int {
	created := map[uint64]int{}
	most := 0
	for _, t := range l.Threads {
		created[t.Delay]++
		if t.Delay != 0 { // the race's process
			most = max(most, created[t.Delay])
		}
	}
	return max(1, int(math.Round(float64(most)/float64(iterations))))
}
