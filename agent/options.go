package agent

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"misstep/recipe"
)

// StartShare is the share of the entry checks where a JVM is started only to find out whether it starts under the agent: by then it
// has entered more than a hundred thousand methods, and walks at each of them take ten seconds.
const StartShare = 0.001

// Options are the agent's options of one run. The zero value of a field leaves the agent's default, except for Ratio, Checks
// and TapAsgct, which are passed unchanged.
type Options struct {
	// Out is the existing folder for status.bin, mismatches.jsonl and agent.log.
	Out string
	// Seed is the seed of the choice of methods, of entry checks and of the sampler.
	Seed uint64
	// Plan is the plan file of a perturbation at instrumentation points, empty for none; its log is Out/schedule.bin.
	Plan string
	// Ratio is the share of methods that are instrumented, 0 to 1.
	Ratio float64
	// Include and Exclude are patterns of class names (with dots; * matches anything).
	Include, Exclude []string
	// WithoutLeaves leaves out leaves and forwarders: methods that loop nowhere and have one call at most.
	WithoutLeaves bool
	// Only lists the methods to instrument, "class/Internal.name(desc)result"; it replaces the choice by Ratio, Include and
	// Exclude.
	Only []string
	// JFR says that JFR records in the JVM: the classes that it instruments itself are left out, whatever else chooses them.
	JFR bool
	// Checks maps a check's name to its share (recipe.Check.ShareOf says of what); for liveness any value above 0 means on. A check
	// that is missing is off.
	Checks map[string]float64
	// Budget is the share of a thread's CPU time that its entry checks may take; 0 leaves them their share of method entries.
	Budget float64
	// Reference is that of the check that takes one: "shadow" (default), or "trace:SHARE" to judge also by the traces of that share
	// of method entries.
	Reference string
	// Interval is the time between signals, and Jitter the share of it by which it varies.
	Interval time.Duration
	Jitter   float64
	// Burst is the number of signals back to back at each tick; 0 is 1.
	Burst int
	// Guesses is the number of words of the stack from which to walk (stack scanning) where AsyncGetCallTrace returned a code from
	// -3 to -6.
	Guesses int
	// Threads chooses the threads that the sampler signals: "running" (default), "round-robin", "cpu" or "name:PATTERN".
	Threads string
	// Signal is the signal's name: SIGPROF (default), SIGVTALRM, SIGIO, SIGURG, SIGRTMIN+1 to SIGRTMIN+28.
	Signal string
	// Tap says which signals' handlers of other samplers are tapped, noted in Out/tap.bin: "prof" (SIGPROF: JFR's CPU-time sampler,
	// async-profiler), "usr2" (the signal by which the JVM suspends threads: JFR's execution sampler), "both", or "" for none.
	Tap string
	// TapAsgct is the share of the tapped calls in which AsyncGetCallTrace is asked as well; TapAsgctShare is a good one. It is
	// passed unchanged.
	TapAsgct float64
	// Sites says that what the instructions of each class can call is written to Out/sites.bin.
	Sites bool
	// Stacks is the time between two calls of Thread.getAllStackTraces() by a Java thread of the agent's, whose traces are in
	// Out/stacks.bin; at least 1 ms, 0 for none.
	Stacks time.Duration
	// Depth is the number of frames a walk may have.
	Depth int
	// Evidence says which mismatches have a record of their own: "distinct" (default) or "every".
	Evidence string
	// MaxMismatches bounds the records kept.
	MaxMismatches int
	// Liveness is the time between liveness probes.
	Liveness time.Duration
}

// String returns the options as the agent parses them, without Only, which needs a file (see JVMArgs). Options that have no meaning
// under these checks, but that every recipe has, are left out: the choice of methods, the signal and its timing. Options that
// request something that these checks do not do are passed, for the agent to reject.
func (o Options) String() string {
	var b strings.Builder
	add := func(key, value string) {
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(key)
		b.WriteByte('=')
		b.WriteString(value)
	}
	signals := o.asks(func(c recipe.Check) bool { return c.Signals })
	add("out", o.Out)
	if o.Plan != "" {
		add("perturb", o.Plan)
	}
	add("seed", strconv.FormatUint(o.Seed, 10))
	if o.NeedsMethods() && len(o.Only) == 0 {
		add("methods", share(o.Ratio))
		if len(o.Include) > 0 {
			add("include", strings.Join(o.Include, ";"))
		}
		if len(o.Exclude) > 0 {
			add("exclude", strings.Join(o.Exclude, ";"))
		}
		if o.WithoutLeaves {
			add("leaves", "0")
		}
	}
	if o.JFR && o.NeedsMethods() {
		add("jfr", "1")
	}
	var intervals []recipe.Check
	for _, c := range recipe.AgentChecks() {
		switch {
		case c.Interval:
			intervals = append(intervals, c)
		case o.Checks[c.Name] > 0 || c.AgentShare > 0: // otherwise it is off, and an older agent may not know the option
			add(c.Name, share(o.Checks[c.Name]))
		}
	}
	if o.Budget > 0 && o.NeedsMethods() {
		add("budget", share(o.Budget))
	}
	if o.Reference != "" {
		add("reference", o.Reference)
	}
	for _, c := range intervals {
		switch {
		case o.Checks[c.Name] == 0:
			add(c.Name, "0")
		case o.Liveness > 0:
			add(c.Name, strconv.FormatInt(o.Liveness.Milliseconds(), 10))
		}
	}
	if signals && o.Interval > 0 {
		add("interval", strconv.FormatInt(o.Interval.Microseconds(), 10))
		add("jitter", share(o.Jitter))
	}
	if o.Burst > 1 {
		add("burst", strconv.Itoa(o.Burst))
	}
	if o.Guesses > 0 {
		add("guesses", strconv.Itoa(o.Guesses))
	}
	if o.Threads != "" {
		add("threads", o.Threads)
	}
	if signals && o.Signal != "" {
		add("signal", o.Signal)
	}
	if o.Tap != "" {
		add("tap", o.Tap)
		add("tap-asgct", share(o.TapAsgct))
	}
	if o.Sites {
		add("sites", "1")
	}
	if o.Stacks > 0 {
		add("stacks", strconv.FormatInt(o.Stacks.Microseconds(), 10))
	}
	if o.Depth > 0 {
		add("depth", strconv.Itoa(o.Depth))
	}
	if o.Evidence != "" {
		add("evidence", o.Evidence)
	}
	if o.MaxMismatches > 0 {
		add("max-mismatches", strconv.Itoa(o.MaxMismatches))
	}
	return b.String()
}

// Text returns the options as the agent parses them when it is attached to a JVM that runs.
func (o Options) Text() (string, error) {
	if err := o.validate(); err != nil {
		return "", err
	}
	return o.String(), nil
}

// validate rejects values that the option string cannot carry; the native side checks ranges.
func (o Options) validate() error {
	if !filepath.IsAbs(o.Out) {
		return fmt.Errorf("agent options: the folder %q is not absolute: expected an absolute path", o.Out)
	}
	if o.Plan != "" && !filepath.IsAbs(o.Plan) || strings.Contains(o.Plan, ",") {
		return fmt.Errorf("agent options: the path of the plan %q is not absolute or has a comma: choose another", o.Plan)
	}
	if strings.Contains(o.Out, ",") {
		return fmt.Errorf("agent options: the folder %q has a comma: choose another", o.Out)
	}
	for _, list := range [][]string{o.Include, o.Exclude} {
		for _, p := range list {
			if p == "" || strings.ContainsAny(p, ",;= \n") {
				return fmt.Errorf("agent options: the pattern %q is empty or has a comma, semicolon, equals sign or white space", p)
			}
		}
	}
	for _, word := range []string{o.Threads, o.Reference, o.Evidence, o.Tap} {
		if strings.ContainsAny(word, ",=\n") {
			return fmt.Errorf("agent options: %q has a comma, equals sign or line break", word)
		}
	}
	if len(o.Only) > 0 && (len(o.Include)+len(o.Exclude) > 0 || o.WithoutLeaves) {
		return errors.New("agent options: only already lists the methods to instrument: leave include, exclude and leaves out")
	}
	for _, m := range o.Only {
		if m == "" || strings.ContainsAny(m, "\n\r") {
			return fmt.Errorf("agent options: the method %q is empty or has a line break", m)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.Checks)) {
		if c, ok := recipe.FindCheck(name); !ok || c.Slot == recipe.NoSlot {
			return fmt.Errorf("agent options: unknown check %q: expected one of %s", name,
				strings.Join(recipe.Names(recipe.AgentChecks()), ", "))
		}
	}
	return nil
}

// NeedsMethods reports whether a check, a perturbation or a tap asks for instrumented methods, and with them for the patched
// java.lang.Thread.
func (o Options) NeedsMethods() bool {
	return o.asks(func(c recipe.Check) bool { return c.Methods }) || o.Plan != "" || o.Tap != ""
}

// asks reports whether a check with the given property is on.
func (o Options) asks(has func(recipe.Check) bool) bool {
	return slices.ContainsFunc(recipe.AgentChecks(), func(c recipe.Check) bool { return has(c) && o.Checks[c.Name] > 0 })
}

func share(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// JVMArgs returns the JVM arguments that switch the agent on in a JDK of the given feature version; they belong after the recipe's
// flags and before the application's arguments. If no check needs instrumented methods, the JVM is neither patched nor
// instrumented. If one does and o.Only is given, JVMArgs writes the list to o.Out, which must exist.
func JVMArgs(a Artefacts, patchJar string, feature int, o Options) ([]string, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	if feature < 8 {
		return nil, fmt.Errorf("agent: JDK %d is older than 8: choose JDK 8 or later", feature)
	}
	text := o.String()
	if !o.NeedsMethods() {
		args := []string{"-agentpath:" + a.Library + "=" + text}
		if o.Stacks > 0 {
			args = append(args, "-javaagent:"+a.Jar+"=stacks-only")
		}
		return args, nil
	}
	if len(o.Only) > 0 {
		path := filepath.Join(o.Out, "only.txt")
		if err := os.WriteFile(path, []byte(strings.Join(o.Only, "\n")+"\n"), 0o644); err != nil {
			return nil, fmt.Errorf("write the list of methods: %w", err)
		}
		text += ",only=" + path
	}
	patch := "-Xbootclasspath/p:" + patchJar
	if feature >= 9 {
		patch = "--patch-module=java.base=" + patchJar
	}
	return []string{patch, "-agentpath:" + a.Library + "=" + text, "-javaagent:" + a.Jar}, nil
}
