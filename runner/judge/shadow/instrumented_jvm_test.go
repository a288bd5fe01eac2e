package shadow

import (
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/agent"
	"misstep/internal/testenv"
)

// Up to JDK 22 JFR's code stands before the push and after the pop of methods that it instruments. Without compilers, so that only
// these can make a difference: in compiled code the walkers of these JDKs have bugs.
func TestWhatJFRInstrumentsIsLeftOut(t *testing.T) {
	settings, err := filepath.Abs("testdata/instrumented.jfc")
	require.NoError(t, err)
	for _, name := range []string{"jdk17", "jdk21"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			compile := exec.Command(testenv.Javac(t), "--release", "17", "-d", dir, "testdata/Streams.java")
			output, err := compile.CombinedOutput()
			require.NoError(t, err, "%s", output)
			file := filepath.Join(dir, "r.jfr")
			flags := []string{
				"-Xint", "-XX:StartFlightRecording=filename=" + file + ",settings=" + settings,
				"-XX:FlightRecorderOptions=stackdepth=1024",
			}
			o := agent.Options{
				Ratio: 1, JFR: true, Tap: "usr2", Checks: map[string]float64{"asgct-shadow": 1}, Interval: time.Millisecond,
				Evidence: "every",
			}
			program := []string{"-cp", dir, "Streams", dir, "4000"}
			r := run(t, testenv.Catalogued(t, name), Input{Check: "jfr-shadow", Source: JFR}, o, file, flags, program)
			v := r.judge(nil).Verdicts()
			t.Log(v.Count)
			for _, m := range v.Mismatches {
				t.Log(m.GetKind(), m.GetReference().GetFrames(), m.GetSuspect().GetFrames())
			}
			assert.Greater(t, v.Count.GetMatch(), uint64(40))
			assert.Zero(t, v.Count.GetMismatch())

			status, err := agent.ReadStatus(filepath.Join(dir, "status.bin"))
			require.NoError(t, err)
			for _, c := range status.Checks {
				if c.Name != "asgct-shadow" {
					continue
				}
				t.Logf("%+v", c)
				assert.Greater(t, c.Match, uint64(200))
				assert.Zero(t, c.Mismatch)
			}
		})
	}
}
