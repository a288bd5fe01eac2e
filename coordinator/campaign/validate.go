package campaign

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"misstep/coordinator/projects"
	"misstep/internal/suggest"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

// Bounds of a campaign. They keep requests and recipes small, and are far above what is needed.
const (
	maxName        = 64
	maxDescription = 4096
	maxTrials      = 1_000_000_000
	maxTime        = 366 * 24 * time.Hour
	maxPriority    = 3
	maxShare       = 1000
)

var (
	nameRE     = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)
	setRE      = regexp.MustCompile(`^[A-Za-z0-9._+=,-]{1,64}$`)
	strategyRE = regexp.MustCompile(`^[a-z][a-z0-9-]{0,63}$`)
	// foreignFlagRE matches the flags that would decide what is run, which Misstep itself does.
	foreignFlagRE = regexp.MustCompile(`^(-jar|-cp|-classpath|--class-path(=.*)?|-agentpath:.*|-agentlib:.*|-javaagent:.*|-m|` +
		`--module(=.*)?|-version|--version|-showversion|-help|--help|-X|@.*)$`)
)

type validator struct{ recipe.Violations }

// Validate returns everything that is wrong with a campaign by itself; Resolve checks whether its names exist.
func Validate(c *misstepv1.Campaign) []recipe.Violation {
	v := &validator{}
	if c.GetName() == "" {
		v.Addf("name", "is required: a short label of letters, digits, dots, dashes and underscores")
	} else if !nameRE.MatchString(c.GetName()) {
		v.Addf("name", "expected at most %d letters, digits, dots, dashes and underscores, got %s", maxName,
			suggest.Quote(c.GetName()))
	}
	if len(c.GetDescription()) > maxDescription {
		v.Addf("description", "expected at most %d bytes, got %d", maxDescription, len(c.GetDescription()))
	}
	v.names("jdks", c.GetJdks(), true, "at least one name of the JDK catalogue")
	v.flagSets(c)
	v.workloads(c)
	v.Violations = append(v.Violations, settings(c).Validate()...)
	v.perturb(c)
	v.budget(c.GetBudget())
	v.sharing(c)
	if _, ok := misstepv1.Strategy_name[int32(c.GetStrategy())]; !ok {
		v.Addf("strategy", "expected round_robin or random, got number %d", c.GetStrategy())
	}
	return v.Violations
}

// sharing checks whose the campaign is and how much of the runners it asks for.
func (v *validator) sharing(c *misstepv1.Campaign) {
	if c.GetProject() != "" {
		if err := projects.Check(c.GetProject()); err != nil {
			v.Addf("project", "%v", err)
		}
	}
	if p := c.GetPriority(); p < -maxPriority || p > maxPriority {
		v.Addf("priority", "expected a number from -%d to %d, got %d", maxPriority, maxPriority, p)
	}
	if c.GetShare() > maxShare {
		v.Addf("share", "expected a number from 1 to %d, got %d", maxShare, c.GetShare())
	}
}

// settings returns what a campaign's trials have in common, and the alternatives in which they differ.
func settings(c *misstepv1.Campaign) recipe.Settings {
	return recipe.Settings{
		Checks: c.GetChecks(), Instrumentation: c.GetInstrumentation(), Sampling: c.GetSampling(), Perturb: c.GetPerturb(),
		Profilers: c.GetProfiler(), Limits: c.GetLimits(), Evidence: c.GetEvidence(), ChecksFollow: len(c.GetChecks()) == 0,
	}
}

// names checks that a list of strings is present if required, bounded and without duplicates.
func (v *validator) names(field string, names []string, required bool, what string) {
	if required && len(names) == 0 {
		v.Addf(field, "is required: %s", what)
	}
	if !v.Count(field, len(names)) {
		return
	}
	seen := make(map[string]int, len(names))
	for i, n := range names {
		at := fmt.Sprintf("%s[%d]", field, i)
		if n == "" || len(n) > recipe.MaxString {
			v.Addf(at, "expected a string of 1 to %d bytes, got %d", recipe.MaxString, len(n))
		} else if first, dup := seen[n]; dup {
			v.Addf(at, "%s is listed twice, first as %s[%d]", suggest.Quote(n), field, first)
		}
		seen[n] = i
	}
}

func (v *validator) flagSets(c *misstepv1.Campaign) {
	if !v.Count("flag_sets", len(c.GetFlagSets())) {
		return
	}
	seen := map[string]int{}
	for i, f := range c.GetFlagSets() {
		at := fmt.Sprintf("flag_sets[%d]", i)
		name := SetName(f)
		if first, dup := seen[name]; dup {
			v.Addf(at+".name", "%s is used twice, first by flag_sets[%d]", suggest.Quote(name), first)
		} else if !setRE.MatchString(name) {
			v.Addf(at+".name", "a name or a preset is required: at most 64 letters, digits and . _ + = , -, got %s",
				suggest.Quote(name))
		}
		if len(f.GetPreset()) > maxName {
			v.Addf(at+".preset", "expected a name as `misstep campaign presets` lists them, got %s", suggest.Quote(f.GetPreset()))
		}
		seen[name] = i
		v.Texts(at+".flags", f.GetFlags())
		for k, flag := range f.GetFlags() {
			if problem := FlagProblem(flag); problem != "" {
				v.Addf(fmt.Sprintf("%s.flags[%d]", at, k), "%s", problem)
			}
		}
	}
}

// FlagProblem returns why a campaign may not pass a flag to the JVM; "" when it may.
func FlagProblem(flag string) string {
	switch {
	case !strings.HasPrefix(flag, "-"):
		return fmt.Sprintf("expected one JVM flag that starts with a dash, got %s", suggest.Quote(flag))
	case foreignFlagRE.MatchString(flag):
		return fmt.Sprintf("%s decides what is run and belongs to the workload", suggest.Quote(flag))
	}
	return ""
}

func (v *validator) workloads(c *misstepv1.Campaign) {
	if len(c.GetWorkloads()) == 0 {
		v.Addf("workloads", "is required: at least one entry with a name of the workload catalogue")
	}
	if !v.Count("workloads", len(c.GetWorkloads())) {
		return
	}
	var sets []string
	for _, f := range c.GetFlagSets() {
		sets = append(sets, SetName(f))
	}
	for i, w := range c.GetWorkloads() {
		at := fmt.Sprintf("workloads[%d]", i)
		if w.GetName() == "" || len(w.GetName()) > recipe.MaxString {
			v.Addf(at+".name", "is required: a name of the workload catalogue")
		}
		v.Texts(at+".arguments", w.GetArguments())
		v.names(at+".flag_sets", w.GetFlagSets(), false, "")
		for k, name := range w.GetFlagSets() {
			if !slices.Contains(sets, name) {
				v.Addf(fmt.Sprintf("%s.flag_sets[%d]", at, k), "unknown flag set %s%s", suggest.Quote(name),
					suggest.Among(name, sets))
			}
		}
	}
}

// ValidateBudget returns everything that is wrong with a campaign's budget.
func ValidateBudget(b *misstepv1.Budget) []recipe.Violation {
	v := &validator{}
	v.budget(b)
	return v.Violations
}

func (v *validator) budget(b *misstepv1.Budget) {
	d, ok := recipe.Duration(b.GetTime())
	switch {
	case !ok || d < 0 || d > maxTime:
		v.Addf("budget.time", "expected a positive duration of at most %v, got %s", maxTime, recipe.DurationText(b.GetTime()))
	case d == 0 && b.GetTrials() == 0:
		v.Addf("budget", "is required: trials, time or both, or the campaign would never end")
	}
	if b.GetTrials() > maxTrials {
		v.Addf("budget.trials", "expected at most %d, got %d", maxTrials, b.GetTrials())
	}
}

// Names are the names that catalogues define. A nil list is not checked.
type Names struct {
	JDKs, Workloads, Presets []string
	Strategies               []Strategy
}

// Resolve returns the names in a campaign that the catalogues do not define. It notes in the campaign which ranges are of integers.
func Resolve(c *misstepv1.Campaign, have Names) []recipe.Violation {
	v := &validator{}
	var jdks, workloads, presets suggest.Once
	if have.JDKs != nil {
		for i, name := range c.GetJdks() {
			if IsPattern(name) {
				if len(Matching(name, have.JDKs)) == 0 {
					v.Addf(fmt.Sprintf("jdks[%d]", i), "the pattern %s matches no JDK%s; `misstep jdk add` imports one",
						suggest.Quote(name), jdks.Among(name, have.JDKs))
				}
				continue
			}
			if !slices.Contains(have.JDKs, name) {
				v.Addf(fmt.Sprintf("jdks[%d]", i), "unknown JDK %s%s; `misstep jdk add` imports one", suggest.Quote(name),
					jdks.Among(name, have.JDKs))
			}
		}
	}
	if have.Workloads != nil {
		for i, w := range c.GetWorkloads() {
			if !slices.Contains(have.Workloads, w.GetName()) {
				v.Addf(fmt.Sprintf("workloads[%d].name", i), "unknown workload %s%s; %s", suggest.Quote(w.GetName()),
					workloads.Among(w.GetName(), have.Workloads), howToAdd(w.GetName(), have.Workloads))
			}
		}
	}
	if have.Presets != nil {
		for i, f := range c.GetFlagSets() {
			if f.GetPreset() != "" && !slices.Contains(have.Presets, f.GetPreset()) {
				v.Addf(fmt.Sprintf("flag_sets[%d].preset", i), "unknown preset %s%s", suggest.Quote(f.GetPreset()),
					presets.Among(f.GetPreset(), have.Presets))
			}
		}
	}
	if have.Strategies != nil {
		v.strategies(c, have.Strategies)
	}
	return v.Violations
}

// howToAdd returns the commands that import an unknown workload: a suite is imported as a whole, and Misstep's own are built.
func howToAdd(name string, have []string) string {
	suite, _, ok := strings.Cut(name, "/")
	if ok && !slices.ContainsFunc(have, func(s string) bool { return strings.HasPrefix(s, suite+"/") }) {
		return fmt.Sprintf("`misstep workload add %s --jar PATH` imports that suite", suite)
	}
	return "`make catalogue` builds and adds Misstep's own, `misstep workload add FOLDER` any other"
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	out := make([]K, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
