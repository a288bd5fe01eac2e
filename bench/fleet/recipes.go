package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"misstep/bench"
	"misstep/coordinator/campaign"
	"misstep/internal/testenv"
	misstepv1 "misstep/proto/misstep/v1"
)

// What trials are like: those of other cells, or with recipes and outcomes of campaigns/hunt.yaml.
const (
	trialsSynthetic = "synthetic"
	trialsOfHunt    = "hunt"
)

const (
	// recipesRunners is the fleet with which recipes are compared, recipesSize that of the campaigns.
	recipesRunners = 1000
	recipesSize    = uint64(200_000)
	// recipesRounds is how often each cell is measured, in turn.
	recipesRounds = 3
)

// huntSubmission is the campaign of campaigns/hunt.yaml with a number of trials, on builds that are named as real ones are.
func huntSubmission(trials uint64) *misstepv1.SubmitCampaignRequest {
	file := filepath.Join(testenv.Root(), "campaigns", "hunt.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		panic(err) // this program runs in its repository
	}
	c, err := campaign.Load(text, file)
	if err != nil {
		panic(err) // a test loads it
	}
	c.Budget = &misstepv1.Budget{Trials: trials}
	r := &misstepv1.SubmitCampaignRequest{Campaign: c}
	digest := func(n int) string { return "sha256:" + strings.Repeat(fmt.Sprintf("%02x", n), 32) }
	for i, name := range c.GetJdks() {
		r.Jdks = append(r.Jdks, &misstepv1.Jdk{
			Name: name, Digest: digest(i), Version: "OpenJDK 64-Bit Server VM (" + name[3:] + ".0.15+6-Debian-1deb12u1) for " +
				"linux-amd64 JRE (" + name[3:] + ".0.15+6-Debian-1deb12u1), built on May  1 2025 09:21:09 with gcc 12.2.0",
		})
	}
	for i, w := range c.GetWorkloads() {
		r.Workloads = append(r.Workloads, &misstepv1.Workload{Name: w.GetName(), Digest: digest(100 + i)})
	}
	return r
}

// measureRecipes measures recipes and outcomes of a hunt beside the synthetic ones, and an earlier version beside this one, if
// there is one: one after the other, again and again.
func (r *results) measureRecipes(ctx context.Context, dir string, until time.Time) error {
	r.until = until
	all, remove, err := databases(ctx, dir, r.options.stores)
	if err != nil {
		return err
	}
	defer remove()
	for round := range recipesRounds {
		for _, db := range all {
			if db.volatile() {
				continue
			}
			cells := r.recipesCells(db)
			if round%2 == 1 {
				slices.Reverse(cells)
			}
			for _, c := range cells {
				r.planned++
				if err := r.add(ctx, db, c); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (r *results) recipesCells(db database) (cells []cell) {
	for _, trials := range []string{trialsSynthetic, trialsOfHunt} {
		for _, before := range []bool{true, false} {
			if before && r.options.before == "" {
				continue
			}
			cells = append(cells, cell{
				Store: db.name, Coordinators: 1, Runners: recipesRunners, Size: recipesSize, Trials: trials, Before: before,
			})
		}
	}
	return cells
}

// kind says in words what is particular about a cell.
func (c *cell) kind() string {
	if c.Before {
		return strings.TrimSpace(c.Trials + " before")
	}
	return c.Trials
}

// recipesGoals compare medians.
func (r *results) recipesGoals() []bench.Goal {
	of := func(store string, before bool, value func(cell) float64) float64 {
		var all []float64
		for _, c := range r.of(func(c cell) bool { return c.Store == store && c.Trials == trialsOfHunt && c.Before == before }) {
			all = append(all, value(c))
		}
		return median(all)
	}
	rate := func(c cell) float64 { return c.PerSecond }
	calls := func(c cell) float64 { return 1 / c.CPU.Seconds() }
	var goals []bench.Goal
	for _, store := range r.stores() {
		if math.IsNaN(of(store, false, rate)) || r.options.before == "" {
			continue
		}
		goals = append(goals,
			bench.Goal{
				Name: store + ": rate with recipes of a hunt, of before", Goal: 1.5, AtLeast: true,
				Measured: of(store, false, rate) / of(store, true, rate),
			},
			bench.Goal{
				Name: store + ": calls of a hunt for the coordinator's processor time, of before", Goal: 1.5, AtLeast: true,
				Measured: of(store, false, calls) / of(store, true, calls),
			})
	}
	if on := of("postgres", false, rate); !math.IsNaN(on) {
		goals = append(goals, bench.Goal{
			Name: "rate with recipes of a hunt, PostgreSQL of SQLite", Goal: 0.9, AtLeast: true,
			Measured: on / of("sqlite", false, rate),
		})
	}
	return goals
}

// median of numbers; NaN without any.
func median(all []float64) float64 {
	if len(all) == 0 {
		return math.NaN()
	}
	all = slices.Sorted(slices.Values(all))
	return (all[(len(all)-1)/2] + all[len(all)/2]) / 2
}
