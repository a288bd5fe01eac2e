// Command trees measures how fast the tree of a JDK reaches the caches of several hosts, through a coordinator and straight from a
// bucket, beside what loopback and disk do with the same bytes.
//
// Hosts are folders of this machine, all of which fetch at the same time, so that both ends share its processors and its disk.
package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"time"

	"misstep/bench"
	"misstep/corpus/tree"
	"misstep/deploy/jdk"
	"misstep/internal/testenv"
)

func main() { bench.Main("trees", run) }

// goal is the share of the slower one of loopback and disk.
const goal = 0.8

// hosts are the numbers of hosts that fetch at the same time.
var hosts = []int{1, 4, 8}

// ways are measured in turns, round by round.
var ways = []string{"disk", "loopback", "coordinator", "bucket"}

// rate is one measurement.
type rate struct {
	Way   string  `json:"way"`
	Hosts int     `json:"hosts"`
	Round int     `json:"round"`
	MiBs  float64 `json:"mib_per_second"` // of all hosts together
}

func run(ctx context.Context, stdout io.Writer) error {
	budget, err := bench.Budget(os.Getenv("BUDGET"))
	if err != nil {
		return err
	}
	start := time.Now()
	root := testenv.Root()
	dir := filepath.Join(root, "build", "bench", "trees")
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	from := filepath.Join(dir, "tree")
	m, name, err := subject(ctx, filepath.Join(root, "build", "home"), from)
	if err != nil {
		return err
	}
	b, err := newBench(ctx, dir, from, m)
	if err != nil {
		return err
	}
	defer b.close()
	ctx, cancel := context.WithDeadline(ctx, start.Add(budget))
	defer cancel()
	end := bench.Progress("trees", start.Add(budget))
	rates, rounds, err := b.measure(ctx, start.Add(budget))
	end()
	if err != nil {
		return err
	}
	report := bench.Report{
		Name: "trees", Date: start, Budget: budget,
		Reached: fmt.Sprintf("%d rounds with %s: %d files, %d MiB", rounds, name, b.files, m.Size()>>20),
		Rows:    rates,
	}
	table := bench.Table{Title: "MiB/s, all hosts together, median of the rounds", Columns: append([]string{"hosts"}, ways...)}
	for _, n := range hosts {
		row := []string{fmt.Sprint(n)}
		for _, way := range ways {
			row = append(row, bench.Figure(median(rates, way, n)))
		}
		table.Rows = append(table.Rows, row)
		limit := math.Min(median(rates, "disk", n), median(rates, "loopback", n))
		for _, way := range ways[2:] {
			report.Goals = append(report.Goals, bench.Goal{
				Name: fmt.Sprintf("%s to %d hosts, of disk or loopback", way, n), Goal: goal,
				Measured: median(rates, way, n) / limit, Unit: "times", AtLeast: true,
			})
		}
	}
	report.Tables = []bench.Table{table}
	return report.Finish(stdout, filepath.Join(root, "build", "bench"))
}

func median(rates []rate, way string, n int) float64 {
	var of []float64
	for _, r := range rates {
		if r.Way == way && r.Hosts == n {
			of = append(of, r.MiBs)
		}
	}
	return bench.Median(of)
}

// subject copies the tree of the oldest JDK from 17 on in the catalogue to dir, and returns its manifest and name.
func subject(ctx context.Context, home, dir string) (m tree.Manifest, name string, err error) {
	catalogue := jdk.Open(home)
	entries, err := catalogue.List()
	if err != nil {
		return m, "", err
	}
	sources, err := catalogue.Sources()
	if err != nil {
		return m, "", err
	}
	for _, e := range entries {
		for _, source := range sources {
			if m, err = tree.Open(ctx, source, e.Digest); e.Feature >= 17 && err == nil {
				return m, e.Name, tree.Fetch(ctx, source, e.Digest, dir)
			}
		}
	}
	return m, "", fmt.Errorf("no JDK from 17 on in %s: make catalogue", home)
}
