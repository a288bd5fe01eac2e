package main

import (
	"fmt"
	"math"

	"misstep/bench"
)

// stormGoals are those of each fleet that storms have hit.
func (r *results) stormGoals() (goals []bench.Goal) {
	for _, f := range r.Fleets {
		name := fmt.Sprintf("%s, storms on %d runners: ", f.Store, f.Runners)
		worst := func(of func(hit) float64) float64 {
			most := math.NaN()
			for _, h := range r.Hits {
				if h.Store == f.Store && h.Runners == f.Runners && (math.IsNaN(most) || of(h) > most) {
					most = of(h)
				}
			}
			return most
		}
		goals = append(goals,
			bench.Goal{
				Name: name + "without a result beyond the outage", Goal: 1, Unit: "s",
				Measured: worst(func(h hit) float64 { return h.Beyond }),
			},
			bench.Goal{
				Name: name + "rate back, of twice the storm", Goal: 1,
				Measured: worst(func(h hit) float64 { return h.RateBack / h.Patience }),
			},
			bench.Goal{
				Name: name + "p99 back, of twice the storm", Goal: 1,
				Measured: worst(func(h hit) float64 { return h.P99Back / h.Patience }),
			},
			bench.Goal{Name: name + "lost", Measured: float64(f.Lost), Unit: "results"},
			bench.Goal{Name: name + "doubled", Measured: float64(f.Doubled), Unit: "results"},
			bench.Goal{Name: name + "longest SIGTERM", Goal: 5, Measured: f.SIGTERM, Unit: "s"})
	}
	return goals
}

func (r *results) stormTables() []bench.Table {
	if len(r.Hits) == 0 {
		return nil
	}
	t := bench.Table{Title: "Storms (seconds)", Columns: []string{
		"store", "coordinators", "runners", "storm", "lease", "length", "results a second", "longest without", "beyond the outage",
		"rate back", "p99 before", "p99 back", "expected within", "results of those back",
	}}
	tenths := func(x float64) string { return fmt.Sprintf("%.1f", x) }
	for _, h := range r.Hits {
		t.Rows = append(t.Rows, []string{
			h.Store, fmt.Sprint(h.Coordinators), fmt.Sprint(h.Runners), h.Storm, tenths(h.LeaseSeconds), tenths(h.LengthSeconds),
			bench.Figure(math.Round(h.Before)), tenths(h.Silence), tenths(h.Beyond), tenths(h.RateBack),
			fmt.Sprintf("%.3f", h.P99Before), tenths(h.P99Back), tenths(h.Patience), fmt.Sprint(h.Returned),
		})
	}
	f := bench.Table{Title: "After all storms", Columns: []string{
		"store", "coordinators", "runners", "acknowledged", "recorded", "late", "lost", "doubled", "SIGTERM s", "MiB", "load",
	}}
	for _, h := range r.Fleets {
		f.Rows = append(f.Rows, []string{
			h.Store, fmt.Sprint(h.Coordinators), fmt.Sprint(h.Runners), fmt.Sprint(h.Acknowledged), fmt.Sprint(h.Recorded),
			fmt.Sprint(h.Late), fmt.Sprint(h.Lost), fmt.Sprint(h.Doubled), tenths(h.SIGTERM), bench.Figure(math.Round(h.Memory)),
			h.Load,
		})
	}
	return []bench.Table{t, f}
}
