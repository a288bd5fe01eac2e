package jvm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"misstep/agent"
	"misstep/internal/sandbox"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner"
	"misstep/runner/perturb"
	"misstep/runner/process"
	"misstep/runner/scratch"
	"misstep/workloads"
)

// trial is one run of one recipe; it is used by one goroutine.
type trial struct {
	// Constant.
	executor *Executor
	recipe   *misstepv1.Recipe
	limits   limits
	home     string // JAVA_HOME
	feature  int
	workload string // folder
	manifest workloads.Manifest
	folder   *scratch.Folder
	name     string
	box      *sandbox.Box
	report   func(*misstepv1.Progress)

	// Set before the JVM starts.
	args           []string
	written        []exhibit // files that args refer to, named by their paths
	cgroup         *process.Cgroup
	stdout, stderr *process.Stream
	jvm            *process.Process
	budget         float64         // of entry checks, see Alongside.Budget
	ended          process.Result  // of a JVM that somebody else started
	session        perturb.Session // nil without a perturbation, and when it has ended
	schedule       *os.File        // the perturbation's log, nil without one
	kernelDump     bytes.Buffer    // what the kernel wrote when it ejected the scheduler
	perturbation   *misstepv1.PerturbationReport
	excessive      chan string // receives the name of a stream that exceeded its hard bound

	// Mutable: the watchdog's observations.
	verdict  verdict
	maxRSS   uint64
	worked   uint64    // checks at the last look that found new ones
	workedAt time.Time // time of that look
	looks    uint64    // looks of the watchdog at a JVM whose agent had started
	status   agent.Status
	recorded bool  // status was read at least once
	unread   error // why the last attempt to read status failed, nil if it succeeded or there was no record yet
	exhibits []exhibit
	judging  time.Duration // what reading and judging the recording took
}

// verdict of the watchdog; the zero value when the JVM ended by itself.
type verdict struct {
	failure *misstepv1.ApplicationFailure // a limit was exceeded and the JVM was killed
	hang    *misstepv1.Hang
	reason  string
	ejected bool // the perturbation ended before the JVM did
}

// backstop returns the cgroup's limit in bytes, which is above the polled one: the kernel includes page cache and shared pages in
// its count, and kills without a message.
func backstop(limit uint64) uint64 { return limit + limit/4 + 256<<20 }

func (t *trial) run(ctx context.Context) (_ *misstepv1.Outcome, err error) {
	t.report(&misstepv1.Progress{Phase: "start"})
	if t.args, err = t.command(ctx); err != nil {
		return nil, err
	}
	if t.cgroup, err = t.executor.cgroups.New(t.name, backstop(t.limits.memory)); err != nil {
		return nil, err
	}
	defer func() {
		if removed := t.cgroup.Remove(); removed != nil && err == nil {
			err = removed
		}
	}()
	if err := t.perturb(ctx); err != nil {
		return nil, scratch.Explain(t.folder.Path, err)
	}
	if t.schedule != nil {
		defer t.schedule.Close()
	}
	if err := t.start(); err != nil {
		return nil, errors.Join(scratch.Explain(t.folder.Path, err), t.endPerturbation())
	}
	watchErr := t.watch(ctx)
	t.jvm.Kill()
	<-t.jvm.Done()
	if err := errors.Join(watchErr, t.endPerturbation()); err != nil {
		return nil, scratch.Explain(t.folder.Path, err)
	}
	if err := t.jvm.Result().Err; err != nil {
		return nil, scratch.Explain(t.folder.Path, fmt.Errorf("run JVM: %w", err))
	}
	t.report(&misstepv1.Progress{Phase: "collect"})
	t.readStatus()
	outcome, err := t.classify(ctx)
	if err != nil {
		return nil, err
	}
	if err := t.keepEvidence(ctx, outcome); err != nil {
		return nil, err
	}
	return outcome, nil
}

// result is how the JVM ended.
func (t *trial) result() process.Result {
	if t.jvm == nil {
		return t.ended
	}
	return t.jvm.Result()
}

func (t *trial) start() (err error) {
	if _, err := os.Stat(t.java()); err != nil {
		return runner.Permanent(fmt.Errorf("start JVM: %w", err))
	}
	t.excessive = make(chan string, 2)
	stream := func(name string) (*process.Stream, error) {
		output := int64(t.limits.output)
		return process.NewStream(t.path(name), output, output*hardOutput, func() { t.excessive <- name })
	}
	if t.stdout, err = stream(fileStdout); err != nil {
		return err
	}
	if t.stderr, err = stream(fileStderr); err != nil {
		return errors.Join(err, t.stdout.Close())
	}
	spec := process.Spec{
		Path: t.java(), Args: t.args, Env: t.environment(), Dir: t.path(dirWork), Mark: t.folder.Path,
		Stdout: t.stdout, Stderr: t.stderr, Cgroup: t.cgroup, Box: t.box, Core: t.limits.disk,
	}
	if t.session != nil {
		spec.Start = t.session.Start
	}
	t.jvm, err = process.Start(spec)
	if t.box.User() != nil && errors.Is(err, os.ErrPermission) {
		err = runner.Permanent(err)
	}
	if err != nil {
		return errors.Join(err, t.stdout.Close(), t.stderr.Close())
	}
	return nil
}

// readStatus reads the flight record, if the agent has created it.
func (t *trial) readStatus() {
	if !t.checked() {
		return
	}
	status, err := agent.ReadStatus(t.path(dirAgent, fileStatus))
	switch t.unread = nil; {
	case err == nil:
		t.status, t.recorded = status, true
	case !errors.Is(err, os.ErrNotExist):
		t.unread = err
	}
}
