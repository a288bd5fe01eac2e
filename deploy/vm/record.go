package vm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
)

// Recording describes a recorded machine. With the other files of its folder it is all that a replay needs except the same qemu.
type Recording struct {
	Version int      `json:"version"`
	QEMU    string   `json:"qemu"`    // first line of its --version
	Release string   `json:"release"` // of the kernel
	Command []string `json:"command"`
	Memory  int      `json:"memory"` // MiB
	Seed    uint64   `json:"seed"`
	// StoppedClock: qemu's clock was stopped, as in all deterministic machines since version 2. In version 1 qemu read the host's.
	StoppedClock bool `json:"stopped_clock"`
	// Files are the SHA-256 digests of the recording's files by name, the initrd's being that of the unpacked file.
	Files  map[string]string `json:"files"`
	Frames string            `json:"frames"` // SHA-256 of everything that the guest sent; a replay sends the same
	Exit   int               `json:"exit"`
	Run    time.Duration     `json:"run_nanos"`
}

// recordingVersion is the version of new recordings; version 1 is read as well.
const recordingVersion = 2

// Names within a recording's folder.
const (
	recordingMeta  = "recording.json"
	replayFileName = "replay.bin"
	recordedKernel = "vmlinuz"
	recordedInitrd = "initrd.zst"
)

// ErrDeparted reports that a replay differed from its recording.
var ErrDeparted = errors.New("the replay departed from its recording")

// keepRecording completes the folder that holds qemu's log.
func (m *machine) keepRecording(ctx context.Context, dir string, command []string, result Result) error {
	version, err := qemuVersion(ctx, m.qemu)
	if err != nil {
		return err
	}
	r := Recording{
		Version: recordingVersion, QEMU: version, Release: m.release, Command: command, Memory: m.memory, Seed: m.seed,
		StoppedClock: m.clock, Files: map[string]string{}, Frames: result.frames, Exit: result.Exit, Run: result.Run,
	}
	if err := copyFile(filepath.Join(dir, recordedKernel), m.kernel); err != nil {
		return fmt.Errorf("keeping the recording's kernel: %w", err)
	}
	if r.Files[recordedInitrd], err = pack(filepath.Join(dir, recordedInitrd), m.initrd); err != nil {
		return fmt.Errorf("keeping the recording's initrd: %w", err)
	}
	for _, name := range []string{recordedKernel, replayFileName} {
		if r.Files[name], err = digestFile(filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("keeping the recording: %w", err)
		}
	}
	meta, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("describing the recording: %w", err)
	}
	// Written last: a folder without this file is not a recording.
	if err := os.WriteFile(filepath.Join(dir, recordingMeta), append(meta, '\n'), 0o644); err != nil {
		return fmt.Errorf("describing the recording: %w", err)
	}
	return nil
}

// ReadRecording reads the description of the recording in dir, without checking the other files.
func ReadRecording(dir string) (Recording, error) {
	data, err := os.ReadFile(filepath.Join(dir, recordingMeta))
	if err != nil {
		return Recording{}, fmt.Errorf("vm: %s is not a recording: %w", dir, err)
	}
	var r Recording
	if err := json.Unmarshal(data, &r); err != nil {
		return Recording{}, fmt.Errorf("vm: recording %s: %w", dir, err)
	}
	if r.Version < 1 || r.Version > recordingVersion {
		return Recording{}, fmt.Errorf("vm: recording %s is of version %d; this program supports versions 1 to %d", dir, r.Version,
			recordingVersion)
	}
	if err := checkMemory(r.Memory); err != nil {
		return Recording{}, fmt.Errorf("vm: recording %s: %w", dir, err)
	}
	for _, name := range []string{recordedKernel, recordedInitrd, replayFileName} {
		if r.Files[name] == "" {
			return Recording{}, fmt.Errorf("vm: recording %s lists no %s", dir, name)
		}
	}
	return r, nil
}

// ReplayConfig configures the replay of a recording. The zero value is valid.
type ReplayConfig struct {
	EvidenceDir string        // folder for the evidence and console.log
	Limit       time.Duration // of the host's clock; default: derived from the recorded time, at least 30 minutes; none with Debug
	Pin         int           // as in Config
	Debug       string        // gdb's address for qemu to listen at before the first instruction ("tcp:127.0.0.1:1234")
	Log         func(format string, args ...any)
}

// hostSeconds is how many seconds of the host's clock the replay of one second of virtual time may take.
const hostSeconds = 120

// limit returns a replay's default time limit: a recording that took hours takes hours to replay.
func (r Recording) limit() time.Duration {
	return max(30*time.Minute, 10*time.Minute+min(hostSeconds*r.Run, 7*24*time.Hour))
}

// Replay repeats a recorded machine, instruction by instruction, and checks that the guest sends what it sent when it was recorded;
// otherwise it returns ErrDeparted. The recording's files are checked against their digests first.
func Replay(ctx context.Context, dir string, c ReplayConfig, stdout, stderr io.Writer) (Result, error) {
	r, err := ReadRecording(dir)
	if err != nil {
		return Result{}, err
	}
	if c.Limit == 0 && c.Debug == "" {
		c.Limit = r.limit()
	}
	if c.Limit > 0 {
		limited, cancel := context.WithTimeoutCause(ctx, c.Limit, fmt.Errorf("%w: limit of %s", ErrLimit, c.Limit))
		defer cancel()
		ctx = limited
	}
	qemu, err := findQEMU()
	if err != nil {
		return Result{}, fmt.Errorf("vm: %w", err)
	}
	version, err := qemuVersion(ctx, qemu)
	if err != nil {
		return Result{}, fmt.Errorf("vm: %w", err)
	}
	if version != r.QEMU {
		return Result{}, fmt.Errorf("vm: %w",
			unavailable(fmt.Sprintf("the recording was made with %q, but this host has %q", r.QEMU, version),
				"replay it with the qemu that recorded it"))
	}
	scratch, remove, err := makeScratch()
	if err != nil {
		return Result{}, fmt.Errorf("vm: %w", err)
	}
	defer remove()
	initrd := filepath.Join(scratch, "initrd")
	if err := r.verify(dir, initrd); err != nil {
		return Result{}, err
	}
	log := c.Log
	if log == nil {
		log = func(string, ...any) {}
	}
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return Result{}, fmt.Errorf("vm: %w", err)
	}
	m := &machine{
		qemu: qemu, scratch: scratch, log: log, mode: ModeDeterministic, accel: AccelTCG, cpus: 1, memory: r.Memory, seed: r.Seed,
		pin:    c.Pin - 1,
		kernel: filepath.Join(absolute, recordedKernel), release: r.Release, initrd: initrd,
		replayFile: filepath.Join(absolute, replayFileName), replays: true, debug: c.Debug,
		maxEvidence: defaultEvidence,
	}
	if r.StoppedClock {
		if err := m.stopClock(ctx); err != nil {
			return Result{}, fmt.Errorf("vm: %w", err)
		}
	}
	result, err := m.run(ctx, c.EvidenceDir, stdout, stderr)
	if err != nil {
		return result, fmt.Errorf("vm: %w", err)
	}
	if result.frames != r.Frames {
		return result, fmt.Errorf("vm: %w: the guest's output differs (exit %d, recorded %d)", ErrDeparted, result.Exit, r.Exit)
	}
	return result, nil
}

// verify checks the recording's files and unpacks the initrd.
func (r Recording) verify(dir, initrd string) error {
	unpacked, err := unpack(initrd, filepath.Join(dir, recordedInitrd))
	if err != nil {
		return fmt.Errorf("vm: recording %s: unpacking its initrd: %w", dir, err)
	}
	got := map[string]string{recordedInitrd: unpacked}
	for _, name := range []string{recordedKernel, replayFileName} {
		if got[name], err = digestFile(filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("vm: recording %s: %w", dir, err)
		}
	}
	for name, digest := range got {
		if digest != r.Files[name] {
			return fmt.Errorf("vm: recording %s: %s is damaged: its SHA-256 is %s, not %s", dir, name, digest, r.Files[name])
		}
	}
	return nil
}

func findQEMU() (string, error) {
	path, err := exec.LookPath("qemu-system-x86_64")
	if err != nil {
		return "", unavailable("qemu-system-x86_64 is not installed",
			"install the package qemu-system-x86 (deploy/vm/install.sh does)")
	}
	return path, nil
}

func qemuVersion(ctx context.Context, path string) (string, error) {
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("getting qemu's version: %w", err)
	}
	line, _, _ := strings.Cut(string(bytes.TrimSpace(out)), "\n")
	return line, nil
}

func digestFile(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	h := sha256.New()
	if _, err := io.Copy(h, file); err != nil {
		return "", err
	}
	return sum(h), nil
}

func sum(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) }

// pack compresses from into to and returns from's digest.
func pack(to, from string) (string, error) {
	in, err := os.Open(from)
	if err != nil {
		return "", err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return "", err
	}
	encoder, err := zstd.NewWriter(out, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return "", errors.Join(err, out.Close())
	}
	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(encoder, h), in)
	return sum(h), errors.Join(err, encoder.Close(), out.Close())
}

// maxInitrd bounds the size of an unpacked initrd in bytes: the kernel takes none above 2 GiB.
const maxInitrd = 2 << 30

// unpack decompresses what pack wrote and returns the digest of the result.
func unpack(to, from string) (string, error) {
	in, err := os.Open(from)
	if err != nil {
		return "", err
	}
	defer in.Close()
	decoder, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return "", err
	}
	defer decoder.Close()
	out, err := os.Create(to)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(out, h), io.LimitReader(decoder, maxInitrd))
	return sum(h), errors.Join(err, out.Close())
}
