package explain

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"misstep/schedule"
)

// Title says what ran under which perturbation.
func (x *Explanation) Title() string {
	command := "a program"
	if words := slices.Clone(x.Header.Command); len(words) > 0 {
		words[0] = filepath.Base(words[0])
		command = middle(schedule.Printable(strings.Join(words, " ")), 80)
	}
	return fmt.Sprintf("%s: strategy %s, seed %d", command, x.Header.Strategy, x.Header.Seed)
}

// middle leaves out what is in the middle of a long text: a Java program's name is near the end of its command.
func middle(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:most/4]) + "…" + string(r[len(r)-most+most/4+1:])
}

// Subtitle says how much the log has.
func (x *Explanation) Subtitle() string {
	return fmt.Sprintf("%d threads, %d decisions in %s; times are relative to %s after the start", x.Threads, x.Decisions,
		Short(x.End), Short(x.Moment))
}

// Verdict says what happened at the moment.
func (x *Explanation) Verdict() string {
	switch {
	case x.Standstill > 0:
		text := fmt.Sprintf("Standstill: hardly anything ran for %s", Short(x.Standstill))
		if away := x.away(); len(away) > 0 {
			text += ", as long as a decision kept " + strings.Join(away, " and ") + " away"
		}
		if len(x.Silent) > 0 {
			return text + ". Blocked meanwhile:"
		}
		return text + "."
	case len(x.Silent) > 0:
		return "Threads that worked and then were blocked until they ended, or to the log's end:"
	}
	if x.Ended != "" {
		return fmt.Sprintf("No thread fell silent. Explained is what came before %s ended, the last one before the program did%s.",
			x.Ended, x.turns())
	}
	return "No thread fell silent: the log's end is explained."
}

// away returns the threads that were kept away throughout the standstill: it is no hang then.
func (x *Explanation) away() (labels []string) {
	for _, a := range x.Mattered {
		if x.timeline.Threads[a.Thread].works() && a.To >= x.Moment+x.Standstill*9/10 {
			labels = append(labels, a.Label)
		}
	}
	return labels
}

// Silences says since when the silent threads were blocked.
func (x *Explanation) Silences() (all []string) {
	for i, s := range x.Silent {
		if i == mostListed {
			return append(all, fmt.Sprintf("and %d more", len(x.Silent)-mostListed))
		}
		since := x.Relative(s.Since)
		if since == "0" {
			since = "then"
		}
		all = append(all, fmt.Sprintf("%s since %s, for %s", s.Label, since, Short(s.For)))
	}
	return all
}

// Remarks says what the log lacks, and how its perturbation was confined.
func (x *Explanation) Remarks() (all []string) {
	if !x.Runs {
		all = append(all, "The log does not say when threads ran nor who woke them: it is one of the agent, or of an older "+
			"version. Record it again with misstep sched run --log.")
	}
	if x.Cut {
		all = append(all, fmt.Sprintf("The log was cut short at offset %d: it is explained as far as it reaches, which is not the "+
			"end of the run.", x.CutAt))
	}
	if x.Lost > 0 {
		all = append(all, fmt.Sprintf("%d records were lost when the log was recorded: threads may have run where it shows them "+
			"waiting.", x.Lost))
	}
	var bounds []string
	for _, name := range []string{"from", "until"} {
		if v, confined := x.Header.Parameters[name]; confined {
			bounds = append(bounds, fmt.Sprintf("%s=%g", name, v))
		}
	}
	if len(bounds) > 0 {
		all = append(all, "The perturbation was confined to "+strings.Join(bounds, ", ")+
			" of each thread's decisions: those listed here are all that is left of it.")
	}
	return all
}

// Relative formats a time as its distance to the moment.
func (x *Explanation) Relative(at time.Duration) string {
	switch d := at - x.Moment; {
	case d < 0:
		return "−" + Short(-d)
	case d > 0:
		return "+" + Short(d)
	}
	return "0"
}
