package jvm

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"misstep/agent"
	"misstep/internal/sandbox"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/runner"
	"misstep/runner/perturb"
	"misstep/runner/scratch"
	"misstep/workloads"
)

// Names inside a trial's folder.
const (
	fileStdout  = "stdout"
	fileStderr  = "stderr"
	fileCrash   = "hs_err.log"
	dirWork     = "work"
	dirTemp     = "tmp"
	dirHome     = "home"
	dirAgent    = "agent"
	fileStatus  = "status.bin"
	fileShadows = "shadows.txt" // the shadow stacks of a JVM in which a walk hangs
	fileRecords = FileRecords
	fileLog     = "agent.log"
)

// FileSchedule is the name of the schedule log among a trial's evidence.
const FileSchedule = "schedule.log"

// FileKernelDump is the name of the kernel's debug dump of run queues and tasks, written when it ejected the scheduler.
const FileKernelDump = "kernel-dump.txt"

// FileRecording is the name of the profiler's recording among a trial's evidence.
const FileRecording = "recording.jfr"

func (t *trial) path(names ...string) string {
	return filepath.Join(append([]string{t.folder.Path}, names...)...)
}

// checked reports whether the agent is loaded.
func (t *trial) checked() bool { return recipe.NeedsAgent(t.recipe.GetChecks()) }

// flags returns the JVM flags of a recipe, the same wherever it runs: those that it may override, then its workload's, then its
// own.
func flags(r *misstepv1.Recipe, invocation workloads.Invocation) []string {
	all := append(preciseFrames(), invocation.JVMFlags...)
	return append(all, r.GetJvmFlags()...)
}

// command creates the folders and composes the JVM's arguments. Later flags override earlier ones, hence the order: those that a
// recipe may override, the workload's, the recipe's, those that the trial relies on.
func (t *trial) command(ctx context.Context) ([]string, error) {
	if err := t.makeFolders(); err != nil {
		return nil, err
	}
	invocation, err := t.manifest.Invocation(t.workload, t.recipe.GetWorkload(), t.path(dirTemp))
	if err != nil {
		return nil, runner.Permanent(err)
	}
	args := append(flags(t.recipe, invocation), t.fixedFlags()...)
	profiled, err := t.profile()
	if err != nil {
		return nil, err
	}
	args = append(args, profiled...)
	if t.checked() {
		loaded, err := t.agent(ctx)
		if err != nil {
			return nil, err
		}
		args = append(args, loaded...)
	}
	return append(args, invocation.Args...), nil
}

// needs are what a trial needs of this machine.
func (t *trial) needs() sandbox.Needs {
	e := t.executor
	n := sandbox.Needs{
		Write: []string{t.folder.Path},
		Read:  []string{t.home, t.workload, e.PatchCache, e.Profilers},
		// For async-profiler, and the breakpoints of the perturbing scheduler.
		Perf: t.recipe.GetProfiler().GetName() == recipe.ProfilerAsync || perturb.Of(t.recipe) != nil,
	}
	if e.Agent.Library != "" {
		n.Read = append(n.Read, filepath.Dir(e.Agent.Library), filepath.Dir(e.Agent.Jar))
	}
	if e.Recording.Jar != "" {
		n.Read = append(n.Read, e.Recording.Reads()...)
	}
	return n
}

// fixedFlags are the JVM flags that every trial relies on.
func (t *trial) fixedFlags() []string {
	all := []string{
		"-XX:ErrorFile=" + t.path(fileCrash),
		"-XX:+PerfDisableSharedMem", // otherwise /tmp/hsperfdata_USER/PID outlives a killed JVM
		"-Duser.home=" + t.path(dirHome),
	}
	if t.feature >= 9 {
		all = append(all, "-XX:-CreateCoredumpOnCrash")
	}
	return all
}

// makeFolders makes the folders, which belong to the JVM's user.
func (t *trial) makeFolders() error {
	for _, dir := range t.folders() {
		if err := os.MkdirAll(t.path(dir), 0o700); err != nil {
			return scratch.Explain(t.folder.Path, fmt.Errorf("make trial folder: %w", err))
		}
		if err := t.box.Own(t.path(dir)); err != nil {
			return fmt.Errorf("make trial folder: %w", err)
		}
	}
	return nil
}

// folders are the folders of a trial.
func (t *trial) folders() []string {
	all := []string{"", dirWork, dirTemp, dirHome, dirAgent}
	if t.profiler() != nil {
		all = append(all, dirProfile)
	}
	return all
}

func (t *trial) agent(ctx context.Context) ([]string, error) {
	e := t.executor
	identity := t.recipe.GetJdk().GetDigest()
	if identity == "" { // a recipe written by hand: the folder identifies the JDK
		identity = t.home
	}
	options, patch := agent.OptionsOf(t.recipe, t.path(dirAgent)), ""
	options.Budget = t.budget
	if perturb.Of(t.recipe).GetMechanism() == misstepv1.MechanismAgent {
		options.Plan = t.path(dirAgent, agent.FilePlan)
	}
	if options.NeedsMethods() {
		var err error
		if patch, err = agent.Prepare(ctx, e.Agent, t.java(), t.feature, e.PatchCache, identity); err != nil {
			return nil, scratch.Explain(e.PatchCache, err)
		}
	}
	args, err := agent.JVMArgs(e.Agent, patch, t.feature, options)
	if err != nil {
		return nil, runner.Permanent(err)
	}
	return args, nil
}

func (t *trial) java() string { return filepath.Join(t.home, "bin", "java") }

// environment returns the JVM's whole environment: nothing is inherited, so that the runner's JAVA_TOOL_OPTIONS, JDK_JAVA_OPTIONS,
// _JAVA_OPTIONS, CLASSPATH, LD_* and the like do not change a trial.
func (t *trial) environment() []string {
	return []string{
		"PATH=/usr/local/bin:/usr/bin:/bin",
		"LANG=C.UTF-8",
		"TZ=UTC",
		"HOME=" + t.path(dirHome),
		"TMPDIR=" + t.path(dirTemp),
		"JAVA_HOME=" + t.home,
	}
}

// script returns a shell script with the command line and the folders that it needs. It does not fork but becomes the JVM by exec,
// so that the JVM's threads have the same paths of creation as in the trial's schedule log.
// The files, named by their paths, are written before.
func script(java string, args []string, files []exhibit, folders ...string) []byte {
	var b strings.Builder
	b.WriteString("# The command needs these folders, which were removed after the trial:\n# mkdir -p")
	for _, folder := range folders {
		b.WriteString(" " + quote(folder))
	}
	b.WriteString("\n")
	for _, f := range files {
		const end = "end-of-file"
		fmt.Fprintf(&b, "cat >%s <<'%s'\n%s%s\n", quote(f.name), end, f.data, end) // the data ends with a line break
	}
	b.WriteString("exec " + quote(java))
	for _, arg := range args {
		b.WriteString(" \\\n  " + quote(arg))
	}
	b.WriteString("\n")
	return []byte(b.String())
}

func quote(word string) string {
	if word != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+:./,@%") == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
