package vm

import (
	"context"
	"debug/elf"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// clockName is the name of the library that stops qemu's clock, in a machine's scratch folder.
const clockName = "misstep-clock.so"

// clockSource is the library's source, which explains why it is needed.
//
//go:generate cc -O2 -Wall -Wextra -Werror -fPIC -shared -nostdlib -o embedded/clock.so clock/clock.c
//go:embed clock/clock.c
var clockSource []byte

// stopClock puts the library that stops qemu's clock into the scratch folder: the embedded one or, if this program was built
// without it, one compiled now.
func (m *machine) stopClock(ctx context.Context) error {
	if file, err := elf.Open(m.qemu); err == nil { // otherwise it may be a script that starts qemu
		defer file.Close()
		if static(file) {
			return unavailable(m.qemu+" is statically linked, so that its clock cannot be stopped",
				"install the package qemu-system-x86")
		}
	}
	path := filepath.Join(m.scratch, clockName)
	library, err := embedded.ReadFile("embedded/clock.so")
	switch {
	case err == nil:
		err = os.WriteFile(path, library, 0o755)
	case errors.Is(err, fs.ErrNotExist):
		err = compileClock(ctx, path)
	}
	if err != nil {
		return fmt.Errorf("preparing the library that stops qemu's clock: %w", err)
	}
	m.clock = true
	return nil
}

func compileClock(ctx context.Context, path string) error {
	cmd := exec.CommandContext(ctx, "cc", "-O2", "-fPIC", "-shared", "-nostdlib", "-o", path, "-x", "c", "-")
	cmd.Stdin = strings.NewReader(string(clockSource))
	if out, err := cmd.CombinedOutput(); err != nil {
		return unavailable(fmt.Sprintf("this program was built without the library that stops qemu's clock, and compiling it "+
			"failed (%v %s)", err, strings.TrimSpace(string(out))),
			"run `go generate ./deploy/vm` before building misstep, as make does")
	}
	return nil
}
