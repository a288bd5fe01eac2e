// Package kernel fetches a Linux kernel with sched_ext from Debian and extracts what a virtual machine and a BPF build need.
package kernel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"

	"golang.org/x/sys/unix"
)

// Kernel is a kernel in the cache. Its folder is named after the package's version and never changes once it exists.
type Kernel struct {
	Release  string    `json:"release"`  // as printed by uname -r
	Version  string    `json:"version"`  // of the Debian package
	Packages []Package `json:"packages"` // where it came from

	dir string
}

// Files of a kernel's folder.
const (
	metaFile    = "kernel.json"
	imageFile   = "vmlinuz"
	elfFile     = "vmlinux"
	configFile  = "config"
	headerFile  = "vmlinux.h"
	modulesPath = "modules"
)

// Modules are the modules that the guest loads, in this order; everything else that it needs is built into Debian's cloud kernels.
var Modules = []string{"overlay"}

// required lists the configuration options that a kernel must have.
var required = []string{
	"CONFIG_SCHED_CLASS_EXT=y", "CONFIG_DEBUG_INFO_BTF=y", "CONFIG_BPF_JIT=y", "CONFIG_VIRTIO_PCI=y", "CONFIG_VIRTIO_CONSOLE=y",
	"CONFIG_VIRTIO_FS=y", "CONFIG_DEVTMPFS=y", "CONFIG_TMPFS=y",
}

// Image returns the path of the bootable image.
func (k Kernel) Image() string { return filepath.Join(k.dir, imageFile) }

// ELF returns the path of the uncompressed kernel, which holds the kernel's types (BTF) and can be given to a debugger.
func (k Kernel) ELF() string { return filepath.Join(k.dir, elfFile) }

// Config returns the path of the kernel's configuration.
func (k Kernel) Config() string { return filepath.Join(k.dir, configFile) }

// Module returns the path of one of Modules, uncompressed.
func (k Kernel) Module(name string) string { return filepath.Join(k.dir, modulesPath, name+".ko") }

// Fetcher gets kernels into a cache folder.
type Fetcher struct {
	// folder for sid's kernels, usually HOME/cache/vm/kernel; another suite's are beside it, in kernel-SUITE
	Cache string
	Suite Suite                            // of Debian, where the kernel comes from
	Etc   string                           // the host's apt configuration; empty means /etc/apt
	Log   func(format string, args ...any) // progress, one line each; nil means none
}

// dir returns the folder of the suite's kernels.
func (f Fetcher) dir() string { return f.Suite.Label(f.Cache) }

func (f Fetcher) log(format string, args ...any) {
	if f.Log != nil {
		f.Log(format, args...)
	}
}

// Cached returns the suite's newest kernel in the cache, and whether there is one.
func (f Fetcher) Cached() (Kernel, bool, error) {
	found, err := filepath.Glob(filepath.Join(f.dir(), "*", metaFile))
	if err != nil {
		return Kernel{}, false, fmt.Errorf("listing the cached kernels: %w", err)
	}
	var kernels []Kernel
	for _, path := range found {
		k, err := load(filepath.Dir(path))
		if err != nil {
			return Kernel{}, false, err
		}
		kernels = append(kernels, k)
	}
	if len(kernels) == 0 {
		return Kernel{}, false, nil
	}
	sort.Slice(kernels, func(i, j int) bool { return compareVersions(kernels[i].Version, kernels[j].Version) < 0 })
	return kernels[len(kernels)-1], true, nil
}

func load(dir string) (Kernel, error) {
	data, err := os.ReadFile(filepath.Join(dir, metaFile))
	if err != nil {
		return Kernel{}, fmt.Errorf("reading a cached kernel: %w", err)
	}
	k := Kernel{dir: dir}
	if err := json.Unmarshal(data, &k); err != nil {
		return Kernel{}, fmt.Errorf("reading the cached kernel %s: %w; remove that folder to fetch it again", dir, err)
	}
	return k, nil
}

// Get returns the suite's newest kernel in the cache, and fetches one if there is none.
func (f Fetcher) Get(ctx context.Context) (Kernel, error) {
	k, ok, err := f.Cached()
	if err != nil || ok {
		return k, err
	}
	return f.Fetch(ctx)
}

// Fetch gets the suite's newest kernel, unless it is already in the cache. Several processes may call it at once: one fetches, the
// others wait for it.
func (f Fetcher) Fetch(ctx context.Context) (Kernel, error) {
	if err := os.MkdirAll(f.dir(), 0o755); err != nil {
		return Kernel{}, fmt.Errorf("making the kernel cache: %w", err)
	}
	unlock, err := lock(filepath.Join(f.dir(), ".lock"))
	if err != nil {
		return Kernel{}, err
	}
	defer unlock()
	etc := f.Etc
	if etc == "" {
		etc = "/etc/apt"
	}
	scratch, err := os.MkdirTemp(f.dir(), ".fetch-")
	if err != nil {
		return Kernel{}, fmt.Errorf("making a scratch folder: %w", err)
	}
	defer os.RemoveAll(scratch)
	a, err := newApt(filepath.Join(scratch, "apt"), etc, f.Suite, f.log)
	if err != nil {
		return Kernel{}, err
	}
	if err := a.update(ctx); err != nil {
		return Kernel{}, fmt.Errorf("fetching the package lists of Debian's suite %s: %w", f.Suite, err)
	}
	packages, err := a.search(ctx, kernelPattern)
	if err != nil {
		return Kernel{}, fmt.Errorf("looking for a kernel: %w", err)
	}
	release, chosen, err := choose(packages)
	if err != nil {
		return Kernel{}, fmt.Errorf("suite %s of Debian: %w", f.Suite, err)
	}
	k := Kernel{Release: release, Version: chosen[0].Version, Packages: chosen}
	final := filepath.Join(f.dir(), strings.ReplaceAll(k.Version, ":", "_"))
	if _, err := os.Stat(filepath.Join(final, metaFile)); err == nil {
		return load(final)
	}
	if err := a.download(ctx, scratch, chosen); err != nil {
		return Kernel{}, fmt.Errorf("fetching the kernel: %w", err)
	}
	debs, err := filepath.Glob(filepath.Join(scratch, "*.deb"))
	if err != nil || len(debs) != len(chosen) {
		return Kernel{}, fmt.Errorf("apt-get download left %d packages instead of the requested %d: %w", len(debs), len(chosen),
			errors.Join(err))
	}
	root, dir := filepath.Join(scratch, "root"), filepath.Join(scratch, "kernel")
	for _, deb := range debs {
		if out, err := exec.CommandContext(ctx, "dpkg-deb", "-x", deb, root).CombinedOutput(); err != nil {
			return Kernel{}, fmt.Errorf("unpacking %s: %w: %s", filepath.Base(deb), err, lastLines(string(out), 3))
		}
	}
	if err := extract(root, dir, release); err != nil {
		return Kernel{}, err
	}
	meta, err := json.MarshalIndent(k, "", "  ")
	if err != nil {
		return Kernel{}, fmt.Errorf("describing the kernel: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, metaFile), append(meta, '\n'), 0o644); err != nil {
		return Kernel{}, fmt.Errorf("describing the kernel: %w", err)
	}
	if err := os.RemoveAll(final); err != nil {
		return Kernel{}, fmt.Errorf("removing a half-fetched kernel: %w", err)
	}
	if err := os.Rename(dir, final); err != nil {
		return Kernel{}, fmt.Errorf("moving the kernel into the cache: %w", err)
	}
	f.log("kernel %s is ready", release)
	return load(final)
}

// lock holds an exclusive lock on path until the returned function is called.
func lock(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("locking the cache: %w", err)
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	return func() { _ = file.Close() }, nil
}
