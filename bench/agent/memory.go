package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"misstep/agent"
	"misstep/bench"
	"misstep/bench/trial"
	"misstep/deploy/jdk"
	"misstep/recipe"
)

// compile compiles the two programs that are not workloads and returns the folder of their classes.
func compile(ctx context.Context, on jdk.Entry, dir string) (string, error) {
	classes := filepath.Join(dir, "classes")
	args := []string{"-d", classes, "agent/java/src/test/java/misstep/programs/PairCost.java", "bench/agent/testdata/Parked.java"}
	if out, err := exec.CommandContext(ctx, filepath.Join(on.Path, "bin", "javac"), args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("compile the programs to measure: %w: %s", err, out)
	}
	return classes, nil
}

// java returns the command of a JVM that runs one of the benchmark's programs; without the agent if o is nil.
func java(ctx context.Context, bed *trial.Bed, on jdk.Entry, o *agent.Options, args ...string) (*exec.Cmd, error) {
	launcher := filepath.Join(on.Path, "bin", "java")
	var loaded []string
	if o != nil {
		patch, err := agent.Prepare(ctx, bed.Agent, launcher, on.Feature, filepath.Join(bed.Dir, "patch"), on.Digest.String())
		if err != nil {
			return nil, err
		}
		with := *o
		if with.Out, err = os.MkdirTemp(bed.Dir, "out-"); err != nil {
			return nil, fmt.Errorf("make the agent's folder: %w", err)
		}
		if loaded, err = agent.JVMArgs(bed.Agent, patch, on.Feature, with); err != nil {
			return nil, err
		}
	}
	cmd := exec.CommandContext(ctx, launcher, append(loaded, args...)...)
	cmd.Dir = bed.Dir
	return cmd, nil
}

// instrumentedOnly requests instrumentation, which only checks at entries and in samples cause, and practically checks nothing.
var instrumentedOnly = map[string]float64{recipe.ShadowGst: 1e-15, recipe.Liveness: 1}

// threads holds the time of one push and pop, in nanoseconds, and the memory of a thread, in MiB: of one that waits 50 frames deep,
// and of one that has worked 1,000 frames deep with all checks and traces.
type threads struct {
	Pair         []float64
	Parked, Deep float64
}

func measureThreads(ctx context.Context, bed *trial.Bed, on jdk.Entry, until time.Time) (t threads, err error) {
	classes, err := compile(ctx, on, bed.Dir)
	if err != nil {
		return t, err
	}
	// Measuring memory has no time limit.
	if t.Pair, err = measurePair(ctx, bed, on, classes, time.Now().Add(time.Until(until)/2)); err != nil {
		return t, err
	}
	at := func(depth, work int) (float64, error) {
		return measureThread(ctx, bed, on, func(n int) []string {
			return []string{"-cp", classes, "Parked", strconv.Itoa(n), strconv.Itoa(depth), strconv.Itoa(work)}
		})
	}
	if t.Parked, err = at(50, 0); err != nil {
		return t, err
	}
	t.Deep, err = at(1000, 20)
	return t, err
}

func (t threads) goals() []bench.Goal {
	return []bench.Goal{
		{Name: "push and pop, net, on JDK 25", Goal: 6, Measured: bench.Median(t.Pair), Unit: "ns a call"},
		{Name: "agent's memory of a thread that waits, 50 frames deep", Goal: 1, Measured: t.Parked, Unit: "MiB"},
		{Name: "agent's memory of a thread that has worked, 1,000 frames deep", Goal: 1, Measured: t.Deep, Unit: "MiB"},
	}
}

var pairLine = regexp.MustCompile(`pair (-?[0-9.]+) ns`)

// measurePair returns the nanoseconds of one push and pop, net of the call, measured at least once.
func measurePair(ctx context.Context, bed *trial.Bed, on jdk.Entry, classes string, until time.Time) ([]float64, error) {
	var all []float64
	for len(all) == 0 || len(all) < 9 && ctx.Err() == nil && time.Now().Before(until) {
		o := &agent.Options{Seed: 1, Only: []string{"misstep/programs/PairCost.instrumentedLeaf(I)J"}, Checks: instrumentedOnly}
		cmd, err := java(ctx, bed, on, o, "-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,*PairCost.*Leaf", "-cp",
			classes, "misstep.programs.PairCost")
		if err != nil {
			return nil, err
		}
		out, err := cmd.CombinedOutput()
		if err != nil {
			return nil, fmt.Errorf("measure push and pop: %w: %s", err, out)
		}
		match := pairLine.FindSubmatch(out)
		if match == nil {
			return nil, fmt.Errorf("measure push and pop: no figure in %q", out)
		}
		ns, err := strconv.ParseFloat(string(match[1]), 64)
		if err != nil {
			return nil, fmt.Errorf("measure push and pop: %w", err)
		}
		all = append(all, ns)
	}
	return all, nil
}

// allChecks returns all checks by share; entries is the share of the method entries.
func allChecks(entries float64) map[string]float64 {
	return map[string]float64{
		recipe.GstAsgct: entries, recipe.ShadowGst: entries, recipe.AsgctShadow: 1,
		recipe.AsgctGstBracket: 0.1, recipe.Edges: 0.1, recipe.Liveness: 1,
	}
}

// measureThread returns the MiB that the agent adds per thread: what 400 more threads add with the agent, less what they add
// without.
func measureThread(ctx context.Context, bed *trial.Bed, on jdk.Entry, program func(n int) []string) (float64, error) {
	const few, many = 50, 450
	added := func(o *agent.Options) (float64, error) {
		var sizes []float64
		for _, n := range []int{few, many} {
			size, err := parked(ctx, bed, on, o, program(n))
			if err != nil {
				return 0, err
			}
			sizes = append(sizes, size)
		}
		return (sizes[1] - sizes[0]) / (many - few), nil
	}
	without, err := added(nil)
	if err != nil {
		return 0, err
	}
	with, err := added(&agent.Options{
		Seed: 1, Ratio: 1, Checks: allChecks(0.01), Reference: "trace:0.01", Interval: 50 * time.Microsecond, Jitter: 0.1,
	})
	if err != nil {
		return 0, err
	}
	return with - without, nil
}

// parked returns the resident MiB of a JVM whose threads are parked.
func parked(ctx context.Context, bed *trial.Bed, on jdk.Entry, o *agent.Options, program []string) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	cmd, err := java(ctx, bed, on, o, append([]string{"-Xms64m", "-Xmx64m", "-XX:+AlwaysPreTouch", "-XX:+UseSerialGC"},
		program...)...)
	if err != nil {
		return 0, err
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdin, err1 := cmd.StdinPipe()
	stdout, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		return 0, fmt.Errorf("start %v: %w", program, err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err == nil && strings.TrimSpace(line) != "parked" {
		err = fmt.Errorf("unexpected line %q", line)
	}
	var size float64
	if err == nil {
		size, err = resident(cmd.Process.Pid)
	}
	_, writeErr := io.WriteString(stdin, "end\n")
	if err := errors.Join(err, writeErr, cmd.Wait()); err != nil {
		return 0, fmt.Errorf("run %v: %w: %s", program, err, stderr.Bytes())
	}
	return size, nil
}

// resident returns the resident memory of a process in MiB.
func resident(pid int) (float64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("read resident memory: %w", err)
	}
	for line := range strings.Lines(string(data)) {
		if kib, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(kib), "kB")), 64)
			return n / 1024, err
		}
	}
	return 0, fmt.Errorf("read resident memory: no VmRSS of process %d", pid)
}
