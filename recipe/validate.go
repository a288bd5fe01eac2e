package recipe

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"misstep/internal/suggest"
	misstepv1 "misstep/proto/misstep/v1"
)

// Bounds of the settings of checks.
const (
	maxMethods  = 1 << 13 // a reproduction may narrow to all that a trial instrumented
	maxWall     = 24 * time.Hour
	minInterval = 10 * time.Microsecond
	maxInterval = time.Minute
	maxBurst    = 8
	maxGuesses  = 1024
)

// evidence lists the values of Recipe.evidence; "" means the first.
var evidence = []string{"distinct", "every"}

var (
	signalRE  = regexp.MustCompile(`^(SIGPROF|SIGVTALRM|SIGIO|SIGURG|SIGRTMIN\+([1-9]|1[0-9]|2[0-8]))?$`) // the agent's
	threadsRE = regexp.MustCompile(`^(running|round-robin|cpu|name:[^,=\n]{1,256})?$`)
)

// Settings say what trials check, how, and within which limits: those of one recipe, or those of a campaign, whose alternatives are
// the entries of the lists.
type Settings struct {
	Checks          []*misstepv1.Check
	Instrumentation []*misstepv1.Instrumentation
	Sampling        []*misstepv1.Sampling
	Perturb         []*misstepv1.Perturbation
	Profilers       []*misstepv1.Profiler
	Limits          *misstepv1.Limits
	Evidence        string
	// ChecksFollow reports that each recipe gets the checks that fit its instrumentation, sampling and profiler, so that they
	// cannot contradict each other.
	ChecksFollow bool
}

// SettingsOf returns the settings of a recipe.
func SettingsOf(r *misstepv1.Recipe) Settings {
	s := Settings{Checks: r.GetChecks(), Evidence: r.GetEvidence(), Limits: r.GetLimits()}
	if r.GetInstrumentation() != nil {
		s.Instrumentation = append(s.Instrumentation, r.GetInstrumentation())
	}
	if r.GetSampling() != nil {
		s.Sampling = append(s.Sampling, r.GetSampling())
	}
	if r.GetPerturbation() != nil {
		s.Perturb = append(s.Perturb, r.GetPerturbation())
	}
	if r.GetProfiler() != nil {
		s.Profilers = append(s.Profilers, r.GetProfiler())
	}
	return s
}

// Validate returns what is wrong with the checks of a recipe written by hand and with their options; without checks there must be
// no options. Whoever runs the recipe validates its workload, its JDK and its perturbation.
func Validate(r *misstepv1.Recipe) []Violation {
	out := SettingsOf(r).Validate()
	for i := range out {
		out[i].Field = soleEntry.ReplaceAllString(out[i].Field, "$1") // a recipe has only one of each
	}
	return out
}

// ValidateLimits returns an error unless a trial may have these limits.
func ValidateLimits(l *misstepv1.Limits) error {
	var v Violations
	v.limits(l)
	errs := make([]error, len(v))
	for i, x := range v {
		errs[i] = errors.New(x.String())
	}
	return errors.Join(errs...)
}

var soleEntry = regexp.MustCompile(`^(instrumentation|sampling|profiler)\[0\]`)

// Validate returns everything that is wrong with the settings, each with the campaign's field that is at fault.
func (s Settings) Validate() []Violation {
	var v Violations
	v.instrumentation(s.Instrumentation)
	v.sampling(s.Sampling)
	v.checks(s.Checks)
	v.profilers(s.Profilers)
	v.beside(s)
	if !s.ChecksFollow {
		v.needs(s)
		v.unused(s)
	}
	if e := s.Evidence; e != "" && !slices.Contains(evidence, e) {
		v.Addf("evidence", "unknown value %s%s", suggest.Quote(e), suggest.Among(e, evidence))
	}
	v.limits(s.Limits)
	return v
}

// patterns checks patterns of methods; the agent takes them in an option, whose separators they must not contain.
func (v *Violations) patterns(field string, patterns []string) {
	v.Texts(field, patterns)
	for i, p := range patterns {
		if p == "" || strings.ContainsAny(p, ",;= ") {
			v.Addf(fmt.Sprintf("%s[%d]", field, i),
				"expected a pattern such as java.util.* without comma, semicolon, equals sign and space, got %s", suggest.Quote(p))
		}
	}
}

func validReference(s string) bool {
	share, traced := strings.CutPrefix(s, "trace:")
	x, err := strconv.ParseFloat(share, 64)
	return s == "" || s == "shadow" || traced && err == nil && x > 0 && x <= 1
}

func fraction(x float64) bool { return x >= 0 && x <= 1 } // false for NaN

func (v *Violations) instrumentation(list []*misstepv1.Instrumentation) {
	if !v.Count("instrumentation", len(list)) {
		return
	}
	for i, in := range list {
		at := fmt.Sprintf("instrumentation[%d]", i)
		if !fraction(in.GetRatio()) {
			v.Addf(at+".ratio", "expected a number from 0 to 1, got %v", in.GetRatio())
		}
		v.patterns(at+".include", in.GetInclude())
		v.patterns(at+".exclude", in.GetExclude())
		if v.AtMost(at+".only", len(in.GetOnly()), maxMethods) {
			v.Lines(at+".only", in.GetOnly())
		}
	}
}

func (v *Violations) sampling(list []*misstepv1.Sampling) {
	if !v.Count("sampling", len(list)) {
		return
	}
	for i, s := range list {
		at := fmt.Sprintf("sampling[%d]", i)
		if d, ok := Duration(s.GetInterval()); !ok || d != 0 && (d < minInterval || d > maxInterval) {
			v.Addf(at+".interval", "expected 0 or a duration from %v to %v, got %s", minInterval, maxInterval,
				DurationText(s.GetInterval()))
		}
		if !fraction(s.GetJitter()) {
			v.Addf(at+".jitter", "expected a number from 0 to 1, got %v", s.GetJitter())
		}
		if s.GetBurst() > maxBurst {
			v.Addf(at+".burst", "expected a number of signals from 1 to %d, got %d", maxBurst, s.GetBurst())
		}
		if s.GetGuesses() > maxGuesses {
			v.Addf(at+".guesses", "expected a number of words from 0 to %d, got %d", maxGuesses, s.GetGuesses())
		}
		if !threadsRE.MatchString(s.GetThreads()) {
			v.Addf(at+".threads", "expected running, round-robin, cpu or name:PATTERN without commas and equals signs, got %s",
				suggest.Quote(s.GetThreads()))
		}
		if !signalRE.MatchString(s.GetSignal()) {
			v.Addf(at+".signal", "expected SIGPROF, SIGVTALRM, SIGIO, SIGURG or SIGRTMIN+1 to SIGRTMIN+28, got %s",
				suggest.Quote(s.GetSignal()))
		}
	}
}

func (v *Violations) checks(list []*misstepv1.Check) {
	if !v.Count("checks", len(list)) {
		return
	}
	seen := map[string]int{}
	for i, ch := range list {
		at := fmt.Sprintf("checks[%d]", i)
		known, ok := FindCheck(ch.GetName())
		if !ok {
			names := Names(checks)
			slices.Sort(names)
			v.Addf(at+".name", "unknown check %s%s", suggest.Quote(ch.GetName()), suggest.Among(ch.GetName(), names))
		} else if first, dup := seen[ch.GetName()]; dup {
			v.Addf(at+".name", "%s is listed twice, first as checks[%d]", ch.GetName(), first)
		}
		seen[ch.GetName()] = i
		if ch.GetReference() != "" && !known.Reference {
			v.Addf(at+".reference", "only %s takes a reference", namesWith(func(c Check) bool { return c.Reference }))
		} else if !validReference(ch.GetReference()) {
			v.Addf(at+".reference", "expected shadow, or trace:SHARE with a share of method entries above 0 to 1, got %s",
				suggest.Quote(ch.GetReference()))
		}
		if d, ok := Duration(ch.GetInterval()); ch.GetInterval() != nil && !known.Interval {
			v.Addf(at+".interval", "only %s takes an interval; that of signals is in sampling",
				namesWith(func(c Check) bool { return c.Interval }))
		} else if !ok || d != 0 && (d < time.Millisecond || d > time.Hour || d%time.Millisecond != 0) {
			v.Addf(at+".interval", "expected 0 (the default) or a duration from 1ms to 1h in whole milliseconds, got %s",
				DurationText(ch.GetInterval()))
		}
		if !fraction(ch.GetShare()) {
			v.Addf(at+".share", "expected a number from 0 (the default) to 1, got %v", ch.GetShare())
		} else if ok && known.Slot == NoSlot && ch.GetShare() != 0 {
			v.Addf(at+".share", "%s judges the whole recording: leave the share out", known.Name)
		}
	}
}

func (v *Violations) limits(l *misstepv1.Limits) {
	if d, ok := Duration(l.GetWall()); !ok || d < 0 || d > maxWall || d > 0 && d < time.Second {
		v.Addf("limits.wall", "expected a duration from 1s to %v, got %s", maxWall, DurationText(l.GetWall()))
	}
	if l == nil {
		return
	}
	for _, x := range integerLimits {
		if value := *x.field(l); value != 0 && (value < x.min || value > x.max) {
			v.Addf("limits."+x.name, "expected a number from %d to %d, got %d", x.min, x.max, value)
		}
	}
}

// Duration converts a duration; it returns false when that is malformed or out of the range of time.Duration.
func Duration(d *durationpb.Duration) (time.Duration, bool) {
	if d == nil {
		return 0, true
	}
	if !d.IsValid() || d.GetSeconds() > math.MaxInt64/int64(time.Second)-1 || d.GetSeconds() < -math.MaxInt64/int64(time.Second)+1 {
		return 0, false
	}
	return d.AsDuration(), true
}

// DurationText formats a duration for a message, even one that Duration cannot convert.
func DurationText(d *durationpb.Duration) string {
	if dd, ok := Duration(d); ok {
		return dd.String()
	}
	return fmt.Sprintf("%d seconds", d.GetSeconds())
}
