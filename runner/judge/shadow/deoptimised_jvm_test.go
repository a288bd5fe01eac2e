package shadow

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/agent"
	"misstep/internal/testenv"
)

// async-profiler's own walkers get past a caller that was deoptimised during its call, and write index 0 for it. Kept, it has its
// index, and no rule applies.
func TestACallerThatWasDeoptimisedIsWalkedByAsyncProfiler(t *testing.T) {
	library := filepath.Join(testenv.Root(), "build", "profilers", "libasyncProfiler.so")
	if _, err := os.Stat(library); err != nil {
		t.Skipf("async-profiler is not there (%v); run make profilers", err)
	}
	classes := t.TempDir()
	source := filepath.Join(testenv.Root(), "agent", "test", "programs", "Deoptimised.java")
	output, err := exec.Command(testenv.Javac(t), "--release", "8", "-Xlint:-options", "-d", classes, source).CombinedOutput()
	require.NoError(t, err, "%s", output)
	for _, name := range []string{"jdk17", "jdk25"} {
		for _, mode := range []string{"deoptimised", "kept"} {
			t.Run(name+"/"+mode, func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "r.jfr")
				flags := []string{
					"-XX:-TieredCompilation", "-XX:-BackgroundCompilation", "-XX:-UseOnStackReplacement",
					"-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,Deoptimised.*",
					"-agentpath:" + library + "=start,event=ctimer,interval=1ms,cstack=vm,jfr,file=" + file,
				}
				o := agent.Options{Ratio: 1, Include: []string{"Deoptimised*"}, Tap: "prof"}
				in := Input{Check: "profiler-shadow", Source: AsyncProfiler, Walker: "vm"}
				r := run(t, testenv.Catalogued(t, name), in, o, file, flags, []string{"-cp", classes, "Deoptimised", mode})
				v := r.judge(nil).Verdicts()
				t.Log(v.Count)
				for _, m := range v.Mismatches {
					t.Log(m.GetCount(), m.GetKind(), m.GetReference().GetFrames(), m.GetSuspect().GetFrames())
				}
				without := v.Count.GetTolerated()[ruleIndexless]
				if mode == "kept" {
					assert.Zero(t, without)
					assert.Greater(t, v.Count.GetMatch(), uint64(10))
					return
				}
				assert.Greater(t, without, uint64(10))
				assert.Less(t, 8*v.Count.GetMismatch(), without)
			})
		}
	}
}
