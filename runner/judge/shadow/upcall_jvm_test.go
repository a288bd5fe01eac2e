package shadow

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	goruntime "runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/internal/testenv"
)

// The known bug MISSTEP-async-profiler-empty-anchor, without anything of Misstep's in the JVM: by the walker vm no sample of a
// class initialiser that interpreted code triggers has the methods below it. The other walkers have them.
func TestBelowAnInterpretedUpcallAsyncProfilerHasNothing(t *testing.T) {
	library := filepath.Join(testenv.Root(), "build", "profilers", "libasyncProfiler.so")
	if _, err := os.Stat(library); err != nil {
		t.Skipf("async-profiler is not there (%v); run make profilers", err)
	}
	if goruntime.GOARCH != "amd64" {
		t.Skip("the interpreter leaves its frame anchor's pc empty on x86-64 only")
	}
	dir := t.TempDir()
	compile := exec.Command(testenv.Javac(t), "--release", "8", "-Xlint:-options", "-d", dir, "testdata/Upcall.java")
	output, err := compile.CombinedOutput()
	require.NoError(t, err, "%s", output)
	for _, name := range []string{"jdk17", "jdk25"} {
		for _, walker := range []string{"vm", "vmx", "no"} {
			t.Run(name+" "+walker, func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "stacks")
				options := "start,event=ctimer,interval=1ms,collapsed,cstack=" + walker + ",file=" + file
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				agent := "-agentpath:" + library + "=" + options
				output, err := exec.CommandContext(ctx, catalogued(t, name).java(), agent, "-cp", dir, "Upcall").CombinedOutput()
				require.NoError(t, err, "%s", output)
				stacks, err := os.ReadFile(file)
				require.NoError(t, err)
				all, whole := samplesIn(t, string(stacks))
				t.Logf("%d of %d samples of the initialiser have its caller", whole, all)
				require.Greater(t, all, 20)
				if walker == "vm" {
					assert.Zero(t, whole, "is the bug fixed? (known/known.yaml)")
					return
				}
				assert.Greater(t, 10*whole, 9*all)
			})
		}
	}
}

var initialised = regexp.MustCompile(`(?m)^(.*)Upcall\$Busy\.<clinit>.* (\d+)$`)

// samplesIn counts the samples of the initialiser in collapsed stacks, and those which have the methods that it was called from.
func samplesIn(t *testing.T, stacks string) (all, whole int) {
	for _, m := range initialised.FindAllStringSubmatch(stacks, -1) {
		n, err := strconv.Atoi(m[2])
		require.NoError(t, err)
		all += n
		if strings.Contains(m[1], "Upcall.main;Upcall.caller;") {
			whole += n
		}
	}
	return all, whole
}
