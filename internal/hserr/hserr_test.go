package hserr

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	misstepv1 "misstep/proto/misstep/v1"
)

var update = flag.Bool("update", false, "rewrite the expected results")

// samples returns error files of real crashes: by Unsafe, by a native library, by CrashOnOutOfMemoryError, in a VM operation, by
// signals sent to single threads, for lack of native memory, and with a stack full of garbage, on which the error reporter itself
// fails. Those of a fastdebug build are HotSpot's own test crashes (-XX:ErrorHandlerTest), one with an error while the head is
// written, and one of -XX:AbortVMOnException. Sections about the machine are removed.
func samples(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.log")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}

func TestRealFiles(t *testing.T) {
	for _, file := range samples(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			report, err := Parse(bytes.NewReader(data))
			require.NoError(t, err)
			text, err := misstepv1.Canonical(report.Crash)
			require.NoError(t, err)
			got := fmt.Sprintf("tid %d, out of memory %v, complete %v\n%s", report.TID, report.OutOfMemory, report.Complete, text)
			golden := strings.TrimSuffix(file, ".log") + ".golden"
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(got), 0o600))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), got)
			require.True(t, report.Complete)
			require.NotEmpty(t, report.Crash.GetError())
			require.NotContains(t, report.Crash.GetThread(), "0x", "no addresses")
		})
	}
}

// TestTruncatedFiles covers that a JVM may die at any moment while it writes.
func TestTruncatedFiles(t *testing.T) {
	for i, file := range samples(t) {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		head := bytes.Index(data, []byte("\n#\n#  "))
		step := 1
		for n := i % 7; n < len(data); n += step {
			if n > 2000 || i%8 > 0 { // some heads byte by byte, the rest in strides that hit every position of a line
				step = 31
			}
			report, err := Parse(bytes.NewReader(data[:n]))
			if err != nil {
				require.ErrorIs(t, err, ErrNotCrash)
				require.Less(t, n, 120, "the first lines identify an error file")
				continue
			}
			require.False(t, report.Complete && n < len(data)-1)
			if head > 0 && n > 400 {
				require.NotEmptyf(t, report.Crash.GetError(), "%s cut at %d: %s", file, n, data[:n])
			}
		}
	}
}

func TestOtherTextIsRefused(t *testing.T) {
	for _, text := range []string{"", "#\n", "some log\nEND.\n", "Native frames:\nV  x\n"} {
		_, err := Parse(strings.NewReader(text))
		require.ErrorIs(t, err, ErrNotCrash)
	}
}

// TestJDK8 follows JDK 8's vmError.cpp, whose tid is pthread_self() and whose head lacks the cause.
func TestJDK8(t *testing.T) {
	report, err := Parse(strings.NewReader(`#
# A fatal error has been detected by the Java Runtime Environment:
#
#  SIGSEGV (0xb) at pc=0x00007f3e3a5a1f52, pid=4711, tid=0x00007f3e3b0d4700
#
# JRE version: OpenJDK Runtime Environment (8.0_442-b06) (build 1.8.0_442-b06)
# Problematic frame:
# V  [libjvm.so+0x6a1f52]  Unsafe_SetNativeAddress+0x52

---------------  T H R E A D  ---------------

Current thread (0x00007f3e3400b800):  JavaThread "main" [_thread_in_vm, id=4712, stack(0x00007f3e3afd5000,0x00007f3e3b0d5000)]
`))
	require.NoError(t, err)
	require.Equal(t, int64(4712), report.TID)
	require.Equal(t, "SIGSEGV (0xb)", report.Crash.GetError())
	require.Equal(t, `JavaThread "main" [_thread_in_vm]`, report.Crash.GetThread())
	require.Equal(t, "V  [libjvm.so+0x6a1f52]  Unsafe_SetNativeAddress+0x52", report.Crash.GetProblematicFrame())
	require.False(t, report.Complete)
}

func TestBounded(t *testing.T) {
	var text bytes.Buffer
	text.WriteString("# A fatal error has been detected by the Java Runtime Environment:\n#\n# ")
	text.WriteString(strings.Repeat("é", 100_000) + "\n\nNative frames:\n")
	for range 200_000 {
		text.WriteString("V  [libjvm.so+0x1]  " + strings.Repeat("f", 100) + "\n")
	}
	report, err := Parse(&text)
	require.NoError(t, err)
	require.Len(t, report.Crash.GetNativeFrames(), maxFrames)
	require.Less(t, len(report.Crash.GetDetail()), 10_000)
}

func FuzzParse(f *testing.F) {
	for _, file := range samples(f) {
		data, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		report, err := Parse(bytes.NewReader(data))
		if err != nil {
			return
		}
		c := report.Crash
		single := []string{c.GetError(), c.GetThread(), c.GetDetail(), c.GetProblematicFrame(), c.GetVmOperation()}
		for _, s := range slices.Concat(single, c.GetNativeFrames(), c.GetJavaFrames()) {
			if !utf8.ValidString(s) {
				t.Fatalf("not UTF-8, which a proto string must be: %q", s)
			}
			if len(s) > 8*maxLine+maxLine {
				t.Fatalf("%d bytes", len(s))
			}
		}
		if len(c.GetNativeFrames()) > maxFrames || len(c.GetJavaFrames()) > maxFrames {
			t.Fatal("too many frames")
		}
	})
}
