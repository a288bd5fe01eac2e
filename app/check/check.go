package check

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"misstep/agent"
	"misstep/app/local"
	"misstep/internal/atomicfile"
	"misstep/internal/regular"
	"misstep/known"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/runner/jvm"
)

// Options of a check.
type Options struct {
	Installation local.Installation
	// Command is the program with its arguments: the java of a JDK.
	Command []string
	Selection
	// Budget is the share of a thread's CPU time that its entry checks may take, 0 for their share of method entries.
	Budget float64
	// For is the time after which the program is asked to end, by SIGTERM; 0 for never. KillAfter is the time after that in which
	// it has to end; then SIGKILL ends it. 0 waits for it.
	For, KillAfter time.Duration
	Bundling       Bundling
	// Known bugs of the caller's own, which come before the built-in ones.
	Known known.Catalogue
	// Out is a folder, new or empty, for what was observed; empty for a temporary one.
	Out string
	// Stdin, Stdout and Stderr are the program's.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Logger         *slog.Logger
	// Say tells what is being done, a line without its end; nil keeps silent.
	Say func(line string)
}

func (o Options) say(format string, args ...any) {
	if o.Say != nil {
		o.Say(fmt.Sprintf(format, args...))
	}
}

// FileOutcome is the name of the outcome, as canonical JSON, in the folder Options.Out.
const FileOutcome = "outcome.json"

const sharedRecording = "the recording was not judged: JVMs with the arguments of the program's own JVM write to it, too"

// Run runs the program to its end and reports what was found. A *NotStartedError means that it could not be started; with any other
// error it may have run. A signal to this process is passed on to the program and does not end the context's work, unless it came
// before the program had started.
func Run(ctx context.Context, o Options) (*Report, error) {
	c := startClock()
	path, err := lookUp(o.Command[0])
	if err != nil {
		return nil, err
	}
	home := homeOf(path)
	if home == "" {
		return nil, fmt.Errorf("%s is not the java of a JDK: give the command that starts the JVM, such as java -jar app.jar, "+
			"or check every JVM that it starts with --all-jvms", o.Command[0])
	}
	feature, build, err := describe(ctx, o.Installation, home)
	if err != nil {
		return nil, err
	}
	bundler, err := o.bundler()
	if err != nil {
		return nil, err
	}
	dir, remove, err := folder(o.Out)
	if err != nil {
		return nil, err
	}
	defer remove()
	r, err := o.recipe(build, flagsOf(o.Command[1:]))
	if err != nil {
		return nil, err
	}
	given := environmentOptions(os.Environ())
	if err := conflict(r, home, given); err != nil {
		return nil, err
	}
	executor, err := executor(o.Installation, dir, o.Logger)
	if err != nil {
		return nil, err
	}
	side := jvm.Alongside{Recipe: r, Home: home, Feature: feature, Budget: o.Budget, Dir: dir}
	args, err := executor.Arm(ctx, side)
	if err != nil {
		return nil, err
	}
	p := program{path: path, args: append([]string{o.Command[0]}, append(args, o.Command[1:]...)...), Options: o}
	ended, err := p.run(ctx)
	if err != nil {
		return nil, err
	}
	c.ran(&p)
	ctx = context.WithoutCancel(ctx) // what it left is examined, whatever ended it
	if err := unwritten(dir); err != nil {
		return nil, err
	}
	if err := p.collect(slices.Concat(given, r.GetJvmFlags()), dir); err != nil {
		return nil, err
	}
	shared := agent.Unchecked(filepath.Join(dir, jvm.AgentDir)) > 0 && recipe.HasProfiler(r.GetProfiler())
	if shared {
		side.Recipe = withoutRecording(r)
	}
	outcome, err := executor.Examine(ctx, side, ended)
	if err != nil {
		return nil, err
	}
	settle(outcome)
	if shared && len(outcome.GetChecks()) == 0 {
		outcome.Kind, outcome.Reason = misstepv1.OutcomeKind_OUTCOME_KIND_VOID, sharedRecording
	}
	if o.Out != "" {
		if err := keep(dir, map[string]proto.Message{FileRecipe: side.Recipe, FileOutcome: outcome}); err != nil {
			return nil, err
		}
	}
	all := report(o.Command, p.pid, side, outcome, o.Known)
	p.conclude(all, ended)
	if status, err := agent.ReadStatus(filepath.Join(dir, jvm.AgentDir, jvm.StatusFile)); err == nil {
		all.observe(status)
	} // else the JVM ended before the agent had started, and the outcome says so
	all.observeFolder(filepath.Join(dir, jvm.AgentDir))
	if shared {
		all.Notes = append(all.Notes, sharedRecording)
	}
	c.end(PhaseExamine)
	if bundler != nil {
		bundler.write(ctx, executor, side, outcome, all)
		c.end(PhaseBundle)
	}
	all.Phases = c.phases
	return all, nil
}

// keep writes messages as canonical JSON.
func keep(dir string, files map[string]proto.Message) error {
	for name, m := range files {
		text, err := misstepv1.Canonical(m)
		if err != nil {
			return err
		}
		if err := atomicfile.Write(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// folder makes the folder for what is observed; remove deletes a temporary one.
func folder(out string) (dir string, remove func(), err error) {
	if out == "" {
		return temporary()
	}
	if dir, err = filepath.Abs(out); err != nil {
		return "", nil, fmt.Errorf("find folder %s: %w", out, err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", nil, fmt.Errorf("make the folder of --out: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", nil, fmt.Errorf("read the folder of --out: %w", err)
	}
	if len(entries) > 0 {
		return "", nil, fmt.Errorf("--out: the folder %s is not empty: name a new one", dir)
	}
	return dir, func() {}, nil
}

// temporary makes a folder in the first place for temporary files that can be written to: a container may have none in /tmp.
func temporary() (dir string, remove func(), err error) {
	var failures []error
	for _, place := range []string{os.TempDir(), "/var/tmp", os.Getenv("XDG_RUNTIME_DIR"), "/dev/shm", "."} {
		if place == "" {
			continue
		}
		if place, err = filepath.Abs(place); err != nil {
			return "", nil, fmt.Errorf("find folder %s: %w", place, err)
		}
		if strings.ContainsAny(place, ",\n") { // separates the agent's options
			continue
		}
		if dir, err = os.MkdirTemp(place, "misstep-check-"); err == nil {
			return dir, func() { _ = os.RemoveAll(dir) }, nil
		}
		failures = append(failures, err)
	}
	return "", nil, fmt.Errorf("make a temporary folder: %w; name a folder that can be written to with --out",
		errors.Join(failures...))
}

// executor makes what arms and examines JVMs. The patches of JDKs are cached beside the catalogue, or in dir where that cannot be
// written to.
func executor(i local.Installation, dir string, logger *slog.Logger) (*jvm.Executor, error) {
	artefacts, err := i.Agent()
	if err != nil {
		return nil, err
	}
	helper, err := i.RecordingHelper()
	if err != nil && !errors.Is(err, local.ErrNoHelper) { // without it, checks that need it are refused
		return nil, err
	}
	cache := i.PatchCache()
	if !writable(cache) {
		cache = filepath.Join(dir, "patch")
	}
	return &jvm.Executor{Agent: artefacts, Recording: helper, Profilers: i.Profilers(), PatchCache: cache, Logger: logger}, nil
}

// writable reports whether files can be made in a folder, which it makes if need be.
func writable(dir string) bool {
	if os.MkdirAll(dir, 0o755) != nil {
		return false
	}
	probe, err := os.CreateTemp(dir, ".probe-")
	if err != nil {
		return false
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name())) == nil
}

// copySince copies a regular file, if it exists and was written after that time: pids come again, and anybody may write to /tmp.
func copySince(began time.Time, from, to string) error {
	in, err := regular.Open(from)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, regular.ErrOther) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("keep %s: %w", from, err)
	}
	defer in.Close()
	info, err := in.Stat()
	if err == nil && info.ModTime().Before(began) {
		return nil
	}
	var out *os.File
	if err == nil {
		out, err = os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	}
	if err == nil {
		_, err = io.Copy(out, in)
		err = errors.Join(err, out.Close())
	}
	if err != nil {
		return fmt.Errorf("keep %s: %w", from, err)
	}
	return nil
}
