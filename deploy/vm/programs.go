package vm

import (
	"context"
	"debug/elf"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// embedded holds the guest's init and the library that stops qemu's clock, if they were generated before this package was built, as
// make does.
//
//go:generate env CGO_ENABLED=0 GOARCH=amd64 go build -trimpath -ldflags "-s -w" -o embedded/init ./guest
//go:embed all:embedded
var embedded embed.FS

// guestProgram returns the guest's init: the embedded one or, if this program was built without it within the source tree, one
// built now.
func guestProgram(ctx context.Context, c Config) ([]byte, error) {
	if c.Guest != "" {
		data, err := os.ReadFile(c.Guest)
		if err != nil {
			return nil, fmt.Errorf("reading the guest: %w", err)
		}
		return data, nil
	}
	data, err := embedded.ReadFile("embedded/init")
	if err == nil {
		return data, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading the embedded guest: %w", err)
	}
	dir, err := os.MkdirTemp("", "misstep-guest-")
	if err != nil {
		return nil, fmt.Errorf("building the guest: %w", err)
	}
	defer os.RemoveAll(dir)
	c.Log("this program was built without the guest's init; building it now")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", filepath.Join(dir, "init"),
		"misstep/deploy/vm/guest")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOARCH=amd64", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, unavailable(
			"this program was built without the guest's init, and building it failed ("+strings.TrimSpace(string(out))+")",
			"run `go generate ./deploy/vm` before building misstep, as make does")
	}
	if data, err = os.ReadFile(filepath.Join(dir, "init")); err != nil {
		return nil, fmt.Errorf("building the guest: %w", err)
	}
	return data, nil
}

// static reports whether a program needs no dynamic loader.
func static(file *elf.File) bool {
	return !slices.ContainsFunc(file.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
}

// findBusybox returns a statically linked busybox and its applets' names.
func findBusybox() (path string, applets []string, err error) {
	remedy := "install the package busybox-static (deploy/vm/install.sh does)"
	path, err = exec.LookPath("busybox")
	if err != nil {
		return "", nil, unavailable("busybox is not installed", remedy)
	}
	file, err := elf.Open(path)
	if err != nil {
		return "", nil, fmt.Errorf("reading %s: %w", path, err)
	}
	defer file.Close()
	if !static(file) {
		return "", nil, unavailable(path+" is not statically linked", remedy)
	}
	out, err := exec.Command(path, "--list").Output()
	if err != nil {
		return "", nil, fmt.Errorf("listing the applets of %s: %w", path, err)
	}
	return path, strings.Fields(string(out)), nil
}
