package jvm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"misstep/agent"
	"misstep/internal/shorten"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/runner/process"
	"misstep/runner/scratch"
)

// startLimit bounds the start of a JVM that does nothing, which takes less than a second on an idle machine.
const startLimit = 50 * time.Second

// maxSaid bounds what is quoted of a JVM's output in bytes.
const maxSaid = 400

// Starts starts a JDK as a trial does, under the agent if there is one, and has it print its version: in a folder and a control
// group of its own, as the JVM's user, with the trial's environment. The error says what this machine lacks. digest is that of the
// JDK.
func (e *Executor) Starts(ctx context.Context, home string, feature int, digest string) (err error) {
	if err := e.Open(); err != nil {
		return err
	}
	folder, err := e.area.New()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, folder.Remove()) }()
	r := &misstepv1.Recipe{Jdk: &misstepv1.Jdk{Digest: digest}}
	if e.Agent.Library != "" {
		r.Checks = []*misstepv1.Check{{Name: recipe.GstAsgct, Share: agent.StartShare}}
	}
	t := newTrial(e, r, folder, home, feature)
	t.box = e.Sandbox.Box(t.needs())
	if err := t.makeFolders(); err != nil {
		return err
	}
	t.args = t.fixedFlags()
	if t.checked() {
		loaded, err := t.agent(ctx)
		if err != nil {
			return err
		}
		t.args = append(t.args, loaded...)
	}
	// The settings are shown because on 8 the launcher prints the version without entering an instrumented method.
	t.args = append(t.args, "-XshowSettings:locale", "-version")
	if t.cgroup, err = e.cgroups.New(t.name, backstop(t.limits.memory)); err != nil {
		return fmt.Errorf("%w; make the control group of this process writable (delegate it), or start the runner outside of it",
			err)
	}
	defer func() { err = errors.Join(err, t.cgroup.Remove()) }()
	if err := t.start(); err != nil {
		return scratch.Explain(folder.Path, err)
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	select {
	case <-t.jvm.Done():
	case <-ctx.Done():
		t.jvm.Kill()
		<-t.jvm.Done()
		return fmt.Errorf("java -version under the agent does not end: %w; this machine is overloaded or the JDK is broken",
			ctx.Err())
	}
	return t.started()
}

// started returns nil if the JVM ended well and the agent was active in it.
func (t *trial) started() error {
	switch result := t.jvm.Result(); {
	case result.Err != nil:
		return scratch.Explain(t.folder.Path, result.Err)
	case result.ExitCode != 0:
		said := strings.Join(strings.Fields(string(t.stderr.Tail())+"\n"+string(t.stdout.Tail())), " ")
		return fmt.Errorf("java -version ended with code %d, signal %d: %s; try %s -version as user %d", result.ExitCode,
			result.Signal, shorten.To(said, maxSaid), t.java(), t.box.UID())
	}
	if t.readStatus(); t.checked() && !t.status.Started {
		return errors.Join(fmt.Errorf("the agent %s did not start in %s; build it for this machine with `make agent`",
			t.executor.Agent.Library, t.java()), t.unread)
	}
	return nil
}

// CheckCgroups returns an error if control groups cannot be made any more where they could when the executor was opened.
func (e *Executor) CheckCgroups() error {
	if err := e.Open(); err != nil {
		return err
	}
	if now := process.DetectCgroups(); now != e.cgroups {
		return fmt.Errorf("there was %s when this runner started, now there is %s; delegate the group again or restart the runner",
			e.cgroups, now)
	}
	return nil
}
