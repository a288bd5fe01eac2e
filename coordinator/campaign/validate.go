package campaign

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	misstepv1 "misstep/proto/misstep/v1"
)

// Violation is one thing that is wrong with a campaign.
type Violation struct {
	// Field in the form workloads[2].name; empty for the campaign as a whole.
	Field string
	// Message says what was expected.
	Message string
}

func (v Violation) String() string {
	if v.Field == "" {
		return v.Message
	}
	return v.Field + ": " + v.Message
}

// Bounds of a campaign. They keep one request and one recipe small; none is near what people need.
const (
	maxName        = 64
	maxDescription = 4096
	maxList        = 256
	maxMethods     = 1 << 13 // a reproduction may narrow to all that a trial instrumented
	maxString      = 4096
	maxTrials      = 1_000_000_000
	maxTime        = 366 * 24 * time.Hour
	maxWall        = 24 * time.Hour
	minInterval    = 10 * time.Microsecond
	maxInterval    = time.Minute
	maxBurst       = 8
	maxGuesses     = 1024
)

// What may be kept of mismatches; "" is the first.
var evidence = []string{"distinct", "every"}

var (
	nameRE     = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)
	setRE      = regexp.MustCompile(`^[A-Za-z0-9._+=,-]{1,64}$`)
	signalRE   = regexp.MustCompile(`^(SIGPROF|SIGVTALRM|SIGIO|SIGURG|SIGRTMIN\+([1-9]|1[0-9]|2[0-8]))?$`) // the agent's
	threadsRE  = regexp.MustCompile(`^(running|round-robin|cpu|name:[^,=\n]{1,256})?$`)
	strategyRE = regexp.MustCompile(`^[a-z][a-z0-9-]{0,63}$`)
	// Misstep itself says what is run: these flags would take that away from it.
	foreignFlagRE = regexp.MustCompile(`^(-jar|-cp|-classpath|--class-path(=.*)?|-agentpath:.*|-agentlib:.*|-javaagent:.*|-m|--module(=.*)?|-version|--version|-showversion|-help|--help|-X|@.*)$`)
)

type validator struct{ out []Violation }

func (v *validator) addf(field, format string, args ...any) {
	v.out = append(v.out, Violation{field, fmt.Sprintf(format, args...)})
}

// Validate returns everything that is wrong with a campaign by itself; whether its names exist is for Resolve.
func Validate(c *misstepv1.Campaign) []Violation {
	v := &validator{}
	if c.GetName() == "" {
		v.addf("name", "is required: a short label of letters, digits, dots, dashes and underscores")
	} else if !nameRE.MatchString(c.GetName()) {
		v.addf("name", "expected at most %d letters, digits, dots, dashes and underscores, got %s", maxName, quote(c.GetName()))
	}
	if len(c.GetDescription()) > maxDescription {
		v.addf("description", "expected at most %d bytes, got %d", maxDescription, len(c.GetDescription()))
	}
	v.names("jdks", c.GetJdks(), true, "at least one name of the JDK catalogue")
	v.flagSets(c)
	v.workloads(c)
	if len(c.GetChecks()) == 0 {
		v.addf("checks", "is required: at least one of %s", strings.Join(sortedKeys(checks), ", "))
	}
	v.trials(c)
	v.perturb(c)
	v.budget(c.GetBudget())
	if _, ok := misstepv1.Strategy_name[int32(c.GetStrategy())]; !ok {
		v.addf("strategy", "expected round_robin or random, got number %d", c.GetStrategy())
	}
	return v.out
}

// trials checks what a campaign's trials check, how, and within which limits.
func (v *validator) trials(c *misstepv1.Campaign) {
	v.instrumentation(c)
	v.sampling(c)
	v.checks(c)
	v.needs(c)
	v.unused(c)
	if e := c.GetEvidence(); e != "" && !slices.Contains(evidence, e) {
		v.addf("evidence", "no such evidence is kept: %s%s", quote(e), among(e, evidence))
	}
	v.limits(c.GetLimits())
}

func (v *validator) count(field string, n int) bool { return v.atMost(field, n, maxList) }

func (v *validator) atMost(field string, n, most int) bool {
	if n > most {
		v.addf(field, "expected at most %d entries, got %d", most, n)
		return false
	}
	return true
}

// names checks a list of texts that must be there, bounded and unique.
func (v *validator) names(field string, names []string, required bool, what string) {
	if required && len(names) == 0 {
		v.addf(field, "is required: %s", what)
	}
	if !v.count(field, len(names)) {
		return
	}
	seen := make(map[string]int, len(names))
	for i, n := range names {
		at := fmt.Sprintf("%s[%d]", field, i)
		if n == "" || len(n) > maxString {
			v.addf(at, "expected a text of 1 to %d bytes, got %d", maxString, len(n))
		} else if first, dup := seen[n]; dup {
			v.addf(at, "%s is listed twice, first as %s[%d]", quote(n), field, first)
		}
		seen[n] = i
	}
}

// texts checks free texts: bounded, without control characters that would break a command line or a log.
func (v *validator) texts(field string, texts []string) {
	if v.count(field, len(texts)) {
		v.lines(field, texts)
	}
}

func (v *validator) lines(field string, texts []string) {
	for i, s := range texts {
		if len(s) > maxString || strings.ContainsAny(s, "\x00\n\r") {
			v.addf(fmt.Sprintf("%s[%d]", field, i), "expected one line of at most %d bytes", maxString)
		}
	}
}

// patterns of methods, which the agent takes as an option.
func (v *validator) patterns(field string, patterns []string) {
	v.texts(field, patterns)
	for i, p := range patterns {
		if p == "" || strings.ContainsAny(p, ",;= ") {
			v.addf(fmt.Sprintf("%s[%d]", field, i), "expected a pattern such as java.util.* without comma, semicolon, equals sign and space, got %s", quote(p))
		}
	}
}

func (v *validator) flagSets(c *misstepv1.Campaign) {
	if !v.count("flag_sets", len(c.GetFlagSets())) {
		return
	}
	seen := map[string]int{}
	for i, f := range c.GetFlagSets() {
		at := fmt.Sprintf("flag_sets[%d]", i)
		name := SetName(f)
		if first, dup := seen[name]; dup {
			v.addf(at+".name", "%s is used twice, first by flag_sets[%d]", quote(name), first)
		} else if !setRE.MatchString(name) {
			v.addf(at+".name", "a name or a preset is required: at most 64 letters, digits and . _ + = , -, got %s", quote(name))
		}
		if len(f.GetPreset()) > maxName {
			v.addf(at+".preset", "expected a name as `misstep campaign presets` lists them, got %s", quote(f.GetPreset()))
		}
		seen[name] = i
		v.texts(at+".flags", f.GetFlags())
		for k, flag := range f.GetFlags() {
			if problem := flagProblem(flag); problem != "" {
				v.addf(fmt.Sprintf("%s.flags[%d]", at, k), "%s", problem)
			}
		}
	}
}

// flagProblem says why a campaign may not give the JVM that flag; empty when it may.
func flagProblem(flag string) string {
	switch {
	case !strings.HasPrefix(flag, "-"):
		return fmt.Sprintf("expected a JVM flag that starts with a dash, one each, got %s", quote(flag))
	case foreignFlagRE.MatchString(flag):
		return fmt.Sprintf("%s decides what is run and belongs to the workload", quote(flag))
	}
	return ""
}

func (v *validator) workloads(c *misstepv1.Campaign) {
	if len(c.GetWorkloads()) == 0 {
		v.addf("workloads", "is required: at least one entry with a name of the workload catalogue")
	}
	if !v.count("workloads", len(c.GetWorkloads())) {
		return
	}
	var sets []string
	for _, f := range c.GetFlagSets() {
		sets = append(sets, SetName(f))
	}
	for i, w := range c.GetWorkloads() {
		at := fmt.Sprintf("workloads[%d]", i)
		if w.GetName() == "" || len(w.GetName()) > maxString {
			v.addf(at+".name", "is required: a name of the workload catalogue")
		}
		v.texts(at+".arguments", w.GetArguments())
		v.names(at+".flag_sets", w.GetFlagSets(), false, "")
		for k, name := range w.GetFlagSets() {
			if !slices.Contains(sets, name) {
				v.addf(fmt.Sprintf("%s.flag_sets[%d]", at, k), "no flag set is called %s%s", quote(name), among(name, sets))
			}
		}
	}
}

func validReference(s string) bool {
	share, traced := strings.CutPrefix(s, "trace:")
	x, err := strconv.ParseFloat(share, 64)
	return s == "" || s == "shadow" || traced && err == nil && x > 0 && x <= 1
}

func fraction(x float64) bool { return x >= 0 && x <= 1 } // false for NaN

func (v *validator) instrumentation(c *misstepv1.Campaign) {
	if !v.count("instrumentation", len(c.GetInstrumentation())) {
		return
	}
	for i, in := range c.GetInstrumentation() {
		at := fmt.Sprintf("instrumentation[%d]", i)
		if !fraction(in.GetRatio()) {
			v.addf(at+".ratio", "expected a number from 0 to 1, got %v", in.GetRatio())
		}
		v.patterns(at+".include", in.GetInclude())
		v.patterns(at+".exclude", in.GetExclude())
		if v.atMost(at+".only", len(in.GetOnly()), maxMethods) {
			v.lines(at+".only", in.GetOnly())
		}
	}
}

func (v *validator) sampling(c *misstepv1.Campaign) {
	if !v.count("sampling", len(c.GetSampling())) {
		return
	}
	for i, s := range c.GetSampling() {
		at := fmt.Sprintf("sampling[%d]", i)
		if d, ok := duration(s.GetInterval()); !ok || d != 0 && (d < minInterval || d > maxInterval) {
			v.addf(at+".interval", "expected 0 or a duration from %v to %v, got %s", minInterval, maxInterval, text(s.GetInterval()))
		}
		if !fraction(s.GetJitter()) {
			v.addf(at+".jitter", "expected a number from 0 to 1, got %v", s.GetJitter())
		}
		if s.GetBurst() > maxBurst {
			v.addf(at+".burst", "expected a number of signals from 1 to %d, got %d", maxBurst, s.GetBurst())
		}
		if s.GetGuesses() > maxGuesses {
			v.addf(at+".guesses", "expected a number of words from 0 to %d, got %d", maxGuesses, s.GetGuesses())
		}
		if !threadsRE.MatchString(s.GetThreads()) {
			v.addf(at+".threads", "expected running, round-robin, cpu or name:PATTERN without commas and equals signs, got %s", quote(s.GetThreads()))
		}
		if !signalRE.MatchString(s.GetSignal()) {
			v.addf(at+".signal", "expected SIGPROF, SIGVTALRM, SIGIO, SIGURG or SIGRTMIN+1 to SIGRTMIN+28, got %s", quote(s.GetSignal()))
		}
	}
}

func (v *validator) checks(c *misstepv1.Campaign) {
	if !v.count("checks", len(c.GetChecks())) {
		return
	}
	seen := map[string]int{}
	for i, ch := range c.GetChecks() {
		at := fmt.Sprintf("checks[%d]", i)
		if _, known := checks[ch.GetName()]; !known {
			v.addf(at+".name", "no check is called %s%s", quote(ch.GetName()), among(ch.GetName(), sortedKeys(checks)))
		} else if first, dup := seen[ch.GetName()]; dup {
			v.addf(at+".name", "%s is listed twice, first as checks[%d]", ch.GetName(), first)
		}
		seen[ch.GetName()] = i
		if ch.GetReference() != "" && ch.GetName() != "asgct-shadow" {
			v.addf(at+".reference", "only asgct-shadow has a choice of references")
		} else if !validReference(ch.GetReference()) {
			v.addf(at+".reference", "expected shadow, or trace:SHARE with a share of method entries above 0 to 1, got %s", quote(ch.GetReference()))
		}
		if d, ok := duration(ch.GetInterval()); ch.GetInterval() != nil && ch.GetName() != "liveness" {
			v.addf(at+".interval", "only liveness has an interval of its own; that of signals is in sampling")
		} else if !ok || d != 0 && (d < time.Millisecond || d > time.Hour || d%time.Millisecond != 0) {
			v.addf(at+".interval", "expected 0 (the default) or a duration from 1ms to 1h in whole milliseconds, got %s", text(ch.GetInterval()))
		}
		if !fraction(ch.GetShare()) {
			v.addf(at+".share", "expected a number from 0 (the default) to 1, got %v", ch.GetShare())
		}
	}
}

func (v *validator) limits(l *misstepv1.Limits) {
	if d, ok := duration(l.GetWall()); !ok || d < 0 || d > maxWall || d > 0 && d < time.Second {
		v.addf("limits.wall", "expected a duration from 1s to %v, got %s", maxWall, text(l.GetWall()))
	}
	for _, b := range []struct {
		field    string
		value    uint32
		min, max uint32
	}{
		{"memory_mib", l.GetMemoryMib(), 64, 1 << 22},
		{"output_mib", l.GetOutputMib(), 1, 1 << 16},
		{"disk_mib", l.GetDiskMib(), 1, 1 << 22},
		{"stack_depth", l.GetStackDepth(), 64, 1 << 14},
		{"mismatches", l.GetMismatches(), 1, 1 << 14},
	} {
		if b.value != 0 && (b.value < b.min || b.value > b.max) {
			v.addf("limits."+b.field, "expected a number from %d to %d, got %d", b.min, b.max, b.value)
		}
	}
}

func (v *validator) budget(b *misstepv1.Budget) {
	d, ok := duration(b.GetTime())
	switch {
	case !ok || d < 0 || d > maxTime:
		v.addf("budget.time", "expected a positive duration of at most %v, got %s", maxTime, text(b.GetTime()))
	case d == 0 && b.GetTrials() == 0:
		v.addf("budget", "is required: trials, time or both, or the campaign would never end")
	}
	if b.GetTrials() > maxTrials {
		v.addf("budget.trials", "expected at most %d, got %d", maxTrials, b.GetTrials())
	}
}

// Names are what a catalogue has. A nil list is not checked.
type Names struct {
	JDKs, Workloads, Presets []string
	Strategies               []Strategy
}

// Resolve returns what a campaign names and a catalogue does not have. It notes in the campaign which parameters are whole numbers.
func Resolve(c *misstepv1.Campaign, have Names) []Violation {
	v := &validator{}
	if have.JDKs != nil {
		for i, name := range c.GetJdks() {
			if !slices.Contains(have.JDKs, name) {
				v.addf(fmt.Sprintf("jdks[%d]", i), "no JDK is called %s%s; `misstep jdk add` imports one", quote(name), among(name, have.JDKs))
			}
		}
	}
	if have.Workloads != nil {
		for i, w := range c.GetWorkloads() {
			if !slices.Contains(have.Workloads, w.GetName()) {
				v.addf(fmt.Sprintf("workloads[%d].name", i), "no workload is called %s%s; `misstep workload add` imports one", quote(w.GetName()), among(w.GetName(), have.Workloads))
			}
		}
	}
	if have.Presets != nil {
		for i, f := range c.GetFlagSets() {
			if f.GetPreset() != "" && !slices.Contains(have.Presets, f.GetPreset()) {
				v.addf(fmt.Sprintf("flag_sets[%d].preset", i), "no preset is called %s%s", quote(f.GetPreset()), among(f.GetPreset(), have.Presets))
			}
		}
	}
	if have.Strategies != nil {
		v.strategies(c, have.Strategies)
	}
	return v.out
}

// duration converts a bounded duration; false when it is malformed or out of time.Duration's range.
func duration(d *durationpb.Duration) (time.Duration, bool) {
	if d == nil {
		return 0, true
	}
	if !d.IsValid() || d.GetSeconds() > math.MaxInt64/int64(time.Second)-1 || d.GetSeconds() < -math.MaxInt64/int64(time.Second)+1 {
		return 0, false
	}
	return d.AsDuration(), true
}

func text(d *durationpb.Duration) string {
	if dd, ok := duration(d); ok {
		return dd.String()
	}
	return fmt.Sprintf("%d seconds", d.GetSeconds())
}

func quote(s string) string {
	if len(s) > 80 {
		s = s[:80] + "…"
	}
	return fmt.Sprintf("%q", s)
}

// among lists what there is, the nearest first when one is near.
func among(name string, have []string) string {
	if len(have) == 0 {
		return " (there is none)"
	}
	s := ""
	if n := nearest(name, have); n != "" {
		s = ", did you mean " + n + "?"
	}
	list := slices.Clone(have)
	slices.Sort(list)
	list = slices.Compact(list)
	more := ""
	if len(list) > 20 {
		list, more = list[:20], ", …"
	}
	return s + " (there are: " + strings.Join(list, ", ") + more + ")"
}

// nearest returns the candidate within a third of the name's length in edits, or "".
func nearest(name string, candidates []string) string {
	best, distance := "", max(1, len(name)/3)+1
	if len(name) > maxName*2 {
		return ""
	}
	for _, c := range candidates {
		if d := edits(strings.ToLower(name), strings.ToLower(c)); d < distance {
			best, distance = c, d
		}
	}
	return best
}

// edits is the number of insertions, deletions, replacements and swaps of neighbours between two texts, in bytes.
func edits(a, b string) int {
	above, row, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next[j+1] = min(row[j+1]+1, next[j]+1, row[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], above[j-1]+1)
			}
		}
		above, row, next = row, next, above
	}
	return row[len(b)]
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	out := make([]K, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
