package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"misstep/app/executors"
	"misstep/app/local"
	"misstep/catalogue"
	"misstep/corpus/memory"
	"misstep/deploy/jdk"
	"misstep/runner"
)

// place is where a side's JDK is installed, and its name there.
type place struct {
	local.Installation
	name string
}

// install finds a side's JDK in the catalogue. A folder gets a catalogue of its own in the folder scratch, which must not exist
// yet, beside the workloads and caches of this machine.
func (c Comparison) install(ctx context.Context, s Side, scratch string) (place, error) {
	build, home := c.Sides[s].JDK, c.Installation.Home
	if _, err := c.Installation.JDKs().Get(build); !errors.Is(err, catalogue.ErrUnknown) {
		return place{c.Installation, build}, err
	}
	failures := []error{os.MkdirAll(scratch, 0o711)}
	for _, shared := range []string{"workloads", "cache"} {
		failures = append(failures, os.MkdirAll(filepath.Join(home, shared), 0o755),
			os.Symlink(filepath.Join(home, shared), filepath.Join(scratch, shared)))
	}
	if err := errors.Join(failures...); err != nil {
		return place{}, fmt.Errorf("make folder for a JDK: %w", err)
	}
	if _, err := jdk.Open(scratch).Add(ctx, s.String(), build, jdk.AddOptions{}); err != nil {
		return place{}, fmt.Errorf("JDK of %s: %w", build, cmp.Or(errors.Unwrap(err), err)) // not about an entry of that name
	}
	return place{local.Installation{Home: scratch, AgentDir: c.Installation.AgentDir}, s.String()}, nil
}

// executor runs trials of one side; the sides share neither scratch nor profilers. One program reads the recordings of both.
func (c Comparison) executor(s Side, at place, scratch string) (runner.Executor, error) {
	host, err := executors.Host(at.Installation, memory.New(), scratch)
	if err != nil {
		return nil, err
	}
	if helper, err := c.Installation.RecordingHelper(); err == nil {
		host.Recording = helper
	}
	if dir := c.Sides[s].Profilers; dir != "" {
		host.Profilers = dir
	}
	return executors.Route(host, c.Installation.Home, "", c.Logger)
}
