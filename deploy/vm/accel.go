package vm

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"misstep/deploy/vm/kernel"
	"misstep/internal/atomicfile"
)

// probeLimit bounds the boot that tries KVM; where it works, that takes a second or two.
const probeLimit = 30 * time.Second

// probed is what a probe of KVM showed, kept for as long as it holds.
type probed struct {
	BootID  string `json:"boot_id"` // of the host
	QEMU    string `json:"qemu"`
	Release string `json:"release"`
	Works   bool   `json:"works"`
	Why     string `json:"why"`
}

// probeAccel says which accelerator a machine in the shared mode gets. That /dev/kvm is there means little: nested or filtered KVM may boot
// nothing. So the very kernel is booted with it once per boot of the host, and the answer kept.
func probeAccel(ctx context.Context, c Config, qemu string, k kernel.Kernel) (Accel, string) {
	file, err := os.OpenFile("/dev/kvm", os.O_RDWR, 0)
	if err != nil {
		return AccelTCG, fmt.Sprintf("no KVM: %v", err)
	}
	_ = file.Close()
	version, err := qemuVersion(ctx, qemu)
	if err != nil {
		return AccelTCG, err.Error()
	}
	want := probed{BootID: bootID(), QEMU: version, Release: k.Release}
	if have, ok := keptProbe(c); ok && have.QEMU == want.QEMU && have.Release == want.Release {
		return have.accel(), have.Why
	}
	trial := Config{Mode: ModeShared, Accel: AccelKVM, Home: c.Home, Suite: c.Suite, Dir: "/", Limit: probeLimit}
	if exit, err := Run(ctx, trial, []string{"/bin/true"}, nil, nil); err != nil || exit != 0 {
		first, _, _ := strings.Cut(fmt.Sprint(err), "\nconsole:")
		want.Why = fmt.Sprintf("KVM is there but booted no kernel (exit %d: %s)", exit, strings.ReplaceAll(first, "\n", " "))
	} else {
		want.Works = true
	}
	if ctx.Err() != nil {
		return AccelTCG, "the probe of KVM was cut short"
	}
	if path := probePath(c); os.MkdirAll(filepath.Dir(path), 0o755) == nil {
		// A probe that cannot be kept is made again.
		if data, err := json.Marshal(want); err == nil {
			_ = atomicfile.Write(path, data, 0o600)
		}
	}
	return want.accel(), want.Why
}

func (p probed) accel() Accel {
	if p.Works {
		return AccelKVM
	}
	return AccelTCG
}

func probePath(c Config) string { return filepath.Join(c.cache("probe"), c.Suite.Label("kvm")+".json") }

// keptProbe returns what was found out since this host's boot, if anything.
func keptProbe(c Config) (probed, bool) {
	data, err := os.ReadFile(probePath(c))
	if err != nil {
		return probed{}, false
	}
	var p probed
	if json.Unmarshal(data, &p) != nil || p.BootID != bootID() {
		return probed{}, false
	}
	return p, true
}

// bootID names this boot of the host; a host without one is taken for the same boot always.
func bootID() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(id))
}

// Accelerator returns what a machine in the shared mode gets here; the first call after a boot of the host may boot one to try.
func Accelerator(ctx context.Context, home string) (Accel, error) {
	c := Config{Home: home, Log: func(string, ...any) {}}
	qemu, err := findQEMU()
	if err != nil {
		return AccelAuto, fmt.Errorf("vm: %w", err)
	}
	k, err := c.kernels().Get(ctx)
	if err != nil {
		return AccelAuto, fmt.Errorf("vm: getting a kernel with sched_ext: %w", err)
	}
	accel, _ := probeAccel(ctx, c, qemu, k)
	return accel, nil
}
