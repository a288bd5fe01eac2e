package jvm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/agent"
	"misstep/internal/hserr"
	"misstep/internal/regular"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/runner"
	"misstep/runner/scratch"
	"misstep/workloads"
)

// classify returns what the JVM did: the first kind that applies of crash, hang, mismatches, application failure, void, clean. An
// error is an infrastructure failure: neither the JVM nor its workload caused the end of the JVM.
func (t *trial) classify(ctx context.Context) (*misstepv1.Outcome, error) {
	result := t.result()
	outcome := &misstepv1.Outcome{
		ExitCode: int32(result.ExitCode), Signal: int32(result.Signal), // both are small
		Started: timestamppb.New(t.jvm.Began()), Wall: durationpb.New(result.Wall), Cpu: durationpb.New(result.CPU),
		MaxRssBytes: max(result.MaxRSS, t.maxRSS), Hang: t.verdict.hang, Checks: t.counts(), Signals: t.signals(),
		Perturbation: t.perturbation,
	}
	if ejection := t.ejection(); ejection != "" { // the ejected scheduler may have caused what the JVM did
		outcome.Kind, outcome.Reason = misstepv1.OutcomeKind_OUTCOME_KIND_VOID, ejection
		outcome.Hang = nil
		return outcome, nil
	}
	crash, memory, err := t.crash(ctx)
	if err != nil {
		return nil, err
	}
	outcome.Crash = crash
	counts, mismatches, lost, err := t.judge(ctx)
	switch {
	case err == nil:
		outcome.Checks, outcome.Mismatches = counts, mismatches
	case ctx.Err() != nil || crash == nil && t.verdict.hang == nil:
		return nil, err
	default: // what the JVM left may be as broken as it was
		t.executor.Logger.WarnContext(ctx, "a trial is not judged", "scratch", t.name, "error", err)
	}
	if t.judging > 0 {
		outcome.Judging = durationpb.New(t.judging)
	}
	if lost.excess != "" {
		t.executor.Logger.WarnContext(ctx, "a trial's mismatches are not all read", "scratch", t.name, "reason", lost.excess)
	}
	switch {
	case crash != nil:
		outcome.Kind = misstepv1.OutcomeKind_OUTCOME_KIND_CRASH
		outcome.Reason = CrashReason(crash)
		return outcome, nil
	case t.verdict.hang != nil:
		outcome.Kind, outcome.Reason = misstepv1.OutcomeKind_OUTCOME_KIND_HANG, t.verdict.reason
		return outcome, nil
	}
	failure, err := t.failure(memory)
	if err != nil {
		return nil, err
	}
	if failure == nil && lost.excess != "" {
		failure = &misstepv1.ApplicationFailure{Reason: "records", Message: lost.excess}
	}
	if failure != nil {
		failure.Finding = t.recipe.GetFailureFindings() && workloads.OwnFailure(failure)
	}
	outcome.ApplicationFailure = failure
	if err := t.conclude(outcome, lost); err != nil {
		return nil, err
	}
	if outcome.GetKind() == misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN {
		t.judgePerturbation(outcome)
	}
	return outcome, nil
}

// CrashReason is what an error file says of a crash, in one line.
func CrashReason(c *misstepv1.Crash) string {
	return strings.TrimSpace(c.GetError() + " " + c.GetProblematicFrame())
}

// conclude sets the kind and the reason of an outcome that is neither a crash nor a hang. lost is what could not be read of the
// mismatch records.
func (t *trial) conclude(outcome *misstepv1.Outcome, lost losses) error {
	failure := outcome.GetApplicationFailure()
	idle := t.idle(outcome.GetChecks())
	switch {
	case len(outcome.GetMismatches()) > 0:
		outcome.Kind = misstepv1.OutcomeKind_OUTCOME_KIND_MISMATCHES
		first := outcome.GetMismatches()[0]
		outcome.Reason = fmt.Sprintf("%s: %s, %d times", first.GetCheck(), first.GetKind(), first.GetCount())
	case unrecorded(outcome.GetChecks()) > 0 && (lost.excess == "" || failure == nil):
		return fmt.Errorf("read mismatch records: %d mismatches were counted but not recorded (%d damaged lines)",
			unrecorded(outcome.GetChecks()), lost.damaged)
	case failure != nil:
		outcome.Kind = misstepv1.OutcomeKind_OUTCOME_KIND_APPLICATION_FAILURE
		outcome.Reason = failure.GetReason() + ": " + failure.GetMessage()
	case idle != "" && t.unread != nil:
		return t.unread
	case idle != "":
		outcome.Kind, outcome.Reason = misstepv1.OutcomeKind_OUTCOME_KIND_VOID, idle
	default:
		outcome.Kind = misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN
	}
	return nil
}

// unrecorded counts the mismatches of checks that write mismatch records.
func unrecorded(checks []*misstepv1.CheckCount) (n uint64) {
	for _, c := range checks {
		if known, ok := recipe.FindCheck(c.GetCheck()); !ok ||
			len(known.Kinds) > 0 { // a check without kinds has no traces to record
			n += c.GetMismatch()
		}
	}
	return n
}

// idle returns the reason why a trial is void: how the JVM ended before the agent's checks began, else the first requested check
// that compared nothing, or less than it declares. It returns "" if every check compared enough.
func (t *trial) idle(checks []*misstepv1.CheckCount) string {
	agents := slices.ContainsFunc(checks, func(c *misstepv1.CheckCount) bool { return agentJudge{}.judges(c.GetCheck()) })
	if agents && !t.status.Started {
		return t.unstarted()
	}
	for _, c := range checks {
		if idle := Idle(c); idle != "" {
			return idle
		}
	}
	return ""
}

// Idle says in words that a check compared nothing, or less than it declares, and why; it returns "" if it compared enough.
func Idle(c *misstepv1.CheckCount) string {
	known, _ := recipe.FindCheck(c.GetCheck())
	switch n := compared(c); {
	case known.Judged(n, c.GetTotal()):
		return ""
	case n > 0:
		return fmt.Sprintf("check %s compared too little: %d of %d samples, less than %.0f%%; %d were unwalkable and %d void",
			c.GetCheck(), n, c.GetTotal(), 100*known.Least, sum(c.GetUnwalkable()), sum(c.GetVoid()))
	case c.GetTotal() == 0:
		return fmt.Sprintf("check %s compared nothing: it took no sample; the program may be too short", c.GetCheck())
	default:
		return fmt.Sprintf("check %s compared nothing: of %d samples %d were unwalkable and %d void",
			c.GetCheck(), c.GetTotal(), sum(c.GetUnwalkable()), sum(c.GetVoid()))
	}
}

// unstarted says how far a JVM came whose agent has not begun its checks, and how it ended, if it has.
func (t *trial) unstarted() string {
	before := "it loaded the agent"
	if t.recorded {
		before = "the agent's checks began"
	}
	switch ended := t.result(); {
	case ended.Signal != 0:
		return fmt.Sprintf("%s ended the JVM before %s", unix.SignalName(ended.Signal), before)
	case ended.ExitCode > 0:
		return fmt.Sprintf("the JVM ended with exit code %d before %s; what it printed says why", ended.ExitCode, before)
	case ended.ExitCode == 0:
		return "the JVM ended in order before " + before
	}
	return "the JVM did not get as far as the agent's checks"
}

func sum[K comparable](counts map[K]uint64) (n uint64) {
	for _, c := range counts {
		n += c
	}
	return n
}

// crash reads the error file, or falls back to the signal if HotSpot could not write one. memory is the error file's detail when it
// reports a failed memory allocation, which is not a crash of the JVM.
func (t *trial) crash(ctx context.Context) (crash *misstepv1.Crash, memory string, err error) {
	if t.verdict.failure != nil { // killed for a limit
		return nil, "", nil
	}
	if t.verdict.hang == nil { // of a hung JVM the watchdog's SIGABRT caused the error file
		report, err := t.errorFile()
		if err != nil {
			return nil, "", err
		}
		if report != nil {
			if report.OutOfMemory {
				return nil, report.Crash.GetDetail(), nil
			}
			t.locate(report.Crash, report.TID)
			return report.Crash, "", nil
		}
	}
	signal := t.result().Signal
	if t.verdict.hang != nil || !isFatal(signal) {
		return nil, "", nil
	}
	crash = &misstepv1.Crash{
		Error:  fmt.Sprintf("%s (0x%x)", unix.SignalName(signal), int(signal)),
		Detail: hserr.Unwritten,
	}
	t.locate(crash, t.core(ctx, crash))
	return crash, "", nil
}

// core reads the crashed thread's native stack from the core file, if the kernel wrote one into the JVM's folder and gdb is
// installed. It returns that thread's id, 0 if it is unknown.
func (t *trial) core(ctx context.Context, crash *misstepv1.Crash) int64 {
	cores, err := filepath.Glob(t.path(dirWork, "core*"))
	if err != nil || len(cores) == 0 {
		return 0
	}
	text := t.gdb(ctx, fmt.Sprintf("thread apply 1 bt %d", maxFrames), t.java(), cores[0])
	t.exhibit("core-stack.txt", text)
	for tid, frames := range parseGDB(string(text)) { // one thread
		for _, f := range frames {
			crash.NativeFrames = append(crash.NativeFrames, f.String())
		}
		if len(frames) > 0 {
			crash.ProblematicFrame = crash.GetNativeFrames()[0]
		}
		return tid
	}
	return 0
}

func (t *trial) errorFile() (*hserr.Report, error) {
	f, err := regular.Open(t.path(fileCrash))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, regular.ErrOther) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read error file: %w", err)
	}
	defer f.Close()
	report, err := hserr.Parse(f)
	if errors.Is(err, hserr.ErrNotCrash) {
		return nil, nil // an empty or truncated file: the signal describes the crash
	}
	return report, err
}

// locate sets from the flight record whether the crash happened in a walk. If the crashed thread's id is unknown (0), any thread in
// a walk counts: a fault while the handler blocks signals kills the process at once, without an error file.
func (t *trial) locate(crash *misstepv1.Crash, tid int64) {
	for _, slot := range t.status.Threads {
		if slot.Phase == agent.PhaseNone || tid != 0 && int64(slot.TID) != tid {
			continue
		}
		crash.Phase = slot.Phase.String()
		crash.InWalk = slot.Phase == agent.PhaseHandler || slot.Phase.Walks()
		if crash.InWalk {
			crash.Sample, crash.WalkPc = slot.Sequence, slot.PC
			return
		}
	}
}

// isFatal reports whether a signal is one that a faulting program raises itself.
func isFatal(s syscall.Signal) bool {
	switch s {
	case syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGILL, syscall.SIGFPE, syscall.SIGABRT, syscall.SIGTRAP, syscall.SIGSYS:
		return true
	default:
		return false
	}
}

// failure returns how the workload failed by itself, nil if it verified its result.
func (t *trial) failure(memory string) (*misstepv1.ApplicationFailure, error) {
	result := t.result()
	switch {
	case t.verdict.failure != nil:
		return t.verdict.failure, nil
	case t.cgroup.OutOfMemory():
		return &misstepv1.ApplicationFailure{
			Reason: "memory", Message: fmt.Sprintf("the kernel killed the JVM for exceeding its limit of %d MiB",
				t.limits.memory>>20),
		}, nil
	case result.Signal != 0 && memory == "":
		return nil, fmt.Errorf("run JVM: it was killed from outside by %s; check the kernel log for the out-of-memory killer",
			unix.SignalName(result.Signal))
	case fromOutside(result.ExitCode):
		return nil, fmt.Errorf("run JVM: it was asked from outside to end (exit code %d); find out which process sent the signal",
			result.ExitCode)
	}
	stdout, stderr := t.stdout.Tail(), t.stderr.Tail()
	if t.checked() && result.ExitCode != 0 && !t.status.Started {
		if line := agentRefusal(stderr, stdout); line != "" {
			return nil, refused(t.folder.Path, line)
		}
	}
	if err := t.profilerRefusal(); err != nil {
		return nil, err
	}
	failure := t.manifest.Judge(result.ExitCode, stdout, stderr)
	if failure == nil {
		return nil, nil
	}
	if memory != "" {
		failure = &misstepv1.ApplicationFailure{Reason: "memory", Message: memory}
	}
	const minFree = 1 << 20
	if free, known := scratch.Free(t.folder.Path); known && free < minFree {
		full := fmt.Errorf("run JVM: %w (the workload reported: %s)", syscall.ENOSPC, failure.GetMessage())
		return nil, scratch.Explain(t.folder.Path, full)
	}
	return failure, nil
}

// fromOutside reports whether an exit code is that of a JVM that shut down on SIGHUP, SIGINT or SIGTERM: 128 plus the signal's
// number.
func fromOutside(code int) bool {
	return code == 128+int(syscall.SIGHUP) || code == 128+int(syscall.SIGINT) || code == 128+int(syscall.SIGTERM)
}

// refused returns the error of an agent that did not start: permanent, unless a full disk was the reason.
func refused(folder, line string) error {
	for _, full := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT} {
		if strings.Contains(strings.ToLower(line), full.Error()) {
			return scratch.Explain(folder, fmt.Errorf("start the agent: %s: %w", line, full))
		}
	}
	return runner.Permanent(fmt.Errorf("start the agent: %s", line))
}

var refusals = []*regexp.Regexp{
	regexp.MustCompile(`(?m)^misstep(?:-agent|\[[a-z]+\])?: .*$`),
	regexp.MustCompile(`(?m)^.*(?:agent library failed|Could not find agent library|processing of -javaagent failed|` +
		`Error opening zip file or JAR manifest missing|Unable to open patch).*$`),
}

// agentRefusal returns the line in which Misstep's agent, or HotSpot on its behalf, reports that the agent cannot start; "" if
// there is none.
func agentRefusal(texts ...[]byte) string {
	if !bytes.Contains(bytes.Join(texts, nil), []byte("agent")) {
		return ""
	}
	for _, pattern := range refusals {
		for _, text := range texts {
			if line := pattern.Find(text); line != nil {
				return strings.TrimSpace(string(line))
			}
		}
	}
	return ""
}
