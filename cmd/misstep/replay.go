package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"misstep/app/bundles"
	"misstep/app/replay"
	"misstep/bundle"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner/jvm"
)

type replayCommand struct {
	trustFlags
	corpusFlags
	Bundle string `arg:"" help:"Bundle of a finding." type:"path" placeholder:"BUNDLE"`
	JDK    string `name:"jdk" help:"JDK to run on: a folder or a name of the catalogue (default: the bundle's build if it is in the catalogue, else $$JAVA_HOME, else java on the PATH)." predictor:"jdk" placeholder:"PATH"`
	Tries  uint32 `within:"[1,)" help:"Number of tries." default:"10" placeholder:"N"`

	Executor  string `help:"Executor to run on instead of the recipe's: host, vm or vm-deterministic." enum:",host,vm,vm-deterministic" default:""`
	Record    string `help:"Record the machine of the first try that reproduces into this new folder (executor vm-deterministic)." type:"path" placeholder:"DIR"`
	Recording bool   `help:"Repeat the recorded machine in the bundle, instruction by instruction, instead of new tries."`
	GDB       string `address:"tcp:HOST:PORT" name:"gdb" help:"With --recording: wait for a debugger at this address of qemu before the first instruction." placeholder:"tcp:127.0.0.1:1234"`

	JSON bool `help:"Print {bundle, finding, jdk, hits, tries, low, high, reproduced, others, same_schedule}."`
}

// Run repeats a finding.
func (c *replayCommand) Run(ctx context.Context, e *env) error {
	if err := c.checkRecordingFlags(); err != nil {
		return err
	}
	// A replay runs the bundle's program, so its signature comes first.
	if _, err := bundles.Check(c.Bundle, c.Signers); err != nil {
		return err
	}
	b, err := bundles.Open(ctx, e.installation(), c.Bundle, c.location(e))
	if err != nil {
		return err
	}
	defer b.Close()
	result, err := c.replay(ctx, e, b.Bundle)
	if err != nil {
		return fmt.Errorf("replay %s: %w", c.Bundle, err)
	}
	result.Bundle = c.Bundle
	if c.JSON {
		err = e.json(result)
	} else {
		err = renderReplay(e.stdout, result, b.Reproducer().GetFinding())
	}
	switch {
	case err != nil:
		return err
	case result.Tries == 0:
		return result.AllVoid()
	case !result.Reproduced:
		return &exitError{code: exitFound}
	}
	return nil
}

func (c *replayCommand) replay(ctx context.Context, e *env, b *bundle.Bundle) (*replay.Result, error) {
	if c.Recording {
		return replay.Recorded(ctx, b, c.GDB, e.say)
	}
	return replay.Run(ctx, e.installation(), b, replay.Options{
		JDK: c.JDK, Tries: c.Tries, Executor: c.Executor, Record: c.Record, Say: e.say, Logger: e.warnings(),
	})
}

// checkRecordingFlags checks the flags about recordings. A hit may take hours to come: that its recording cannot be kept is
// reported before.
func (c *replayCommand) checkRecordingFlags() error {
	switch {
	case c.GDB != "" && !c.Recording:
		return errors.New("--gdb: want --recording as well: a debugger is for the recorded machine")
	case c.Record == "":
		return nil
	case c.Recording:
		return errors.New("--record, --recording: want one of them, a new recording or the bundle's own")
	}
	if _, err := os.Lstat(c.Record); err == nil {
		return fmt.Errorf("--record %s: it exists, want a new folder", c.Record)
	}
	if info, err := os.Stat(filepath.Dir(c.Record)); err != nil || !info.IsDir() {
		return fmt.Errorf("--record %s: there is no folder %s", c.Record, filepath.Dir(c.Record))
	}
	return nil
}

func renderReplay(w io.Writer, r *replay.Result, f *misstepv1.Finding) error {
	known := misstepv1.KnownText(f)
	if known != "" {
		known = ", known as " + known
	}
	verdict := "not reproduced"
	if r.Reproduced {
		verdict = "reproduced"
	}
	_, err := fmt.Fprintf(w, "%s: %d of %d tries (95 %% interval %.2f–%.2f) on %s\n%s: %s%s\n",
		verdict, r.Hits, r.Tries, r.Low, r.High, r.JDK, f.GetId(), f.GetTitle(), known)
	if err == nil && r.SameSchedule != nil {
		_, err = fmt.Fprintf(w, "%d of %d tries took the decisions of the bundle's %s, byte for byte\n", *r.SameSchedule, r.Tries,
			jvm.FileSchedule)
	}
	var others []string
	for _, name := range slices.Sorted(maps.Keys(r.Others)) {
		others = append(others, fmt.Sprintf("%s %d times", name, r.Others[name]))
	}
	if err == nil && len(others) > 0 {
		_, err = fmt.Fprintf(w, "also seen: %s\n", strings.Join(others, ", "))
	}
	return err
}
