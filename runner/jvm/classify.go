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
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/runner"
	"misstep/runner/scratch"
)

// classify says what the JVM did: the first kind that applies of crash, hang, mismatches, application failure, void, clean. The error
// is an infrastructure failure: what ended the JVM was neither the JVM nor its workload.
func (t *trial) classify(ctx context.Context) (*misstepv1.Outcome, error) {
	result := t.jvm.Result()
	outcome := &misstepv1.Outcome{
		ExitCode: int32(result.ExitCode), Signal: int32(result.Signal), // both are small
		Started: timestamppb.New(t.jvm.Began()), Wall: durationpb.New(result.Wall), Cpu: durationpb.New(result.CPU),
		MaxRssBytes: max(result.MaxRSS, t.maxRSS), Hang: t.verdict.hang, Checks: t.counts(), Signals: t.signals(),
		Perturbation: t.perturbation,
	}
	if ejection := t.ejection(); ejection != "" { // what the JVM did meanwhile may be our doing
		outcome.Kind, outcome.Reason = misstepv1.OutcomeKind_OUTCOME_KIND_VOID, ejection
		outcome.Hang = nil
		return outcome, nil
	}
	var damaged int
	var err error
	if outcome.Checks, outcome.Mismatches, damaged, err = t.judge(ctx); err != nil {
		return nil, err
	}
	crash, memory, err := t.crash(ctx)
	if err != nil {
		return nil, err
	}
	outcome.Crash = crash
	switch {
	case crash != nil:
		outcome.Kind = misstepv1.OutcomeKind_OUTCOME_KIND_CRASH
		outcome.Reason = strings.TrimSpace(crash.GetError() + " " + crash.GetProblematicFrame())
		return outcome, nil
	case t.verdict.hang != nil:
		outcome.Kind, outcome.Reason = misstepv1.OutcomeKind_OUTCOME_KIND_HANG, t.verdict.reason
		return outcome, nil
	}
	failure, err := t.failure(memory)
	if err != nil {
		return nil, err
	}
	outcome.ApplicationFailure = failure
	idle := idleChecks(outcome.GetChecks(), t.status)
	switch {
	case len(outcome.GetMismatches()) > 0:
		outcome.Kind = misstepv1.OutcomeKind_OUTCOME_KIND_MISMATCHES
		first := outcome.GetMismatches()[0]
		outcome.Reason = fmt.Sprintf("%s: %s, %d times", first.GetCheck(), first.GetKind(), first.GetCount())
	case unrecorded(outcome.GetChecks()) > 0:
		return nil, fmt.Errorf("read mismatch records: %d mismatches were counted and there is no record of them (%d damaged lines)",
			unrecorded(outcome.GetChecks()), damaged)
	case failure != nil:
		outcome.Kind = misstepv1.OutcomeKind_OUTCOME_KIND_APPLICATION_FAILURE
		outcome.Reason = failure.GetReason() + ": " + failure.GetMessage()
	case idle != "" && t.unread != nil:
		return nil, t.unread
	case idle != "":
		outcome.Kind, outcome.Reason = misstepv1.OutcomeKind_OUTCOME_KIND_VOID, idle
	default:
		outcome.Kind = misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN
		t.judgePerturbation(outcome)
	}
	return outcome, nil
}

func unrecorded(checks []*misstepv1.CheckCount) (n uint64) {
	for _, c := range checks {
		if known, ok := recipe.FindCheck(c.GetCheck()); !ok || len(known.Kinds) > 0 { // one without kinds has no traces to record
			n += c.GetMismatch()
		}
	}
	return n
}

// idleChecks names the first check that was asked for and compared nothing: no proof, no pass.
func idleChecks(checks []*misstepv1.CheckCount, status agent.Status) string {
	agents := slices.ContainsFunc(checks, func(c *misstepv1.CheckCount) bool { return agentJudge{}.judges(c.GetCheck()) })
	if agents && !status.Started {
		return "the agent did not start its checks"
	}
	for _, c := range checks {
		if compared(c) == 0 {
			return fmt.Sprintf("check %s compared nothing: it took %d, of which %d were unwalkable and %d void",
				c.GetCheck(), c.GetTotal(), sum(c.GetUnwalkable()), sum(c.GetVoid()))
		}
	}
	return ""
}

func sum[K comparable](counts map[K]uint64) (n uint64) {
	for _, c := range counts {
		n += c
	}
	return n
}

// crash reads the error file, or makes do with the signal when HotSpot could not write one. memory is what the error file says when
// it is about memory that could not be had, which is no crash of the JVM's making.
func (t *trial) crash(ctx context.Context) (crash *misstepv1.Crash, memory string, err error) {
	if t.verdict.failure != nil { // killed for a limit
		return nil, "", nil
	}
	if t.verdict.hang == nil { // what an aborted JVM writes is our doing
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
	signal := t.jvm.Result().Signal
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

// core takes the native stack of the thread that died from the core file, where the kernel wrote one into the JVM's folder and
// gdb is there to read it. It returns that thread's id, 0 when it is not known.
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
	f, err := os.Open(t.path(fileCrash))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read error file: %w", err)
	}
	defer f.Close()
	report, err := hserr.Parse(f)
	if errors.Is(err, hserr.ErrNotCrash) {
		return nil, nil // an empty or torn file: the signal tells
	}
	return report, err
}

// locate says by the flight record whether the crash happened in a walk. Without the crashed thread's id any thread in a walk will do: a
// fault while the handler blocks signals kills at once, and leaves no error file.
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

// isFatal says whether a signal is one that a program brings on itself.
func isFatal(s syscall.Signal) bool {
	switch s {
	case syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGILL, syscall.SIGFPE, syscall.SIGABRT, syscall.SIGTRAP, syscall.SIGSYS:
		return true
	default:
		return false
	}
}

// failure says what the workload did by itself, nil when it verified its result.
func (t *trial) failure(memory string) (*misstepv1.ApplicationFailure, error) {
	result := t.jvm.Result()
	switch {
	case t.verdict.failure != nil:
		return t.verdict.failure, nil
	case t.cgroup.OutOfMemory():
		return &misstepv1.ApplicationFailure{
			Reason: "memory", Message: fmt.Sprintf("the kernel killed it for using more than its limit of %d MiB", t.limits.memory>>20),
		}, nil
	case result.Signal != 0 && memory == "":
		return nil, fmt.Errorf("run JVM: it was killed from outside by %s; look for the kernel's out-of-memory killer", unix.SignalName(result.Signal))
	case fromOutside(result.ExitCode):
		return nil, fmt.Errorf("run JVM: it was asked from outside to end (exit code %d)", result.ExitCode)
	}
	stdout, stderr := t.stdout.Tail(), t.stderr.Tail()
	if t.checked() && result.ExitCode != 0 && !t.status.Started {
		if line := agentRefusal(stderr, stdout); line != "" {
			return nil, refused(t.folder.Path, line)
		}
	}
	failure := t.manifest.Judge(result.ExitCode, stdout, stderr)
	if failure == nil {
		return nil, nil
	}
	if memory != "" {
		failure = &misstepv1.ApplicationFailure{Reason: "memory", Message: memory}
	}
	const little = 1 << 20
	if free, known := scratch.Free(t.folder.Path); known && free < little {
		return nil, scratch.Explain(t.folder.Path, fmt.Errorf("run JVM: %w (the workload said: %s)", syscall.ENOSPC, failure.GetMessage()))
	}
	return failure, nil
}

// fromOutside knows the exit codes of a JVM that ended in order on SIGHUP, SIGINT or SIGTERM: 128 and the signal's number.
func fromOutside(code int) bool {
	return code == 128+int(syscall.SIGHUP) || code == 128+int(syscall.SIGINT) || code == 128+int(syscall.SIGTERM)
}

// refused is the error about an agent that did not start. It will refuse the same recipe again, unless it was the disk that was full.
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
	regexp.MustCompile(`(?m)^.*(?:agent library failed|Could not find agent library|processing of -javaagent failed|Error opening zip file or JAR manifest missing|Unable to open patch).*$`),
}

// agentRefusal finds the line by which our agent, or HotSpot about it, says that it cannot start.
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
