package workloads_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/workloads"
)

func TestJudgePlain(t *testing.T) {
	m, err := workloads.Parse([]byte("name: a.b\njar: a.jar\n"), "w.yaml")
	require.NoError(t, err)
	const trace = "java.lang.IllegalStateException: why\n\tat a.B.main(B.java:3)\nCaused by: java.io.IOException: disk\n"
	for _, c := range []struct {
		name           string
		exit           int
		stdout, stderr string
		want           string // "reason: message", empty for verified
	}{
		{"verified", 0, "x\nmisstep: a.b verified 3 repetitions\n", "", ""},
		{
			"a warning of the VM comes last", 0,
			"misstep: a.b verified 3 repetitions\nOpenJDK 64-Bit Server VM warning: CodeCache is full\n", "", "",
		},
		{"verified after a caught exception", 0, "misstep: a.b verified 1 repetitions\n", trace, ""},
		{"silent", 0, "", "", `validation: exit 0, but stdout lacks the line "misstep: a.b verified N repetitions"`},
		{"another's line", 0, "misstep: axb verified 3 repetitions\n", "", `validation: exit 0, but stdout lacks`},
		{"none", 0, "misstep: a.b verified 0 repetitions\n", "", "validation: it verified 0 repetitions"},
		{"wrong", 3, "", "misstep: a.b validation failed: sum: expected 1, got 2\n", "validation: sum: expected 1, got 2"},
		{
			"wrong at its second end", 3, "misstep: a.b verified 3 repetitions\n", "misstep: a.b validation failed: late\n",
			"validation: late",
		},
		{"3 without a line", 3, "", "", "exit-code: exit code 3"},
		{"threw", 1, "", trace, "exception: java.lang.IllegalStateException: why"},
		{
			"threw in main", 1, "", "Exception in thread \"main\" a.b.C$D_Exception: x\n\tat a.B.main(B.java:3)\n",
			"exception: a.b.C$D_Exception: x",
		},
		{"other code", 17, "", "first\nlast words\n", "exit-code: exit code 17: last words"},
		{"terminated", 143, "", "", "exit-code: exit code 143"},
		{
			"heap", 1, "", "java.lang.OutOfMemoryError: Java heap space\n\tat a.B.c(B.java)\n",
			"memory: java.lang.OutOfMemoryError: Java heap space",
		},
		{
			"heap in a thread", 1, "", "Exception in thread \"w-1\" java.lang.OutOfMemoryError: Metaspace\n",
			"memory: Exception in thread \"w-1\" java.lang.OutOfMemoryError: Metaspace",
		},
		{
			"heap with ExitOnOutOfMemoryError", 3, "Terminating due to java.lang.OutOfMemoryError: Java heap space\n", "",
			"memory: Terminating due to",
		},
		{
			"main class", 1, "", "Error: Could not find or load main class a.B\nCaused by: java.lang.ClassNotFoundException: a.B\n",
			"start: Error: Could not find or load main class a.B",
		},
		{"jar", 1, "", "Error: Invalid or corrupt jarfile a.jar\n", "start: Error: Invalid or corrupt jarfile a.jar"},
		{
			"flag", 1, "", "Unrecognized VM option 'X'\nError: Could not create the Java Virtual Machine.\n",
			"start: Unrecognized VM option 'X'",
		},
		{
			"flag, 25", 1, "", "Error: VM option 'X' is experimental\nError: Could not create the Java Virtual Machine.\n",
			"start: Error: Could not create",
		},
		{
			"agent", 1, "Error occurred during initialization of VM\nCould not find agent library x.so\n", "",
			"start: Error occurred during initialization of VM Could not find agent library x.so",
		},
		{"bytes", 9, "", "a\xff\x00b", "exit-code: exit code 9: a\uFFFD b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := m.Judge(c.exit, []byte(c.stdout), []byte(c.stderr))
			if c.want == "" {
				assert.Nil(t, f)
				return
			}
			require.NotNil(t, f)
			assert.True(t, strings.HasPrefix(f.Reason+": "+f.Message, c.want), f.Reason+": "+f.Message)
		})
	}
}

func TestJudgeRenaissance(t *testing.T) {
	m, err := workloads.Parse([]byte("name: renaissance\njar: a.jar\nharness: renaissance\n"), "w.yaml")
	require.NoError(t, err)
	const (
		started  = "====== x (dummy) [default], iteration 0 started ======\n"
		done     = started + "====== x (dummy) [default], iteration 0 completed (12.345 ms) ======\n"
		gone     = "The following benchmarks failed: x\n"
		notValid = started + "====== x (dummy) [default], iteration 0 failed (ValidationException) ======\n"
		threw    = started + "====== x (dummy) [default], iteration 0 failed (AssertionError) ======\n"
	)
	for _, c := range []struct {
		name           string
		exit           int
		stdout, stderr string
		want           string
	}{
		{"completed", 0, done, "", ""},
		{"completed nothing", 0, started, "", "validation: exit 0, but no iteration was completed"},
		{
			"validation", 1, notValid, "Benchmark 'x' failed result validation:\nexpected 3 but got 4\n" + gone,
			"validation: expected 3 but got 4",
		},
		{"validation, the reason is cut off", 1, notValid, gone, "validation: the benchmark's result is wrong"},
		{
			"exception", 1, threw, "Benchmark 'x' failed with exception:\njava.lang.AssertionError: no\n\tat a.b(C.java)\n" + gone,
			"exception: java.lang.AssertionError: no",
		},
		{"exception, the reason is cut off", 1, threw, "", "exception: AssertionError"},
		{"failed in setup", 1, gone, "", "exception: The following benchmarks failed: x"},
		{"failed though exit 0", 0, done + gone, "", "exception: The following benchmarks failed: x"},
		{
			"unknown benchmark", 1, "", "Benchmark (or group) 'y' does not exist.\n",
			"start: Renaissance did not start: Benchmark (or group) 'y' does not exist.",
		},
		{
			"unknown option", 1, "", "Error: Unknown option --x\nTry --help for more information.\n",
			"start: Renaissance did not start: Try --help",
		},
		{"broken jar", 1, "", "Error: Invalid or corrupt jarfile a.jar\n", "start: Error: Invalid or corrupt jarfile"},
		{
			"heap", 1, threw, "Benchmark 'x' failed with exception:\njava.lang.OutOfMemoryError: Java heap space\n" + gone,
			"memory: java.lang.OutOfMemoryError",
		},
		{"terminated", 143, done, "", "exit-code: exit code 143"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := m.Judge(c.exit, []byte(c.stdout), []byte(c.stderr))
			if c.want == "" {
				assert.Nil(t, f)
				return
			}
			require.NotNil(t, f)
			assert.True(t, strings.HasPrefix(f.Reason+": "+f.Message, c.want), f.Reason+": "+f.Message)
		})
	}
}

// Of somebody's program only the exit code is known.
func TestJudgeProgram(t *testing.T) {
	m := workloads.Manifest{Name: "p", Harness: workloads.HarnessProgram, ExitCode: 1}
	assert.Nil(t, m.Judge(1, nil, []byte("java.lang.OutOfMemoryError: as always\n")))
	assert.Equal(t, "exit code 0, not 1: done", m.Judge(0, nil, []byte("done\n")).GetMessage())
	assert.Equal(t, "start", m.Judge(2, nil, []byte("Error: Could not find or load main class X\n")).GetReason())
}

// FuzzJudge asserts that a message is always one short line of valid UTF-8, as protobuf requires.
func FuzzJudge(f *testing.F) {
	f.Add(1, []byte("a\nb"), []byte("java.lang.Error: \xff\n\tat"))
	f.Add(3, []byte(""), []byte("misstep: a validation failed: \x00"))
	f.Fuzz(func(t *testing.T, exit int, stdout, stderr []byte) {
		for _, harness := range []workloads.Harness{workloads.HarnessPlain, workloads.HarnessRenaissance} {
			failure := workloads.Manifest{Name: "a", Harness: harness}.Judge(exit, stdout, stderr)
			if failure == nil {
				assert.Zero(t, exit)
				continue
			}
			assert.NotEmpty(t, failure.Reason)
			assert.True(t, utf8.ValidString(failure.Message))
			assert.NotContains(t, failure.Message, "\n")
			assert.Less(t, len(failure.Message), 600)
		}
	})
}
