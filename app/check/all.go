package check

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"misstep/app/compared"
	"misstep/coordinator/queue"
	"misstep/known"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner/jvm"
	"misstep/runner/process"
)

// toolOptions is the variable from which every JVM takes options, whoever starts it (JVMTI, "Command-Line Options").
const toolOptions = "JAVA_TOOL_OPTIONS"

// RunAll runs any command to its end, such as a build's script, with the agent in each JVM that it starts, of whatever JDK. It
// instruments nothing. It reports as Run does, with a report for each JVM.
func RunAll(ctx context.Context, o Options) (*Report, error) {
	c := startClock()
	path, err := lookUp(o.Command[0])
	if err != nil {
		return nil, err
	}
	if o.Profiler != nil {
		return nil, errors.New("--all-jvms: JVMs of any JDK cannot share the options of one profiler: leave --profiler out")
	}
	dir, remove, err := folder(o.Out)
	if err != nil {
		return nil, err
	}
	defer remove()
	r, e, err := o.lightly(dir)
	if err != nil {
		return nil, err
	}
	if err := conflict(r, "", environmentOptions(os.Environ())); err != nil {
		return nil, err
	}
	args, err := e.ArmAny(r, dir)
	if err != nil {
		return nil, err
	}
	p := program{path: path, args: o.Command, env: withToolOptions(os.Environ(), args), Options: o}
	ended, err := p.run(ctx)
	if err != nil {
		return nil, err
	}
	c.ran(&p)
	if err := p.collectAll(dir); err != nil {
		return nil, err
	}
	x := examiner{e, o.Known}
	list, lost, err := x.examineAll(context.WithoutCancel(ctx), dir, maxJVMs)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		if err := unwritten(dir); err != nil {
			return nil, err
		}
	}
	all := merged(list, lost, ended, o.Known)
	all.Command, all.PID = o.Command, p.pid
	p.conclude(all, ended)
	c.end(PhaseExamine)
	all.Phases = c.phases
	return all, nil
}

// lightly returns the recipe of a check that instruments nothing, and what runs it in a folder.
func (o Options) lightly(dir string) (*misstepv1.Recipe, *jvm.Executor, error) {
	o.Light = true
	r, err := o.recipe(nil, nil)
	if err != nil {
		return nil, nil, err
	}
	e, err := executor(o.Installation, dir, o.Logger)
	return r, e, err
}

// withToolOptions adds options to those that every JVM takes. HotSpot splits them at white space, unless it is in quotes
// (arguments.cpp, parse_options_buffer).
func withToolOptions(env, args []string) []string {
	var words []string
	var out []string
	for _, e := range env {
		if value, ok := strings.CutPrefix(e, toolOptions+"="); ok {
			words = append(words, value)
			continue
		}
		out = append(out, e)
	}
	for _, a := range args {
		if strings.ContainsAny(a, " \t'") {
			a = `"` + a + `"`
		}
		words = append(words, a)
	}
	return append(out, toolOptions+"="+strings.Join(words, " "))
}

// merged sums up JVMs: the counts of each check, and the findings of all. Known bugs are those of each JVM's own JDK; lost are the
// notes about JVMs that are not in the list, own the caller's known bugs.
func merged(list []examined, lost []string, ended process.Result, own known.Catalogue) *Report {
	sum := &misstepv1.Outcome{ExitCode: int32(ended.ExitCode), Signal: int32(ended.Signal)} // both are small
	side := jvm.Alongside{Recipe: &misstepv1.Recipe{}}
	var order []string // of the checks, as the JVMs have them
	for i, x := range list {
		if i == 0 {
			side = x.side
		}
		for _, c := range x.outcome.GetChecks() {
			order = append(order, c.GetCheck())
		}
		sum.Checks = queue.AddChecks(sum.GetChecks(), x.outcome.GetChecks())
		sum.Mismatches = append(sum.Mismatches, x.outcome.GetMismatches()...)
		if sum.GetCrash() == nil {
			sum.Crash = x.outcome.GetCrash()
		}
	}
	slices.SortFunc(sum.GetChecks(), func(a, b *misstepv1.CheckCount) int {
		return slices.Index(order, a.GetCheck()) - slices.Index(order, b.GetCheck())
	})
	conclude(sum)
	switch {
	case len(list) == 0 && len(lost) > 0:
		sum.Reason = "no JVM could be examined: the notes say why"
	case len(list) == 1:
		sum.Reason = list[0].outcome.GetReason()
	}
	r := report(nil, 0, side, sum, own)
	r.Bugs = bugs(sum.GetChecks(), list, own)
	r.Wall, r.CPU, r.MaxRSS = ended.Wall, ended.CPU, ended.MaxRSS
	r.Notes = append(r.Notes, lost...)
	r.Compared = nil
	for _, x := range list {
		r.JVMs = append(r.JVMs, x.report)
		r.Compared = compared.Merged(append(r.Compared, x.report.Compared...))
		r.Notes = append(r.Notes, x.report.Notes...)
		if x.report.JDK.Version != r.JDK.Version {
			r.JDK = JDK{Version: "several JDKs"}
		}
	}
	return r
}

// conclude gives several JVMs one outcome: a short one that compared nothing does not make it void.
func conclude(o *misstepv1.Outcome) {
	o.Kind, o.Reason = misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN, ""
	if c := unjudged(o.GetChecks()); c != nil {
		o.Kind, o.Reason = misstepv1.OutcomeKind_OUTCOME_KIND_VOID, "in all JVMs together, "+jvm.Idle(c)
	}
	switch {
	case len(o.GetChecks()) == 0:
		o.Kind, o.Reason = misstepv1.OutcomeKind_OUTCOME_KIND_VOID, "no JVM loaded the agent: "+
			"none was started, it ended at once, or it took no options from "+toolOptions
	case o.GetCrash() != nil:
		o.Kind = misstepv1.OutcomeKind_OUTCOME_KIND_CRASH
		o.Reason = jvm.CrashReason(o.GetCrash())
	case len(o.GetMismatches()) > 0:
		o.Kind = misstepv1.OutcomeKind_OUTCOME_KIND_MISMATCHES
	}
}
