package threaddump

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the expected results anew")

// samples returns dumps of JDK 8 to 28: a deadlock of two of three threads with one name, a name with a line break and idle
// pools (deadlock-*), two deadlocks (two-*), a deadlock of monitors that JNI enters (jni-*), two initialisers that wait for
// each other (init-*), and virtual threads that run, are pinned, wait unmounted and wait for each other (virtual-*, park-*, as
// text and JSON; plain-*, as Thread.dump_to_file writes text), a class whose initialiser does not end (class-*, on a virtual
// thread initialiser-*) or needs a
// subclass (superclass-*), all carriers of virtual threads pinned or busy (carriers-*, busy-*), one of two (one-*) and none
// (free-*), and what the serviceability agent prints (agent-*; that of 8 is written by hand). Housekeeping threads and the heap
// are removed.
func samples(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*-*.*")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}

func TestRealDumps(t *testing.T) {
	for _, file := range samples(t) {
		if filepath.Ext(file) == ".golden" {
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			d := read(t, file)
			golden := file + ".golden"
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(describe(d)), 0o600))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), describe(d))
		})
	}
}

func read(t testing.TB, file string) *Dump {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	d, err := Parse(text)
	require.NoError(t, err)
	return d
}

// describe lists the threads with at most three frames each.
func describe(d *Dump) string {
	var b strings.Builder
	fmt.Fprintf(&b, "deadlock: %v\n", d.Deadlock)
	if cause := d.cause(); cause != CauseDeadlock && cause != CauseLimit {
		fmt.Fprintf(&b, "cause: %s\n", cause)
	}
	for _, t := range d.Threads {
		fmt.Fprintf(&b, "%q #%d [%d] %s", t.Name, t.ID, t.TID, t.State)
		if t.Virtual {
			b.WriteString(", virtual")
		}
		if t.Carries != 0 {
			fmt.Fprintf(&b, ", carries #%d", t.Carries)
		}
		if t.HeldBy >= 0 {
			fmt.Fprintf(&b, ", waits for a %s held by #%d", t.WaitsFor, d.Threads[t.HeldBy].ID)
		}
		b.WriteString("\n")
		for _, f := range t.Frames[:min(len(t.Frames), 3)] {
			fmt.Fprintf(&b, "  %s\n", f)
		}
	}
	return b.String()
}
