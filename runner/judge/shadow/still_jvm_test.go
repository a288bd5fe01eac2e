package shadow

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/internal/testenv"
	"misstep/runner/recording"
)

// JFR's samples in native code have no signal. Of threads that wait there they are judged all the same; each of them is right, and
// none is once a frame is taken out of it.
func TestSamplesInNativeCodeOfThreadsThatWait(t *testing.T) {
	settings, err := filepath.Abs("testdata/samples.jfc")
	require.NoError(t, err)
	for _, name := range []string{"jdk17", "jdk21", "jdk25", "jdk28"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			output, err := exec.Command(testenv.Javac(t), "--release", "17", "-d", dir, "testdata/Waits.java").CombinedOutput()
			require.NoError(t, err, "%s", output)
			file := filepath.Join(dir, "r.jfr")
			flags := []string{
				"-XX:StartFlightRecording=filename=" + file + ",settings=" + settings, "-XX:FlightRecorderOptions=stackdepth=1024",
			}
			o := half("both")
			o.Ratio, o.Include = 1, []string{"Waits*"}
			program := []string{"-cp", dir, "Waits", "5000"}
			r := run(t, testenv.Catalogued(t, name), Input{Check: "jfr-shadow", Source: JFR}, o, file, flags, program)
			right, wrong := 0, 0
			r.standing(nil, func(v verdict) {
				right++
				assert.Equal(t, verdict{}, v)
			})
			r.standing(func(frames []recording.Frame) []recording.Frame {
				middle := len(frames) - 6 // run, lambda, and four of the calls are below
				return append(frames[:middle:middle], frames[middle+1:]...)
			}, func(v verdict) {
				wrong++
				assert.NotEmpty(t, v.kind)
			})
			t.Logf("%d of %d samples in native code", right, r.inNative())
			require.NotZero(t, right)
			require.Equal(t, right, wrong)
		})
	}
}

// standing judges the samples of threads that stood at least ten calls deep, with their frames changed.
func (r recorded) standing(change func([]recording.Frame) []recording.Frame, use func(verdict)) {
	j := r.judge(func(e *recording.Event) {
		if change != nil && e.Type == "jdk.NativeMethodSample" && len(e.Stack.Frames) > 20 {
			e.Stack = &recording.Stack{Frames: change(e.Stack.Frames)}
		}
	})
	all, _ := j.judge()
	for _, s := range all {
		if s.stand && s.sample != nil && len(s.shadow) > 20 {
			use(s.verdict)
		}
	}
}

func (r recorded) inNative() (n int) {
	for _, e := range r.judge(nil).taken.Events {
		if e.Type == "jdk.NativeMethodSample" {
			n++
		}
	}
	return n
}
