package jvm

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/runner"
	"misstep/runner/profiler"
)

const (
	dirProfile = "profile" // for the profiler's files and its recording
	fileJoined = "joined.jfr"
)

// acceptsProfiler returns an error if this runner lacks what a recipe's profiler needs, or what judges its recording does.
func (e *Executor) acceptsProfiler(r *misstepv1.Recipe) error {
	p, err := profiler.Of(r)
	if err != nil {
		return err
	}
	if p != nil {
		if _, err := p.Arguments(profiler.SettingsOf(r), profiler.Place{}); err != nil {
			return err
		}
	}
	if p != nil && p.Library() != "" {
		if _, err := os.Stat(e.library(p)); err != nil {
			return fmt.Errorf("it asks for the profiler %s, but this runner has no %s (%w); fetch it with `make profilers`",
				p.Name(), p.Library(), err)
		}
	}
	for _, c := range r.GetChecks() {
		if !(recordedJudge{}).judges(c.GetName()) {
			continue
		}
		if p == nil {
			return fmt.Errorf("check %s judges the recording of a profiler: set profiler.name", c.GetName())
		}
		if e.Recording.Jar == "" || e.Recording.Java == "" {
			return fmt.Errorf("it asks for %s, but this runner has no helper that reads recordings; build it with `make recording`, "+
				"and add a JDK of 17 or later to the catalogue to run it", c.GetName())
		}
	}
	return nil
}

// library is the path of a profiler's library.
func (e *Executor) library(p profiler.Profiler) string {
	return filepath.Join(e.Profilers, p.Library())
}

// profiler is the recipe's, which accepts has found to be known; nil for none.
func (t *trial) profiler() profiler.Profiler {
	p, err := profiler.Of(t.recipe)
	if err != nil {
		return nil
	}
	return p
}

func (t *trial) place(p profiler.Profiler) profiler.Place {
	return profiler.Place{
		Out: t.path(dirProfile), Work: t.path(dirWork), Files: t.path(dirProfile), Library: t.executor.library(p),
	}
}

// profile writes the profiler's files and returns the JVM's arguments that start it; none without a profiler.
func (t *trial) profile() ([]string, error) {
	p := t.profiler()
	if p == nil {
		return nil, nil
	}
	if err := p.Supports(profiler.JDK{Home: t.home, Feature: t.feature}); err != nil {
		return nil, runner.Permanent(fmt.Errorf("start the profiler %s: %w", p.Name(), err))
	}
	settings := profiler.SettingsOf(t.recipe)
	files, err := p.Files(settings)
	if err != nil {
		return nil, runner.Permanent(err)
	}
	for name, text := range files {
		if err := os.WriteFile(t.path(dirProfile, name), text, 0o644); err != nil {
			return nil, fmt.Errorf("write the settings of %s: %w", p.Name(), err)
		}
		t.written = append(t.written, exhibit{t.path(dirProfile, name), text})
	}
	args, err := p.Arguments(settings, t.place(p))
	if err != nil {
		return nil, runner.Permanent(err)
	}
	return args, nil
}

// profilerRefusal returns why the JVM did not start under the profiler, nil if it did.
func (t *trial) profilerRefusal() error {
	p := t.profiler()
	if p == nil {
		return nil
	}
	if reason := p.Refusal(t.place(p), append(t.stdout.Tail(), t.stderr.Tail()...)); reason != "" {
		return runner.Permanent(fmt.Errorf("start the profiler %s: %s", p.Name(), reason))
	}
	return nil
}

// errNoRecording means that the profiler left none.
var errNoRecording = errors.New("the profiler left no recording")

// recording returns the path of the recording that the JVM left, as one file. It is called after the JVM has ended.
func (t *trial) recording() (string, error) {
	p := t.profiler()
	if p == nil {
		return "", errNoRecording
	}
	joined := t.path(dirProfile, fileJoined)
	if _, err := os.Lstat(joined); err == nil {
		return joined, nil
	}
	files, err := profiler.Recordings(p, t.place(p))
	switch {
	case err != nil:
		return "", err
	case len(files) == 0:
		return "", errNoRecording
	case len(files) == 1:
		return files[0], nil
	}
	err = profiler.Join(files, joined, int64(min(t.limits.disk, math.MaxInt64-1)))
	if errors.Is(err, profiler.ErrTooLarge) {
		err = fmt.Errorf("%w: %w", errNoRecording, err)
	}
	return joined, err
}

// keepsRecording reports whether a recording explains an outcome.
func keepsRecording(outcome *misstepv1.Outcome) bool {
	switch outcome.GetKind() {
	case misstepv1.OutcomeKind_OUTCOME_KIND_CRASH, misstepv1.OutcomeKind_OUTCOME_KIND_HANG:
		return true
	case misstepv1.OutcomeKind_OUTCOME_KIND_MISMATCHES:
		for _, m := range outcome.GetMismatches() {
			if known, ok := recipe.FindCheck(m.GetCheck()); !ok || known.Slot == recipe.NoSlot {
				return true
			}
		}
	default:
	}
	return false
}
