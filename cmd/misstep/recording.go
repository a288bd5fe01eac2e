package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"misstep/bundle"
	"misstep/corpus/memory"
	"misstep/deploy/vm"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner"
	"misstep/runner/guest"
	"misstep/runner/jvm"
)

// replayRecording repeats the machine that a bundle carries.
func (c *replayCommand) replayRecording(ctx context.Context, e *env, b *bundle.Bundle, scratch string) (*misstepv1.Outcome, error) {
	if len(b.Reproducer().GetRecording()) == 0 {
		return nil, errors.New("this bundle carries no recording; replay it without --recording")
	}
	dir := filepath.Join(scratch, "bundle")
	if err := b.Extract(dir); err != nil {
		return nil, err
	}
	return guest.Replay(ctx, filepath.Join(dir, bundle.Recording), memory.New(), vm.ReplayConfig{
		Debug: c.GDB, Log: func(format string, args ...any) { fmt.Fprintf(e.stderr, "vm: "+format+"\n", args...) },
	})
}

// recorder runs tries of a recipe, each with a recording of its machine, until one is worth keeping.
type recorder struct {
	env     *env
	host    *jvm.Executor
	scratch string
	keep    string // folder for the recording to keep; empty records nothing
	last    string
}

// next is the executor for the next try.
func (r *recorder) next() (runner.Executor, error) {
	if r.keep == "" {
		return r.env.route(r.host, "")
	}
	if err := r.drop(); err != nil {
		return nil, err
	}
	r.last = filepath.Join(r.scratch, "recording")
	return r.env.route(r.host, r.last)
}

func (r *recorder) drop() error {
	if r.last == "" {
		return nil
	}
	if err := os.RemoveAll(r.last); err != nil {
		return fmt.Errorf("drop a recording: %w", err)
	}
	return nil
}

// hit keeps the last try's recording; later tries are not recorded.
func (r *recorder) hit() error {
	if r.keep == "" {
		return nil
	}
	if err := os.Mkdir(r.keep, 0o755); err != nil { // it must be new
		return fmt.Errorf("keep the recording: %w", err)
	}
	if err := os.CopyFS(r.keep, os.DirFS(r.last)); err != nil {
		return fmt.Errorf("keep the recording: %w", err)
	}
	fmt.Fprintf(r.env.stderr, "recorded in %s: misstep vm replay %s; a bundle takes it by misstep findings bundle --recording\n", r.keep, r.keep)
	r.keep = ""
	return r.drop()
}
