// Package bench holds what the project's benchmarks share: a time budget, goals, and a report as tables and as JSON.
//
// A benchmark is a program bench/NAME, run by make bench-NAME. It stops when its budget is used up and reports how far it got; a
// goal that it missed or never measured is reported as not met.
package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// DefaultBudget is the time that a benchmark may take if BUDGET is not set.
const DefaultBudget = 15 * time.Minute

// Budget parses the value of the environment variable BUDGET, a duration such as "15m"; an empty one means DefaultBudget.
func Budget(text string) (time.Duration, error) {
	if text == "" {
		return DefaultBudget, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("BUDGET=%s: expected a duration above 0, such as 90s, 15m or 2h", text)
	}
	return d, nil
}

// Goal is one promised figure with the measured one.
type Goal struct {
	Name string
	// Goal and Measured in Unit. Measured is NaN, null in JSON, if the budget did not suffice.
	Goal, Measured float64
	Unit           string
	// AtLeast: the goal is a lower bound; otherwise an upper one.
	AtLeast bool
}

// Met reports whether the measured figure meets the goal. A goal that was not measured is not met.
func (g Goal) Met() bool {
	if g.AtLeast {
		return g.Measured >= g.Goal
	}
	return g.Measured <= g.Goal
}

// MarshalJSON returns {name, goal, measured, unit, at_least, met}.
func (g Goal) MarshalJSON() ([]byte, error) {
	var measured *float64
	if !math.IsNaN(g.Measured) && !math.IsInf(g.Measured, 0) {
		measured = &g.Measured
	}
	return json.Marshal(struct {
		Name     string   `json:"name"`
		Goal     float64  `json:"goal"`
		Measured *float64 `json:"measured"`
		Unit     string   `json:"unit"`
		AtLeast  bool     `json:"at_least"`
		Met      bool     `json:"met"`
	}{g.Name, g.Goal, measured, g.Unit, g.AtLeast, g.Met()})
}

// Table is one printed part of a report. Rows have as many cells as there are columns.
type Table struct {
	Title   string
	Columns []string
	Rows    [][]string
}

// Report is the result of one benchmark.
type Report struct {
	// Name of the benchmark and of its file.
	Name string
	// Date when it started.
	Date time.Time
	// Budget that it had, and what it Reached within it, in words.
	Budget  time.Duration
	Reached string
	Goals   []Goal
	Tables  []Table
	// Rows are the figures in machine-readable form: any JSON value.
	Rows any
}

// Print writes the report's tables, the goals last.
func (r Report) Print(w io.Writer) error {
	fmt.Fprintf(w, "%s, %s, on %s\n", r.Name, r.Date.UTC().Format(time.RFC3339), Machine())
	for _, t := range append(append([]Table(nil), r.Tables...), goalTable(r.Goals)) {
		fmt.Fprintf(w, "\n%s\n", t.Title)
		tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(tw, strings.Join(t.Columns, "\t"))
		for _, row := range t.Rows {
			fmt.Fprintln(tw, strings.Join(row, "\t"))
		}
		if err := tw.Flush(); err != nil {
			return fmt.Errorf("print the report: %w", err)
		}
	}
	_, err := fmt.Fprintf(w, "\nbudget %s: %s\n", r.Budget, r.Reached)
	return err
}

func goalTable(goals []Goal) Table {
	t := Table{Title: "goals", Columns: []string{"goal", "promised", "measured", "unit", "met"}}
	for _, g := range goals {
		sign, measured, met := "≤ ", "not reached", "NO"
		if g.AtLeast {
			sign = "≥ "
		}
		if !math.IsNaN(g.Measured) {
			measured = Figure(g.Measured)
		}
		if g.Met() {
			met = "yes"
		}
		t.Rows = append(t.Rows, []string{g.Name, sign + Figure(g.Goal), measured, g.Unit, met})
	}
	return t
}

// Write writes the report to dir/NAME.json atomically.
func (r Report) Write(dir string) error {
	if r.Name == "" || strings.ContainsAny(r.Name, `/\.`) {
		return fmt.Errorf("write the report: %q is not a benchmark's name: it is empty or contains a slash, a backslash or a dot",
			r.Name)
	}
	goals := r.Goals
	if goals == nil {
		goals = []Goal{}
	}
	data, err := json.MarshalIndent(struct {
		Name    string    `json:"name"`
		Date    time.Time `json:"date"`
		Machine string    `json:"machine"`
		Budget  string    `json:"budget"`
		Reached string    `json:"reached"`
		Goals   []Goal    `json:"goals"`
		Rows    any       `json:"rows"`
	}{r.Name, r.Date.UTC(), Machine(), r.Budget.String(), r.Reached, goals, r.Rows}, "", "  ")
	if err != nil {
		return fmt.Errorf("write the report of %s: %w", r.Name, err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("write the report of %s: %w", r.Name, err)
	}
	path := filepath.Join(dir, r.Name+".json")
	if err := os.WriteFile(path+".part", append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("write the report of %s: %w", r.Name, err)
	}
	if err := os.Rename(path+".part", path); err != nil {
		return fmt.Errorf("write the report of %s: %w", r.Name, err)
	}
	return nil
}

// Finish prints the report to w and writes its JSON below dir. A missed goal is not an error: it is reported.
func (r Report) Finish(w io.Writer, dir string) error {
	return errors.Join(r.Print(w), r.Write(dir))
}

// Figure formats a number with three significant digits, integers and numbers from 1000 on with all digits; "-" for NaN.
func Figure(v float64) string {
	if math.IsNaN(v) {
		return "-"
	}
	if math.Abs(v) >= 1000 || v == math.Trunc(v) {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// Machine describes this machine in a few words: processors, memory, kernel and load.
func Machine() string {
	model := runtime.GOARCH
	if data, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if name := field(string(data), "model name"); name != "" {
			model = name
		}
	}
	words := []string{fmt.Sprintf("%d × %s", runtime.NumCPU(), model)}
	if data, err := os.ReadFile("/proc/meminfo"); err == nil {
		if kib, err := strconv.ParseUint(strings.TrimSuffix(field(string(data), "MemTotal"), " kB"), 10, 64); err == nil {
			words = append(words, fmt.Sprintf("%d GiB", kib>>20))
		}
	}
	if data, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		words = append(words, "Linux "+strings.TrimSpace(string(data)))
	}
	if data, err := os.ReadFile("/proc/loadavg"); err == nil {
		if load, _, ok := strings.Cut(string(data), " "); ok {
			words = append(words, "load "+load)
		}
	}
	return strings.Join(words, ", ")
}

// field returns the value of the first line "key : value" of a file in /proc.
func field(text, key string) string {
	for line := range strings.Lines(text) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return ""
}
