package reports

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"misstep/deploy/jdk"
	"misstep/triage/triagetest"
)

// Tools that print threads.
const (
	bySignal = "SIGQUIT"
	byJstack = "jstack"
	byJcmd   = "jcmd"
	byJSON   = "JSON"
	byAgent  = "jhsdb"
)

// run is one JVM to be started.
type run struct {
	cause
	jdk jdk.Entry
	// stripped: the VM has no symbols.
	stripped bool
	// mode is an index into modes, for causes whose reports depend on it.
	mode int
	// tool that prints the threads of a hang.
	tool string
	// number tells runs apart that are alike.
	number int
}

// name is unique among runs.
func (r run) name() string {
	parts := []string{r.cause.name, r.jdk.Name}
	if r.compiled {
		parts = append(parts, modes[r.mode].name)
	}
	if r.stripped {
		parts = append(parts, "no symbols")
	}
	if r.tool != "" {
		parts = append(parts, r.tool)
	}
	return fmt.Sprintf("%s, run %d", strings.Join(parts, ", "), r.number)
}

// report returns the run's report, without its text.
func (r run) report() triagetest.Report {
	out := triagetest.Report{Name: r.name(), Kind: r.kind, JDK: r.jdk.Name, Held: r.held}
	for name := range strings.SplitSeq(r.cause.name, "+") {
		name = r.kind + ": " + name
		alike := []string{name}
		if r.compiled {
			alike = append(alike, modes[r.mode].name)
		}
		if r.inVM {
			alike = append(alike, r.jdk.Name)
			if r.stripped {
				alike = append(alike, "no symbols")
			}
		}
		if r.byVersion {
			alike = append(alike, r.jdk.Name)
		}
		if r.tool == byJSON { // it says less of locks than a dump of text, and each version something else
			alike = append(alike, r.jdk.Name, byJSON)
		}
		bug := name
		if r.bug != "" {
			bug = r.kind + ": " + r.bug
		}
		out.Causes = append(out.Causes, bug)
		out.Alike = append(out.Alike, strings.Join(alike, ", "))
	}
	return out
}

// features of the JDKs under test, one build of each.
var features = []int{8, 11, 17, 21, 25, 28}

// plan lists the runs of one round, by cause. Every cause is planted on every JDK at least once; what else is varied is spread over
// the JDKs, so that a round stays short.
func plan(jdks []jdk.Entry, round int) (all []run) {
	for i, c := range slices.Concat(crashes(), hangs()) {
		for k, j := range jdks {
			if j.Feature < c.oldest || c.newest != 0 && j.Feature > c.newest {
				continue
			}
			r := run{cause: c, jdk: j, mode: i % len(modes), number: 2*round + 1}
			second := r
			second.number++
			odd := (i+k+round)%2 == 1
			if c.kind == triagetest.KindHang {
				r.tool, second.tool = []string{bySignal, byJstack, byJcmd}[(i+k+round)%3], bySignal
				if c.byAgent && j.Feature >= 9 { // before, its dumps have no names
					second.tool = byAgent
				}
				one := !strings.Contains(c.name, "+") // if no deadlock is named, several at once are one hang
				if j.Feature >= 21 && (odd && one || c.jsonOnly) {
					r.tool = byJSON
					if c.jsonOnly {
						second.tool = byJSON
					}
				}
			}
			all = append(all, r)
			switch {
			case c.kind == triagetest.KindCrash && odd:
				second.stripped = true
				all = append(all, second)
				if c.inVM { // a pair that must be alike
					second.number++
					all = append(all, second)
				}
			case c.inVM || odd || c.jsonOnly || c.byAgent:
				all = append(all, second)
			}
			if c.compiled && odd {
				second.stripped, second.mode = false, (i+1)%len(modes)
				all = append(all, second)
			}
		}
	}
	return all
}

// builds returns one build of each feature version.
func builds(jdks []jdk.Entry) (all []jdk.Entry) {
	for _, f := range features {
		of := slices.DeleteFunc(slices.Clone(jdks), func(j jdk.Entry) bool { return j.Feature != f })
		if len(of) > 0 {
			all = append(all, slices.MinFunc(of, func(a, b jdk.Entry) int { return cmp.Compare(a.Name, b.Name) }))
		}
	}
	return all
}

// sorted iterates over a map in the order of its keys.
func sorted[V any](m map[string]V) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			if !yield(k, m[k]) {
				return
			}
		}
	}
}
