package guest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/agent"
	"misstep/corpus/memory"
	"misstep/deploy/vm"
	"misstep/deploy/vm/kernel"
	"misstep/internal/testenv"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/workloads"
)

// emulator stands in for qemu: it tells what it was started with, of the initramfs the digest. Where its log goes is no part of
// the machine.
const emulator = `#!/bin/sh
for argument; do
  case $previous in
    -initrd) sha256sum <"$argument" ;;
    -icount) echo "$previous ${argument%%%%,rrfile=*}" ;;
    -append | -m | -seed | -rtc | -cpu) echo "$previous $argument" ;;
  esac
  previous=$argument
done >"%s"
`

// unpack lays a JDK, a workload and an agent out below dir, readable as umask leaves them, and returns an executor for them.
func unpack(t *testing.T, dir string, umask os.FileMode, library string) *Executor {
	t.Helper()
	for name, text := range map[string]string{
		"jdk/bin/java":                  "#!/bin/sh\necho patch >\"$4\"\n",
		"jdk/lib/modules":               "modules",
		"workload/workload.yaml":        "name: w\n",
		"workload/lib/w.jar":            "jar",
		"agent/" + agent.LibraryName:    library,
		"agent/" + agent.JarName:        "agent's jar",
		"program/" + filepath.Base(dir): "program",
	} {
		path := filepath.Join(dir, name)
		perm := os.FileMode(0o644)
		if strings.Contains(name, "bin/") {
			perm = 0o755
		}
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		require.NoError(t, os.Chmod(path, perm&^umask))
	}
	require.NoError(t, os.Symlink(filepath.Join(dir, "jdk", "lib", "modules"), filepath.Join(dir, "jdk", "lib", "link")))
	artefacts, err := agent.Find(filepath.Join(dir, "agent"))
	require.NoError(t, err)
	return &Executor{
		JDK: func(context.Context, *misstepv1.Jdk) (string, int, error) { return filepath.Join(dir, "jdk"), 17, nil },
		Workload: func(context.Context, *misstepv1.Workload) (string, workloads.Manifest, error) {
			return filepath.Join(dir, "workload"), workloads.Manifest{}, nil
		},
		Agent: artefacts, Corpus: memory.New(), Scratch: filepath.Join(dir, "machines"),
		PatchCache: filepath.Join(dir, "patches"), Home: testenv.Home(t),
		Program: filepath.Join(dir, "program", filepath.Base(dir)), Command: []string{"trial"},
	}
}

// What enters a machine in virtual time depends on the recipe and on what files hold: not on where they lie, on what a
// catalogue calls the JDK, or on how they were unpacked.
func TestMachineIsTheSameFromAnyFolder(t *testing.T) {
	home := testenv.Home(t)
	if _, err := (kernel.Fetcher{Cache: filepath.Join(home, "cache", "vm", "kernel"), Log: t.Logf}).Get(t.Context()); err != nil {
		t.Skipf("no kernel with sched_ext can be had: %v", err)
	}
	path := os.Getenv("PATH")
	started := func(dir string, umask os.FileMode, library, name string, seed uint64) string {
		e := unpack(t, dir, umask, library)
		said, bin := filepath.Join(dir, "said"), filepath.Join(dir, "bin")
		require.NoError(t, os.Mkdir(bin, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(bin, "qemu-system-x86_64"), fmt.Appendf(nil, emulator, said), 0o755))
		t.Setenv("PATH", bin+":"+path)
		r := minimal(Deterministic)
		r.Seed, r.Checks = seed, []*misstepv1.Check{{Name: "liveness"}}
		r.Jdk = &misstepv1.Jdk{Name: name, Digest: "sha256:" + strings.Repeat("0123456789abcdef", 4)}
		_, err := e.Run(t.Context(), r, nil)
		if err != nil && strings.Contains(err.Error(), "busybox") {
			t.Skip(err)
		}
		require.ErrorIs(t, err, vm.ErrDied)
		text, err := os.ReadFile(said)
		require.NoError(t, err)
		return string(text)
	}
	short, long := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "a/longer/path")
	first := started(short, 0, "library", "jdk17", 9)
	assert.Contains(t, first, "-append console=ttyS0")
	assert.Contains(t, first, "-seed 9\n")
	assert.Equal(t, first, started(long, 0o070, "library", "replay", 9))
	assert.NotEqual(t, first, started(filepath.Join(t.TempDir(), "a"), 0, "libraries", "jdk17", 9), "another agent")
	assert.NotEqual(t, first, started(filepath.Join(t.TempDir(), "a"), 0, "library", "jdk17", 10), "another seed")
}
