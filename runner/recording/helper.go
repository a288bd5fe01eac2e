package recording

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"misstep/internal/capped"
	"misstep/internal/sandbox"
)

// Limits of one reading. The zero value of a field means its default.
type Limits struct {
	// HeapBytes is the -Xmx of the helper. Default 256 MiB.
	HeapBytes int64
	// ChunkBytes is the size of the largest chunk that is read; a larger one is a Problem. JFR's chunks have 12 MiB and what came
	// between the decision to rotate and the rotation. Default 64 MiB.
	ChunkBytes int64
	// Frames of a stack trace that are read. Default 4,096, twice what JFR can record.
	Frames int
	// OutputBytes of the helper's stream, after which the summary comes: judges hold up to five times as much. Default 256 MiB, of
	// which JFR's recordings of the runner's trials have hardly more (profiler.Settings.Bytes).
	OutputBytes int64
	// Bytes of the file, after which Parse reads no chunk. Default 256 MiB.
	Bytes int64
	// Time that the reading may take. Default 5 minutes.
	Time time.Duration
	// Of a chunk that Parse reads: its constants and the references to them that are told apart, of up to 64 bytes each, and the
	// frames of its stacks, of 24.
	entries, frames int
}

func (l Limits) orDefaults() Limits {
	if l.HeapBytes == 0 {
		l.HeapBytes = 256 << 20
	}
	if l.ChunkBytes == 0 {
		l.ChunkBytes = 64 << 20
	}
	if l.Frames == 0 {
		l.Frames = 4096
	}
	if l.OutputBytes == 0 {
		l.OutputBytes = 256 << 20
	}
	if l.Bytes == 0 {
		l.Bytes = 256 << 20
	}
	if l.Time == 0 {
		l.Time = 5 * time.Minute
	}
	if l.entries == 0 {
		l.entries = 1 << 22
	}
	if l.frames == 0 {
		l.frames = 1 << 23
	}
	return l
}

// Helper is the JVM that parses recordings.
type Helper struct {
	// Java is the path of the java command, of JDK 17 or later.
	Java string
	// Jar is the path of misstep-recording.jar.
	Jar string
	// Box confines it; nil means one of its own, by this process's policy, in which it can read the file whoever may.
	Box *sandbox.Box
}

// ErrMemory says that the helper's heap was too small for a chunk.
var ErrMemory = errors.New("the helper ran out of memory")

// stderrBytes of the helper are kept for the error's text.
const stderrBytes = 4 << 10

// Usage is what a reading cost.
type Usage struct {
	// CPU time of the helper, MaxRSS its highest resident set in bytes.
	CPU    time.Duration
	MaxRSS int64
}

// Read reads a recording, see the function Read for visit and the summary. A broken recording is no error: its faults are Problems.
// An error means that the file cannot be read, that the helper failed or took too long, or it is visit's.
func (h Helper) Read(ctx context.Context, file string, limits Limits, visit func(Record) error) (Summary, Usage, error) {
	limits = limits.orDefaults()
	path, err := filepath.Abs(file)
	if err == nil {
		h.Jar, err = filepath.Abs(h.Jar) // the helper runs in another folder
	}
	if err != nil {
		return Summary{}, Usage{}, fmt.Errorf("read %s: %w", file, err)
	}
	ctx, cancel := context.WithTimeout(ctx, limits.Time)
	defer cancel()
	cmd := exec.CommandContext(ctx, h.Java, h.arguments(path, limits)...)
	cmd.Env = []string{"LC_ALL=C.UTF-8"} // a JAVA_TOOL_OPTIONS must not reach it
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	cmd.WaitDelay = time.Second
	var stderr bytes.Buffer
	cmd.Stderr = capped.New(&stderr, stderrBytes)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return Summary{}, Usage{}, fmt.Errorf("read %s: %w", file, err)
	}
	box, err := h.box(path)
	if err != nil {
		return Summary{}, Usage{}, fmt.Errorf("read %s: %w", file, err)
	}
	if err := box.Start(cmd, nil); err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			return Summary{}, Usage{}, tookTooLong(file, limits, err)
		}
		return Summary{}, Usage{}, fmt.Errorf("start the helper that reads recordings: %w", err)
	}
	summary, err := Read(stdout, visit)
	if err != nil && !errors.Is(err, ErrNoEnd) {
		cancel() // it may have more to write
	}
	ended := box.Wait(cmd)
	usage := usageOf(cmd)
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		err = tookTooLong(file, limits, ctx.Err())
	case errors.Is(err, ErrNoEnd):
		if bytes.Contains(stderr.Bytes(), []byte("OutOfMemoryError")) {
			err = errors.Join(err, ErrMemory)
		}
		err = fmt.Errorf("read %s: %w (the helper's end: %s)", file, errors.Join(err, ended), bytes.TrimSpace(stderr.Bytes()))
	case err == nil && ended != nil:
		err = fmt.Errorf("read %s: the helper ended with %w: %s", file, ended, bytes.TrimSpace(stderr.Bytes()))
	}
	return summary, usage, err
}

// Reads lists the folders and files that the helper needs.
func (h Helper) Reads() []string {
	return append(sandbox.Java(h.Java), h.Jar)
}

func tookTooLong(file string, limits Limits, err error) error {
	return fmt.Errorf("read %s: the helper took more than %v: %w", file, limits.Time, err)
}

// box is the helper's, or one for a file with an absolute path.
func (h Helper) box(path string) (*sandbox.Box, error) {
	if h.Box != nil {
		return h.Box, nil
	}
	s, err := sandbox.Current()
	if err != nil {
		return nil, err
	}
	return s.Box(sandbox.Needs{Read: append(h.Reads(), path), Override: true}), nil
}

// largeRecording is the size of a file, in bytes, from which C2 saves more than it costs: some four seconds of CPU time.
const largeRecording = 128 << 20

// arguments of the JVM. Most recordings are small, so that C1 alone and the serial collector are faster than the defaults.
func (h Helper) arguments(file string, limits Limits) []string {
	options := []string{
		"-Xmx" + strconv.FormatInt(limits.HeapBytes, 10), "-XX:MaxMetaspaceSize=64m", "-XX:ReservedCodeCacheSize=32m",
		"-XX:+UseSerialGC", "-XX:-UsePerfData",
	}
	if info, err := os.Stat(file); err != nil || info.Size() < largeRecording {
		options = append(options, "-XX:TieredStopAtLevel=1")
	}
	return append(options, "-jar", h.Jar,
		file, strconv.FormatInt(limits.ChunkBytes, 10), strconv.Itoa(limits.Frames), strconv.FormatInt(limits.OutputBytes, 10))
}

func usageOf(cmd *exec.Cmd) Usage {
	if cmd.ProcessState == nil {
		return Usage{}
	}
	usage := Usage{CPU: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
	if r, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		usage.MaxRSS = r.Maxrss << 10
	}
	return usage
}
