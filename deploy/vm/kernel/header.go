package kernel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"misstep/internal/atomicfile"
)

// Header returns the path of vmlinux.h, the kernel's types as C for BPF programs. bpftool generates it from the BTF of the ELF
// kernel; nothing has to be booted. The file is generated once per kernel.
func (k Kernel) Header(ctx context.Context) (string, error) {
	path := filepath.Join(k.dir, headerFile)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	tool, err := bpftool()
	if err != nil {
		return "", err
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, tool, "btf", "dump", "file", k.ELF(), "format", "c")
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("dumping the types of kernel %s: %w: %s", k.Release, err, lastLines(stderr.String(), 3))
	}
	if !bytes.Contains(stdout.Bytes(), []byte("struct sched_ext_ops {")) {
		return "", fmt.Errorf("the types of kernel %s lack struct sched_ext_ops; bpftool may be too old for it", k.Release)
	}
	if err := atomicfile.Write(path, stdout.Bytes(), 0o644); err != nil {
		return "", err
	}
	return path, nil
}

// bpftool finds the tool; Debian installs it outside an ordinary user's PATH.
func bpftool() (string, error) {
	for _, name := range []string{"bpftool", "/usr/sbin/bpftool"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("bpftool is not installed; install the package bpftool")
}
