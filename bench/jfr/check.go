package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"misstep/app/jfrcheck"
	"misstep/bench"
	"misstep/bench/trial"
	"misstep/deploy/jdk"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/runner/profiler"
	"misstep/runner/recording"
)

// checkedBytes is the size of each recording that is checked: chunks of real ones one after the other, many times. The helper and
// the checks keep what one chunk refers to, so that each costs what it costs once; tables of a program's methods and call sites do
// not grow as those of a program do that runs so long.
const checkedBytes = 1 << 30

// checking is what `misstep jfr check` needs for a recording of checkedBytes.
type checking struct {
	JDK, Profiler string
	ClassFiles    bool
	Bytes         int64
	Samples       uint64
	Wall, CPU     time.Duration
	// Memory is the most that this process had resident, in bytes.
	Memory int64
}

// rate is in megabytes (10⁶) by second of CPU time, which is what one core does.
func (c checking) rate() float64 { return float64(c.Bytes) / 1e6 / c.CPU.Seconds() }

// measureCheck checks recordings of JFR, on 17 and the newest JDK, and of async-profiler, without and with class files.
func measureCheck(ctx context.Context, bed *trial.Bed, until time.Time) ([]checking, error) {
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	newest := slices.MaxFunc(bed.JDKs, func(a, b jdk.Entry) int { return a.Feature - b.Feature }).Feature
	var all []checking
	for _, of := range []struct {
		profiler string
		feature  int
	}{{recipe.ProfilerJFR, newest}, {recipe.ProfilerAsync, newest}, {recipe.ProfilerJFR, 17}} {
		on, ok := bed.JDK(of.feature)
		if !ok {
			continue
		}
		file, err := longRecording(ctx, bed, of.profiler, on)
		for _, jdk := range []string{"", on.Path} {
			var c checking
			if err == nil {
				c, err = checkOnce(ctx, file, jdk)
			}
			if ctx.Err() != nil {
				return all, nil //nolint:nilerr // the budget is used up
			}
			if err != nil {
				return nil, err
			}
			c.JDK, c.Profiler = on.Name, of.profiler
			all = append(all, c)
		}
		if err := os.Remove(file); err != nil {
			return nil, fmt.Errorf("remove the recording: %w", err)
		}
	}
	return all, nil
}

// longRecording records short runs of some workloads, and writes their recordings to a file again and again.
func longRecording(ctx context.Context, bed *trial.Bed, name string, on jdk.Entry) (string, error) {
	var parts [][]byte
	r := &misstepv1.Recipe{Profiler: &misstepv1.Profiler{Name: name, Interval: durationpb.New(5 * time.Millisecond)}}
	for _, workload := range intervalWorkloads {
		out, err := os.MkdirTemp(bed.Dir, "recording-")
		if err != nil {
			return "", fmt.Errorf("make the recording's folder: %w", err)
		}
		place := profiler.Place{Out: out, Work: out, Files: out}
		flags, err := started(r, &place, on)
		if err != nil {
			return "", err
		}
		spec := trial.Spec{JDK: on, Workload: workload.name, Arguments: workload.arguments, Repetitions: 1, Flags: flags}
		result, err := bed.Run(ctx, spec, nil)
		if err == nil && result.Failure != "" {
			err = errors.New(result.Failure)
		}
		if err != nil {
			return "", err
		}
		p, err := profiler.Of(r)
		if err != nil {
			return "", err
		}
		files, err := profiler.Recordings(p, place)
		if err != nil {
			return "", err
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				return "", fmt.Errorf("read the recording: %w", err)
			}
			parts = append(parts, data)
		}
	}
	if len(parts) == 0 {
		return "", fmt.Errorf("%s left no recording", name)
	}
	return repeated(filepath.Join(bed.Dir, "long.jfr"), parts, checkedBytes)
}

// repeated writes the parts to a file, one after the other, until it has so many bytes.
func repeated(path string, parts [][]byte, bytes int64) (string, error) {
	file, err := os.Create(path)
	if err != nil {
		return "", fmt.Errorf("make the recording: %w", err)
	}
	var written int64
	for i := 0; written < bytes && err == nil; i++ {
		var n int
		n, err = file.Write(parts[i%len(parts)])
		written += int64(n)
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return "", fmt.Errorf("write the recording: %w", err)
	}
	return path, nil
}

func checkOnce(ctx context.Context, file, jdk string) (checking, error) {
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0o600); err != nil { // VmHWM begins anew (proc(5))
		return checking{}, fmt.Errorf("forget this process's peak of memory: %w", err)
	}
	began, before := time.Now(), ownCPU()
	r, failed, err := jfrcheck.Run(ctx, recording.Parse, jfrcheck.Options{
		Files: []string{file}, JDK: jdk, TempDir: filepath.Dir(file), MaxBytes: math.MaxInt64, Top: 8,
	})
	if err = errors.Join(append(failed, err)...); err != nil {
		return checking{}, err
	}
	memory, err := ownPeak()
	if err != nil {
		return checking{}, err
	}
	c := checking{
		ClassFiles: jdk != "", Bytes: r.Recordings[0].Bytes, Wall: time.Since(began), CPU: ownCPU() - before,
		Memory: memory,
	}
	for _, s := range r.Samplers {
		c.Samples += s.Samples
	}
	return c, nil
}

// ownCPU is the CPU time of this process.
func ownCPU() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// ownPeak is the most that this process had resident, in bytes.
func ownPeak() (int64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, fmt.Errorf("read this process's peak of memory: %w", err)
	}
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "VmHWM:" {
			kib, err := strconv.ParseInt(fields[1], 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("read this process's peak of memory: %w", io.ErrUnexpectedEOF)
}

func checkGoals(all []checking) []bench.Goal {
	slowest, largest := math.NaN(), math.NaN()
	for i, c := range all {
		if i == 0 || c.rate() < slowest {
			slowest = c.rate()
		}
		if i == 0 || float64(c.Memory)/(1<<20) > largest {
			largest = float64(c.Memory) / (1 << 20)
		}
	}
	return []bench.Goal{
		{Name: "jfr check on one core, the slowest recording", Goal: 50, Measured: slowest, Unit: "MB/s", AtLeast: true},
		{Name: "jfr check, memory for 1 GiB, the largest", Goal: 512, Measured: largest, Unit: "MiB"},
	}
}

func checkTables(all []checking) []bench.Table {
	t := bench.Table{
		Title:   "check: misstep jfr check on recordings of 1 GiB, chunks of three workloads again and again",
		Columns: []string{"JDK", "profiler", "class files", "samples", "wall", "CPU", "MB/s of CPU", "MiB resident"},
	}
	for _, c := range all {
		files := "no"
		if c.ClassFiles {
			files = "yes"
		}
		t.Rows = append(t.Rows, []string{
			c.JDK, c.Profiler, files, fmt.Sprint(c.Samples), c.Wall.Round(time.Millisecond).String(),
			c.CPU.Round(time.Millisecond).String(), fmt.Sprintf("%.1f", c.rate()), fmt.Sprint(c.Memory >> 20),
		})
	}
	return []bench.Table{t}
}
