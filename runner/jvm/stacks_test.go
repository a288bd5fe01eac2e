package jvm

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the expected results anew")

// TestRealStacks reads what gdb printed about the fixture's deadlock.
func TestRealStacks(t *testing.T) {
	files, err := filepath.Glob("testdata/stacks/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			var b strings.Builder
			stacks := parseGDB(string(data))
			for _, tid := range slices.Sorted(maps.Keys(stacks)) {
				fmt.Fprintf(&b, "%d\n", tid)
				for _, f := range stacks[tid] {
					fmt.Fprintf(&b, "  %s\n", f.GDB())
				}
			}
			golden := strings.TrimSuffix(file, ".txt") + ".golden"
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(b.String()), 0o600))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), b.String())
		})
	}
}

// TestCoreFrames: frames that gdb finds in a core file read as those of an error file do, in which the VM's own are V.
func TestCoreFrames(t *testing.T) {
	stacks := parseGDB(`Thread 1 (Thread 0x7f0f (LWP 77)):
#0  0x00007f01 in frame::sender(RegisterMap*) const () from /jdk/lib/server/libjvm.so
#1  0x00007f02 in ?? () from /jdk/lib/server/libjvm.so
#2  0x00007f03 in raise () from /lib/x86_64-linux-gnu/libc.so.6
#3  0x00007f04 in ?? ()
`)
	var lines []string
	for _, f := range stacks[77] {
		lines = append(lines, f.String())
	}
	require.Equal(t, []string{
		"V  [libjvm.so]  frame::sender(RegisterMap*) const", "V  [libjvm.so]", "C  [libc.so.6]  raise",
		"C  [unknown]",
	}, lines)
}

func FuzzStacks(f *testing.F) {
	files, err := filepath.Glob("testdata/stacks/*.txt")
	require.NoError(f, err)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(string(data))
	}
	f.Fuzz(func(t *testing.T, text string) {
		stacks := parseGDB(text)
		longest := 0
		for _, s := range stacks {
			longest = max(longest, len(s))
		}
		if longest > maxFrames || len(stacks) > maxThreads {
			t.Fatalf("%d frames, %d threads", longest, len(stacks))
		}
	})
}
