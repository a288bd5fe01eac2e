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

// probed is the result of a probe of KVM, cached until the host boots again or qemu or the kernel changes.
type probed struct {
	BootID  string `json:"boot_id"` // of the host
	QEMU    string `json:"qemu"`
	Release string `json:"release"`
	Works   bool   `json:"works"`
	Why     string `json:"why"`
}

// probeAccel returns the accelerator for a machine in the shared mode, and why. The existence of /dev/kvm proves little: nested or
// filtered KVM may boot nothing. So the kernel itself is booted with KVM once per boot of the host, and the result is cached.
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
	if have, ok := cachedProbe(c); ok && have.QEMU == want.QEMU && have.Release == want.Release {
		return have.accel(), have.Why
	}
	trial := Config{Mode: ModeShared, Accel: AccelKVM, Home: c.Home, Suite: c.Suite, Dir: "/", Limit: probeLimit}
	if exit, err := Run(ctx, trial, []string{"/bin/true"}, nil, nil); err != nil || exit != 0 {
		first, _, _ := strings.Cut(fmt.Sprint(err), "\nconsole:")
		want.Why = fmt.Sprintf("/dev/kvm exists but booted no kernel (exit %d: %s)", exit, strings.ReplaceAll(first, "\n", " "))
	} else {
		want.Works = true
	}
	if ctx.Err() != nil {
		return AccelTCG, "the probe of KVM was interrupted"
	}
	if path := probePath(c); os.MkdirAll(filepath.Dir(path), 0o755) == nil {
		// A probe that cannot be cached is repeated.
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

// cachedProbe returns the result of a probe since this host's boot, if any.
func cachedProbe(c Config) (probed, bool) {
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

// bootID returns the id of this boot of the host; for a host without one every boot counts as the same.
func bootID() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(id))
}

// Accelerator returns the accelerator of a machine in the shared mode on this host; the first call after a boot of the host may
// boot a machine to probe KVM.
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
