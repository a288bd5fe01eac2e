package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Part is a part of a benchmark, with its share of the budget when all parts are measured.
type Part struct {
	Name    string
	Share   float64
	Measure func(ctx context.Context, until time.Time) error
}

// Measure measures the parts in order. only, the value of the environment variable PARTS, names those to measure, separated by
// commas, which then have the whole budget; empty means all.
func Measure(ctx context.Context, parts []Part, only string, budget time.Duration) error {
	if only != "" {
		names := strings.Split(only, ",")
		for _, name := range names {
			if !slices.ContainsFunc(parts, func(p Part) bool { return p.Name == name }) {
				var known []string
				for _, p := range parts {
					known = append(known, p.Name)
				}
				return fmt.Errorf("PARTS=%s: no part %q; there are %s", only, name, strings.Join(known, ", "))
			}
		}
		parts = slices.DeleteFunc(slices.Clone(parts), func(p Part) bool { return !slices.Contains(names, p.Name) })
	}
	var shares float64
	for _, p := range parts {
		shares += p.Share
	}
	until := time.Now()
	for _, p := range parts {
		until = until.Add(time.Duration(p.Share / shares * float64(budget)))
		end := Progress(p.Name, until)
		err := p.Measure(ctx, until)
		end()
		if err != nil {
			return err
		}
	}
	return nil
}
