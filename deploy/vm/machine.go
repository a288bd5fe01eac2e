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
	clock           bool   // qemu's gettimeofday stands still, by the library in scratch
	log             func(string, ...any)

	mode         Mode
	accel        Accel
	cpus, memory int
	seed         uint64
	pin          int // host CPU; negative: any, but one
	kernel       string
	release      string
	initrd       string
	replayFile   string // what a deterministic machine could not compute: it writes it, or takes it from there
	replays      bool
	debug        string
}

// powerOff bounds the time from the guest's last word to the end of qemu.
const powerOff = time.Minute

// cpuModel is the oldest CPU that every program for x86-64-v2 runs on, with hardware randomness, which under TCG comes from -seed. The
// host's CPU does not show, so a recording does not depend on it.
const cpuModel = "qemu64,+ssse3,+sse4.1,+sse4.2,+popcnt,+cx16,+lahf-lm,+rdrand"

// arguments returns qemu's. streamFD is the number of the inherited descriptor that takes the guest's frames.
func (m *machine) arguments(streamFD int, shareSocket string) []string {
	console := filepath.Join(m.scratch, consoleName)
	args := []string{
		"-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-monitor", "none", "-nic", "none",
		"-machine", "q35,sata=off,smbus=off,usb=off,vmport=off",
		"-m", strconv.Itoa(m.memory), "-smp", strconv.Itoa(m.cpus),
		"-kernel", m.kernel, "-initrd", m.initrd, "-append", m.commandLine(),
		"-serial", "file:" + console,
		"-chardev", "file,id=frames,path=/dev/fd/" + strconv.Itoa(streamFD),
		// Without ioeventfd qemu serves the port within the guest's instruction, not in a thread of its own time.
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
		// Not a thread for each CPU: there a CPU may run an instruction of the kernel that the other has just patched, which the kernel takes
		// for a breakpoint and dies of ("Oops: int3"), 1 boot in 25 on a loaded host with qemu 7.2 (docs/figures/0006-vm-executor.md).
		args = append(args, "-accel", "tcg,thread=single", "-cpu", cpuModel)
	}
	return append(args,
		"-object", fmt.Sprintf("memory-backend-memfd,id=memory,size=%dM,share=on", m.memory), "-numa", "node,memdev=memory",
		"-chardev", "socket,id=share,path="+option(shareSocket), "-device", "vhost-user-fs-pci,chardev=share,tag=root")
}

// option writes a path within qemu's lists of options, where a comma ends it and two are one.
func option(path string) string { return strings.ReplaceAll(path, ",", ",,") }

// commandLine returns the kernel's. Mitigations cost time under TCG and protect nobody here; a panic ends the machine at once; and naming init
// makes one that cannot be executed a panic, where the kernel would try /sbin/init and /bin/sh. Checking the build's own certificate would be a
// quarter of all instructions of a boot; modules load without it.
func (m *machine) commandLine() string {
	return "console=ttyS0 quiet panic=-1 nokaslr mitigations=off 8250.nr_uarts=1 init=/init cryptomgr.notests initcall_blacklist=load_system_certificate_list"
}

// environment returns what qemu's has beside this process's own.
func (m *machine) environment() []string {
	if !m.clock {
		return nil
	}
	return []string{"LD_PRELOAD=./" + clockName} // from scratch, where qemu starts: no list of this form can name a path with blanks or colons
}

// run boots the machine and stays with it to its end.
func (m *machine) run(ctx context.Context, evidenceDir string, stdout, stderr io.Writer) (Result, error) {
	result := Result{Accel: m.accel}
	console := filepath.Join(m.scratch, consoleName)
	if evidenceDir != "" {
		if err := os.MkdirAll(evidenceDir, 0o755); err != nil {
			return result, fmt.Errorf("making the evidence's folder: %w", err)
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
		path: m.qemu, args: m.arguments(firstExtraFD, socket), env: m.environment(), dir: m.scratch, output: &said, files: []*os.File{sent.write},
		pin: m.mode == ModeDeterministic, cpu: m.pin,
	})
	if err != nil {
		return result, fmt.Errorf("starting qemu: %w", err)
	}
	sent.ended = process.done
	stopKilling := context.AfterFunc(ctx, process.kill)
	defer stopKilling()
	defer process.stop()

	receiver := receiver{dir: evidenceDir, stdout: stdout, stderr: stderr}
	digest := sha256.New()
	receiveErr := receiver.receive(io.TeeReader(sent, digest))
	if receiveErr != nil {
		process.kill() // nobody reads any more
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
		return result, fmt.Errorf("%w before the command's end (qemu: %s)%s", ErrDied, describe(exitErr), m.lastWords(&said, shareSaid))
	case receiver.exit.Failure != "":
		return result, fmt.Errorf("the guest could not run the command: %s%s", receiver.exit.Failure, m.lastWords(&said, shareSaid))
	case m.clock && bytes.Contains(said.Bytes(), []byte(clockName)): // the loader goes on without it
		return result, unavailable("qemu cannot load what stops its clock: "+strings.TrimSpace(said.String()), "set TMPDIR to a folder whose files may be executed")
	case exitErr != nil:
		return result, fmt.Errorf("%w while powering off (qemu: %s)%s", ErrDied, describe(exitErr), m.lastWords(&said, shareSaid))
	}
	return result, nil
}

// consoleName is the guest's console as a file, in the evidence too.
const consoleName = "console.log"

// lastWords returns what the daemon and qemu said and the console's end, for an error.
func (m *machine) lastWords(said *bytes.Buffer, shareSaid string) string {
	var out strings.Builder
	out.WriteString(shareSaid)
	if text := strings.TrimSpace(said.String()); text != "" {
		out.WriteString("\nqemu: " + tail(text, 5))
	}
	console, err := os.ReadFile(filepath.Join(m.scratch, consoleName))
	if err == nil && len(bytes.TrimSpace(console)) > 0 {
		out.WriteString("\nconsole: " + consoleEnd(strings.TrimSpace(string(console))))
	}
	return out.String()
}

// oops is how a kernel begins to say what it died of: lines before the panic, of x86 and of what is common to all.
var oops = regexp.MustCompile(`(?m)^.*(?:BUG: |Oops: |general protection fault|invalid opcode: |double fault: |stack-protector: |PANIC: ).*$`)

// consoleEnd returns what of a console says how a guest ended: its last lines, or a panic with the first of the faults before it and its trace.
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
