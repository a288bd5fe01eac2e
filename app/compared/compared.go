// Package compared says how much of what a walker was asked was compared, before anybody calls the walker right.
package compared

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"misstep/internal/interval"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/triage"
)

// Row counts what one check asked of one walker on one JDK.
type Row struct {
	// JDK by name, or its feature release where it has no name; empty for several.
	JDK string `json:"jdk,omitempty"`
	// Walker is what the check judges; of a recording it is the profiler with its options.
	Walker string `json:"walker"`
	Check  string `json:"check"`
	// Asked is the number of observations. Compared ones have a stack and something to compare it with, Lost ones an error code for
	// a stack, Void ones nothing to compare with.
	Asked    uint64 `json:"asked"`
	Compared uint64 `json:"compared"`
	Lost     uint64 `json:"lost"`
	Void     uint64 `json:"void"`
	// Wrong is the number of mismatches, Cut of those whose stack lacks its bottom.
	Wrong uint64 `json:"wrong"`
	Cut   uint64 `json:"cut"`
	// UpTo is the upper end of the exact 95 % interval of the share of compared ones that could be wrong; only where none was, and
	// of checks that find mismatches.
	UpTo float64 `json:"up_to,omitempty"`
}

const (
	// muchLost is the share without a stack, of what could have been compared, from which on nothing is said without it.
	muchLost = 0.05
	// enough is the number of stacks from which on a check says something of its walker: if none of so many is wrong, at most 3.6 %
	// of all are, with 95 % confidence.
	enough = 100
)

// Of counts by check what trials of one JDK and profiler did; cut counts mismatches that lack their bottom, by check.
func Of(jdk, profiler string, checks []*misstepv1.CheckCount, cut map[string]uint64) []Row {
	var rows []Row
	for _, c := range checks {
		lost, void := sum(c.GetUnwalkable()), sum(c.GetVoid())
		rows = append(rows, Row{
			JDK: jdk, Walker: walker(c.GetCheck(), profiler), Check: c.GetCheck(), Asked: c.GetTotal(), Lost: lost, Void: void,
			Compared: c.GetTotal() - min(c.GetTotal(), lost+void), Wrong: c.GetMismatch(), Cut: cut[c.GetCheck()],
		}.bounded())
	}
	return rows
}

// OfOutcome counts what one trial did.
func OfOutcome(jdk string, p *misstepv1.Profiler, o *misstepv1.Outcome) []Row {
	return Of(jdk, recipe.ProfilerText(p), o.GetChecks(), triage.CutOff(o))
}

// OfCampaign counts what the finished trials of a campaign did, by JDK and walker.
func OfCampaign(s *misstepv1.CampaignStatus) []Row {
	var rows []Row
	for _, on := range s.GetCompared() {
		rows = append(rows, Of(on.GetJdk(), on.GetProfiler(), on.GetChecks(), on.GetCut())...)
	}
	return Merged(rows)
}

// Merged adds up rows of the same JDK, walker and check, and orders them by these.
func Merged(rows []Row) []Row {
	key := func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.JDK, b.JDK), cmp.Compare(a.Walker, b.Walker), cmp.Compare(a.Check, b.Check))
	}
	var out []Row
	for _, r := range rows {
		i, found := slices.BinarySearchFunc(out, r, key)
		if !found {
			out = slices.Insert(out, i, r)
			continue
		}
		o := &out[i]
		o.Asked, o.Compared, o.Lost, o.Void = o.Asked+r.Asked, o.Compared+r.Compared, o.Lost+r.Lost, o.Void+r.Void
		o.Wrong, o.Cut = o.Wrong+r.Wrong, o.Cut+r.Cut
		*o = o.bounded()
	}
	return out
}

// walker names what a check judges: the profiler without its interval, where the check judges recordings.
func walker(check, profiler string) string {
	c, ok := recipe.FindCheck(check)
	if !ok || len(c.Profilers) == 0 {
		return c.Suspect
	}
	p, err := recipe.ParseProfiler(profiler)
	if err != nil {
		return cmp.Or(profiler, c.Suspect)
	}
	return strings.Join(append([]string{p.GetName()}, p.GetOptions()...), ",")
}

func (r Row) bounded() Row {
	r.UpTo = 0
	c, _ := recipe.FindCheck(r.Check)
	// Most walks that samplers compares are not the profiler's but those of Thread.getAllStackTraces(): they bound nothing of it.
	if r.Wrong == 0 && r.Compared > 0 && len(c.Kinds) > 0 && r.Check != recipe.Samplers {
		r.UpTo = interval.ExactUpper(0, r.Compared)
	}
	return r
}

// Asked returns the rows without those of checks of which nothing was asked.
func Asked(rows []Row) []Row {
	return slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return r.Asked == 0 })
}

// Hardly reports whether less was compared of what was asked than the check declares.
func (r Row) Hardly() bool {
	c, _ := recipe.FindCheck(r.Check)
	return r.Asked > 0 && !c.Judged(r.Compared, r.Asked)
}

// Enough reports whether so much was compared that the walker is judged by this check alone.
func (r Row) Enough() bool { return r.Compared >= enough && !r.Hardly() }

// LostShare is the share of those without a stack among those that could have been compared, from 0 to 1.
func (r Row) LostShare() float64 {
	if r.Lost == 0 {
		return 0
	}
	return float64(r.Lost) / float64(r.Lost+r.Compared)
}

// Doubt says in words why little is known of the walker; empty when enough was compared.
func (r Row) Doubt() string {
	name := r.Walker
	if r.JDK != "" {
		name += " on " + r.JDK
	}
	figures := fmt.Sprintf("(%s): %d asked, %d compared, %d lost, %d void, %d cut", r.Check, r.Asked, r.Compared, r.Lost, r.Void,
		r.Cut)
	switch {
	case r.Hardly():
		return name + " hardly gave anything to compare " + figures + "; whether it is right is not known"
	case r.LostShare() >= muchLost:
		return fmt.Sprintf("%s lost %.0f%% of its stacks %s; of lost ones nothing is known", name, 100*r.LostShare(), figures)
	}
	return ""
}

// Doubts are those of all rows: of what was hardly compared first, then of what lost most.
func Doubts(rows []Row) []string {
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b Row) int {
		if a.Hardly() != b.Hardly() {
			if a.Hardly() {
				return -1
			}
			return 1
		}
		return cmp.Compare(b.LostShare(), a.LostShare())
	})
	var doubts []string
	for _, r := range rows {
		if doubt := r.Doubt(); doubt != "" {
			doubts = append(doubts, doubt)
		}
	}
	return doubts
}

// UpTo says what share of the compared stacks could be wrong at most, where none was; empty when one was, or nothing was compared.
// It is that of the check and walker that compared least.
func UpTo(rows []Row) string {
	worst := Row{}
	for _, r := range rows {
		if r.Wrong > 0 {
			return ""
		}
		if r.UpTo > worst.UpTo {
			worst = r
		}
	}
	if worst.UpTo == 0 {
		return ""
	}
	on := ""
	if worst.JDK != "" {
		on = " on " + worst.JDK
	}
	return fmt.Sprintf("with 95 %% confidence at most %.2g %% of what is compared is wrong (%s%s, which compared least: %d)",
		100*worst.UpTo, worst.Check, on, worst.Compared)
}

func sum[K comparable](counts map[K]uint64) (n uint64) {
	for _, c := range counts {
		n += c
	}
	return n
}
