// Package vm boots a kernel with sched_ext under qemu, runs one command in it, and returns its exit code, its output and its files.
package vm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"misstep/deploy/vm/kernel"
	"misstep/internal/home"
	"misstep/recipe"
)

// Names of the modes: the same as those of the executors whose trials run in such machines, in recipes and campaigns.
const (
	NameShared        = recipe.ExecutorVM
	NameDeterministic = recipe.ExecutorVMDeterministic
)

// Mode selects between speed and determinism.
type Mode int

// Modes.
const (
	ModeUnspecified Mode = iota
	// ModeShared is fast and close to the host, whose root is the guest's, read-only, with a layer in memory above it for what the
	// guest writes. Time is real, so a busy host perturbs the guest: unsuitable for measuring races.
	ModeShared
	// ModeDeterministic has virtual time (one instruction is one nanosecond), one CPU, and no files except those given: the same
	// machine and seed give the same run, whatever the host does meanwhile. It can be recorded and replayed byte for byte.
	ModeDeterministic
)

// String returns the mode's name.
func (m Mode) String() string {
	switch m {
	case ModeShared:
		return NameShared
	case ModeDeterministic:
		return NameDeterministic
	default:
		return "unspecified"
	}
}

// ParseMode parses a mode's name, or its former name on the command line: shared or deterministic.
func ParseMode(name string) (Mode, error) {
	switch name {
	case NameShared, "shared":
		return ModeShared, nil
	case NameDeterministic, "deterministic":
		return ModeDeterministic, nil
	}
	return ModeUnspecified, fmt.Errorf("mode %q: expected %s or %s", name, NameShared, NameDeterministic)
}

// Accel selects how the guest's instructions are executed.
type Accel int

// Accelerators.
const (
	AccelAuto Accel = iota // KVM where it works (probed once per boot of the host), else TCG
	AccelTCG               // qemu's translator: works everywhere, 5 to 16 times slower
	AccelKVM
)

// Tree is a folder or file of the host that a deterministic guest gets.
type Tree struct {
	Host  string   // path on the host
	Guest string   // path in the guest; empty means the same
	Skip  []string // paths relative to Host to leave out
}

// Config configures a machine and its command. The zero value of each field except Mode is a sensible default.
type Config struct {
	Mode  Mode
	Accel Accel
	Home  string       // Misstep's folder; empty means home.Dir()
	Suite kernel.Suite // Debian suite whose newest kernel is booted; default sid
	Guest string       // path of the guest's init; empty means the embedded one

	CPUs   int    // in the shared mode; default 2, the deterministic mode has one
	Memory int    // MiB; default 2048
	Seed   uint64 // seeds all randomness that the guest gets from the machine; deterministic mode only
	Pin    int    // host CPU for a deterministic machine, plus one; default: one of those this process may use

	Dir   string   // working folder in the guest; default: that of this process in the shared mode, / otherwise
	Env   []string // added to a small default environment; the last setting of a name counts
	Root  bool     // run the command as root instead of as an ordinary user
	UID   int      // the ordinary user; default: this process's, or 65534 (nobody) when that is root
	Trees []Tree   // files of a deterministic guest; the shared libraries that their programs need are added

	Evidence    []string // paths in the guest to return, in addition to /evidence ($MISSTEP_EVIDENCE)
	EvidenceDir string   // the host's folder for them and console.log; empty: evidence is dropped
	MaxEvidence int64    // bytes; default 256 MiB

	Limit      time.Duration // of the host's clock, for the whole run; default 10 minutes
	GuestLimit time.Duration // of the guest's clock, for the command; default none

	Record string // folder to create for a recording of the whole machine; deterministic mode only
	Debug  string // gdb's address for qemu to listen at before the first instruction ("tcp:127.0.0.1:1234"); empty: none

	Log func(format string, args ...any) // progress, one line each; nil means none
}

// Result describes a run of the machine.
type Result struct {
	Exit     int           // of the command: its code, 128+signal, 127 when it is not in the guest, 126 when it cannot be executed
	Signal   int           // signal that ended the command; 0: none
	TimedOut bool          // GuestLimit ended the command
	Boot     time.Duration // guest's clock, power-on to command
	Run      time.Duration // guest's clock, command to its end
	Accel    Accel
	Notes    []string // the guest's notes, for example about missing evidence

	frames string // SHA-256 of everything that the guest sent
}

// Errors of a failed machine, as opposed to a failed command. A command's own failure is not an error.
var (
	// ErrUnavailable: this host lacks something; the message names it and the remedy.
	ErrUnavailable = errors.New("no virtual machine here")
	// ErrLimit: Config.Limit ended the machine.
	ErrLimit = errors.New("the machine did not end in time")
	// ErrDied: the machine ended without reporting the command's exit.
	ErrDied = errors.New("the machine died")
)

// Run runs the command in a machine and returns its exit code. The error is about the machine, never about the command. Cancelling
// ctx kills the machine.
func Run(ctx context.Context, c Config, command []string, stdout, stderr io.Writer) (exit int, err error) {
	result, err := Boot(ctx, c, command, stdout, stderr)
	return result.Exit, err
}

// Boot is Run, but returns everything known about the run.
func Boot(ctx context.Context, c Config, command []string, stdout, stderr io.Writer) (result Result, err error) {
	if err := c.complete(); err != nil {
		return Result{}, err
	}
	if len(command) == 0 {
		return Result{}, errors.New("vm: no command")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.Limit, fmt.Errorf("%w: limit of %s", ErrLimit, c.Limit))
	defer cancel()
	scratch, remove, err := makeScratch()
	if err != nil {
		return Result{}, fmt.Errorf("vm: %w", err)
	}
	defer remove()
	if c.Record != "" {
		if err := os.Mkdir(c.Record, 0o755); err != nil {
			return Result{}, fmt.Errorf("vm: making the recording's folder: %w", err)
		}
		defer func() {
			if err != nil { // an incomplete recording is useless and would block the next one
				_ = os.RemoveAll(c.Record)
			}
		}()
	}
	m, err := prepare(ctx, c, command, scratch)
	if err != nil {
		return Result{}, fmt.Errorf("vm: %w", err)
	}
	result, err = m.run(ctx, c.EvidenceDir, stdout, stderr)
	if err != nil {
		return result, fmt.Errorf("vm: %w", err)
	}
	if c.Record != "" {
		if err := m.keepRecording(ctx, c.Record, command, result); err != nil {
			return result, fmt.Errorf("vm: %w", err)
		}
	}
	return result, nil
}

// nobody is the user id of commands that need no root, when this process itself runs as root.
const nobody = 65534

func (c *Config) complete() error {
	if c.Home == "" {
		c.Home = home.Dir()
	}
	if c.Memory == 0 {
		c.Memory = 2048
	}
	if c.CPUs == 0 {
		c.CPUs = 2
	}
	if c.MaxEvidence == 0 {
		c.MaxEvidence = defaultEvidence
	}
	if c.Limit == 0 {
		c.Limit = 10 * time.Minute
	}
	if c.Log == nil {
		c.Log = func(string, ...any) {}
	}
	if c.UID == 0 && !c.Root {
		if c.UID = os.Getuid(); c.UID == 0 {
			c.UID = nobody
		}
	}
	if c.Root {
		c.UID = 0
	}
	switch c.Mode {
	case ModeShared:
		if c.Record != "" || c.Seed != 0 || len(c.Trees) > 0 {
			return errors.New("vm: recording, seeds and trees are for the mode " + NameDeterministic + " only")
		}
		if c.Dir == "" {
			dir, err := os.Getwd()
			if err != nil {
				return fmt.Errorf("vm: %w", err)
			}
			c.Dir = dir
		}
	case ModeDeterministic:
		if c.Accel == AccelKVM {
			return errors.New("vm: a deterministic machine cannot use KVM: its time would be the host's")
		}
		c.Accel, c.CPUs = AccelTCG, 1
		if c.Dir == "" {
			c.Dir = "/"
		}
	default:
		return errors.New("vm: no mode given; expected " + NameShared + " or " + NameDeterministic)
	}
	if !filepath.IsAbs(c.Dir) {
		return fmt.Errorf("vm: the working folder %q is not absolute; give a path that begins with /", c.Dir)
	}
	if err := checkMemory(c.Memory); err != nil {
		return fmt.Errorf("vm: %w", err)
	}
	return nil
}

// defaultEvidence bounds a guest's evidence in bytes, unless Config does.
const defaultEvidence = 256 << 20

func checkMemory(mib int) error {
	if mib < 256 || mib > 1<<20 {
		return fmt.Errorf("%d MiB of memory; the minimum is 256, the maximum 1048576", mib)
	}
	return nil
}

// kernels returns the Fetcher of the machine's kernel.
func (c *Config) kernels() kernel.Fetcher {
	return kernel.Fetcher{Cache: c.cache("kernel"), Suite: c.Suite, Log: c.Log}
}

// cache returns the cache folder of the given kind.
func (c *Config) cache(kind string) string { return filepath.Join(c.Home, "cache", "vm", kind) }
