package vm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// machine is one qemu, ready to be started once.
type machine struct {
	qemu, virtiofsd string
	scratch         string // folder for sockets and logs, removed by the caller
	clock           bool   // qemu's gettimeofday is stopped, by the library in scratch
	log             func(string, ...any)

	mode         Mode
	accel        Accel
	cpus, memory int
	seed         uint64
	pin          int // host CPU; negative: any single one
	kernel       string
	release      string
	initrd       string
	replayFile   string // qemu's log of nondeterministic events, which it writes or replays
	replays      bool
	debug        string
	maxEvidence  int64 // bytes
}

// powerOff bounds the time from the guest's last frame to the end of qemu.
const powerOff = time.Minute

// cpuModel is the oldest CPU that every program for x86-64-v2 runs on, with hardware randomness, which under TCG comes from -seed.
// The guest does not see the host's CPU, so a recording does not depend on it.
const cpuModel = "qemu64,+ssse3,+sse4.1,+sse4.2,+popcnt,+cx16,+lahf-lm,+rdrand"

// arguments returns qemu's arguments. streamFD is the number of the inherited descriptor that receives the guest's frames.
func (m *machine) arguments(streamFD int, shareSocket string) []string {
	console := filepath.Join(m.scratch, consoleName)
	args := []string{
		// A guest that has escaped into qemu starts nothing and gains nothing.
		"-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny",
		"-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-monitor", "none", "-nic", "none",
		"-machine", "q35,sata=off,smbus=off,usb=off,vmport=off",
		"-m", strconv.Itoa(m.memory), "-smp", strconv.Itoa(m.cpus),
		"-kernel", m.kernel, "-initrd", m.initrd, "-append", m.commandLine(),
		"-serial", "file:" + console,
		"-chardev", "file,id=frames,path=/dev/fd/" + strconv.Itoa(streamFD),
		// Without ioeventfd qemu serves the port within the guest's instruction, not in another thread at an unpredictable time.
		"-device", "virtio-serial-pci,ioeventfd=off,max_ports=2",
		"-device", "virtserialport,chardev=frames,name=misstep",
	}
	if m.debug != "" {
		args = append(args, "-gdb", m.debug, "-S")
	}
	if m.mode == ModeDeterministic {
		log := "record"
		if m.replays {
			log = "replay"
		}
		icount := "shift=0,sleep=off,rr=" + log + ",rrfile=" + option(m.replayFile)
		return append(args, "-accel", "tcg,thread=single", "-cpu", cpuModel, "-icount", icount,
			"-seed", strconv.FormatUint(m.seed, 10), "-rtc", "base=2026-01-01T00:00:00,clock=vm")
	}
	if m.accel == AccelKVM {
		args = append(args, "-accel", "kvm", "-cpu", "host")
	} else {
		// Not one thread per CPU: with those, a CPU may execute an instruction of the kernel that another CPU has just patched,
		// which the kernel mistakes for a breakpoint and dies of ("Oops: int3"), in 1 boot of 25 on a loaded host with qemu 7.2
		// (docs/figures/0006-vm-executor.md).
		args = append(args, "-accel", "tcg,thread=single", "-cpu", cpuModel)
	}
	return append(args,
		"-object", fmt.Sprintf("memory-backend-memfd,id=memory,size=%dM,share=on", m.memory), "-numa", "node,memdev=memory",
		"-chardev", "socket,id=share,path="+option(shareSocket), "-device", "vhost-user-fs-pci,chardev=share,tag=root")
}

// option escapes a path for qemu's option lists, where a comma ends a value and two commas stand for one.
func option(path string) string { return strings.ReplaceAll(path, ",", ",,") }

// commandLine returns the kernel's command line. Mitigations cost time under TCG and protect nobody here; a panic ends the machine
// at once; and because init is named, an init that cannot be executed causes a panic, where the kernel would otherwise try
// /sbin/init and /bin/sh. Checking the build's own certificate would take a quarter of all instructions of a boot; modules load
// without it.
func (m *machine) commandLine() string {
	return "console=ttyS0 quiet panic=-1 nokaslr mitigations=off 8250.nr_uarts=1 init=/init cryptomgr.notests " +
		"initcall_blacklist=load_system_certificate_list"
}

// environment returns the variables that qemu gets in addition to this process's own.
func (m *machine) environment() []string {
	if !m.clock {
		return nil
	}
	// relative to scratch, where qemu starts: LD_PRELOAD cannot contain a path with spaces or colons
	return []string{"LD_PRELOAD=./" + clockName}
}

// run boots the machine and waits for its end.
func (m *machine) run(ctx context.Context, evidenceDir string, stdout, stderr io.Writer) (Result, error) {
	result := Result{Accel: m.accel}
	console := filepath.Join(m.scratch, consoleName)
	if evidenceDir != "" {
		if err := os.MkdirAll(evidenceDir, 0o755); err != nil {
			return result, fmt.Errorf("making the evidence folder: %w", err)
		}
		defer func() { _ = copyFile(filepath.Join(evidenceDir, consoleName), console) }()
	}
	socket, endShare := "", func() string { return "" }
	if m.mode == ModeShared {
		share, err := startShare(m.virtiofsd, m.scratch)
		if err != nil {
			return result, err
		}
		defer share.process.stop()
		socket, endShare = share.socket, share.end
	}
	sent, err := newFrames(m.scratch)
	if err != nil {
		return result, err
	}
	defer sent.close()
	var said bytes.Buffer
	process, err := start(launch{
		path: m.qemu, args: m.arguments(firstExtraFD, socket), env: m.environment(), dir: m.scratch, output: &said,
		files: []*os.File{sent.write},
		pin:   m.mode == ModeDeterministic, cpu: m.pin,
	})
	if err != nil {
		return result, fmt.Errorf("starting qemu: %w", err)
	}
	sent.ended = process.done
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	go endLongConsole(process, console, end)
	stopKilling := context.AfterFunc(ctx, process.kill)
	defer stopKilling()
	defer process.stop()

	receiver := receiver{dir: evidenceDir, maxEvidence: m.maxEvidence, stdout: stdout, stderr: stderr}
	digest := sha256.New()
	receiveErr := receiver.receive(io.TeeReader(sent, digest))
	if receiveErr != nil {
		process.kill() // its frames are no longer read
	}
	ending := time.AfterFunc(powerOff, process.kill)
	defer ending.Stop()
	exitErr := process.wait()
	shareSaid := endShare()

	result.Notes, result.frames = receiver.notes, sum(digest)
	if receiver.exit != nil {
		e := receiver.exit
		result.Exit, result.Signal, result.TimedOut = e.Code, e.Signal, e.TimedOut
		result.Boot, result.Run = time.Duration(e.BootNanos), time.Duration(e.RunNanos)
	}
	switch {
	case ctx.Err() != nil:
		return result, fmt.Errorf("%w%s", context.Cause(ctx), m.lastWords(&said, shareSaid))
	case receiveErr != nil:
		return result, fmt.Errorf("%w%s", receiveErr, m.lastWords(&said, shareSaid))
	case receiver.exit == nil:
		return result, fmt.Errorf("%w before the command's end (qemu: %s)%s", ErrDied, describe(exitErr),
			m.lastWords(&said, shareSaid))
	case receiver.exit.Failure != "":
		return result, fmt.Errorf("the guest could not run the command: %s%s", receiver.exit.Failure, m.lastWords(&said, shareSaid))
	case m.clock && bytes.Contains(said.Bytes(), []byte(clockName)): // the loader ignores a library that it cannot load
		return result, unavailable("qemu cannot load the library that stops its clock: "+strings.TrimSpace(said.String()),
			"set TMPDIR to a folder that is not mounted noexec")
	case exitErr != nil:
		return result, fmt.Errorf("%w while powering off (qemu: %s)%s", ErrDied, describe(exitErr), m.lastWords(&said, shareSaid))
	}
	return result, nil
}

// maxConsole bounds a guest's console in bytes, which qemu does not; consolePoll is how often it is looked at.
const (
	maxConsole  = 32 << 20
	consolePoll = 200 * time.Millisecond
)

// endLongConsole ends a machine whose console grows too long.
func endLongConsole(p *process, path string, end context.CancelCauseFunc) {
	ticker := time.NewTicker(consolePoll)
	defer ticker.Stop()
	for {
		select {
		case <-p.done:
			return
		case <-ticker.C:
		}
		if info, err := os.Stat(path); err == nil && info.Size() > maxConsole {
			end(fmt.Errorf("%w: its console has more than %d MiB", ErrDied, maxConsole>>20))
			return
		}
	}
}

// readConsole reads a console as far as it is allowed to be.
func readConsole(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxConsole))
}

// consoleName is the name of the file with the guest's console, also in the evidence.
const consoleName = "console.log"

// lastWords returns the output of the daemon and of qemu and the end of the console, for an error.
func (m *machine) lastWords(said *bytes.Buffer, shareSaid string) string {
	var out strings.Builder
	out.WriteString(shareSaid)
	if text := strings.TrimSpace(said.String()); text != "" {
		out.WriteString("\nqemu: " + tail(text, 5))
	}
	console, err := readConsole(filepath.Join(m.scratch, consoleName))
	if err == nil && len(bytes.TrimSpace(console)) > 0 {
		out.WriteString("\nconsole: " + consoleEnd(strings.TrimSpace(string(console))))
	}
	return out.String()
}

// oops matches the lines by which a kernel begins to report a fault before it panics, those of x86 and the common ones.
var oops = regexp.MustCompile(`(?m)^.*(?:BUG: |Oops: |general protection fault|invalid opcode: |` +
	`double fault: |stack-protector: |PANIC: ).*$`)

// consoleEnd returns the part of a console that shows how a guest ended: its last lines, or a panic with the first fault before it
// and its trace.
func consoleEnd(console string) string {
	const lines, trace = 12, 60
	if i := strings.LastIndex(console, "Kernel panic"); i >= 0 {
		panicked := head(console[i:], lines)
		if fault := oops.FindStringIndex(console[:i]); fault != nil {
			panicked = head(strings.TrimRight(console[fault[0]:i], "\r\n"), trace) + "\n" + panicked
		}
		return tail(panicked, trace+lines)
	}
	return tail(console, lines)
}

func head(text string, lines int) string {
	all := strings.Split(text, "\n")
	return strings.Join(all[:min(len(all), lines)], "\n")
}

func tail(text string, lines int) string {
	all := strings.Split(strings.ReplaceAll(text, "\r", ""), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n  ")
}

func describe(err error) string {
	if err == nil {
		return "ended by itself"
	}
	return err.Error()
}

func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
