package check

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/agent"
	"misstep/app/local"
	"misstep/internal/testenv"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/runner/jvm"
)

// compiled returns the class path of the test's program.
func compiled(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	output, err := exec.Command(testenv.Javac(t), "-source", "8", "-target", "8", "-nowarn", "-d", dir,
		"testdata/Program.java").CombinedOutput()
	require.NoError(t, err, "%s", output)
	return dir
}

func options(t *testing.T, command ...string) (o Options, stdout, stderr *bytes.Buffer) {
	t.Helper()
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	return Options{
		Installation: local.Installation{Home: testenv.Home(t), AgentDir: testenv.Agent(t)}, Command: command,
		Selection: Selection{Ratio: 1, Seed: 1}, Stdin: strings.NewReader("typed\n"), Stdout: stdout, Stderr: stderr,
	}, stdout, stderr
}

// What the program prints, reads and returns is the same as without Misstep, on each JDK and with each set of checks.
func TestProgramIsLeftAsItIs(t *testing.T) {
	classes := compiled(t)
	jfr := &misstepv1.Profiler{Name: recipe.ProfilerJFR}
	for _, c := range []struct {
		jdk string
		Selection
	}{
		{"jdk8", Selection{Ratio: 1}},
		{"jdk17", Selection{Ratio: 1}},
		{"jdk21", Selection{Light: true, Profiler: jfr}},
		{"jdk25", Selection{Ratio: 1, Profiler: jfr}},
	} {
		t.Run(c.jdk, func(t *testing.T) {
			java := testenv.Catalogued(t, c.jdk).Tool("java")
			for _, end := range [][]string{{"exit", "7"}, {"echo"}} {
				command := append([]string{java, "-Xmx256m", "-cp", classes, "Program", "1500"}, end...)
				alone := exec.Command(command[0], command[1:]...)
				var wantOut, wantErr bytes.Buffer
				alone.Stdin, alone.Stdout, alone.Stderr = strings.NewReader("typed\n"), &wantOut, &wantErr
				_ = alone.Run() // its exit code is compared
				o, stdout, stderr := options(t, command...)
				o.Selection = c.Selection
				o.Seed = 1
				r, err := Run(t.Context(), o)
				require.NoError(t, err)
				assert.Equal(t, wantOut.String(), stdout.String())
				assert.Equal(t, wantErr.String(), stderr.String())
				assert.Equal(t, alone.ProcessState.ExitCode(), r.ExitCode)
				assert.True(t, r.Proved(), r.Reason)
				for _, b := range r.Bugs { // what JFR's unfinished frames give has no label without the pc of its signal
					assert.True(t, b.Known || slices.Equal(b.Checks, []string{recipe.EventEdges}), "%+v", b)
				}
				for _, check := range r.Checks {
					assert.Positive(t, check.Match, check.Check)
				}
				assert.Equal(t, command, r.Command)
				assert.Contains(t, r.JDK.Version, "64-Bit Server VM")
			}
		})
	}
}

// A program that shows a bug of the JDK: the finding has the label of the known bug, and its share of the samples.
func TestKnownBugAndItsCost(t *testing.T) {
	workload := filepath.Join(testenv.Root(), "build", "workloads", "clinit")
	jars, err := filepath.Glob(filepath.Join(workload, "lib", "*.jar"))
	if err != nil || len(jars) == 0 {
		t.Skipf("the workload clinit is not built: run make workloads (%v)", err)
	}
	o, _, _ := options(t, testenv.Catalogued(t, "jdk17").Tool("java"), "-Xmx128m", "-Xcomp", "-XX:TieredStopAtLevel=1", "-cp", strings.Join(jars, ":"),
		"misstep.workloads.clinit.Main", "1")
	o.Checks, o.Interval = []string{recipe.GstAsgct + "=0.1", recipe.AsgctShadow}, 100*time.Microsecond
	o.Out = filepath.Join(t.TempDir(), "out")
	r, err := Run(t.Context(), o)
	require.NoError(t, err)
	assert.Equal(t, "mismatches", r.Outcome, r.Reason)
	require.NotEmpty(t, r.Bugs)
	assert.Equal(t, "JDK-8303444", r.Bugs[0].ID)
	assert.True(t, r.Bugs[0].Known)
	assert.Positive(t, r.Bugs[0].Count)
	text, err := os.ReadFile(filepath.Join(o.Out, FileOutcome))
	require.NoError(t, err)
	assert.Contains(t, string(text), "OUTCOME_KIND_MISMATCHES")
}

func TestCrashIsIdentified(t *testing.T) {
	classes := compiled(t)
	t.Chdir(t.TempDir())
	o, _, _ := options(t, testenv.Catalogued(t, "jdk17").Tool("java"), "-cp", classes, "Program", "500", "crash")
	o.Light = true
	r, err := Run(t.Context(), o)
	require.NoError(t, err)
	assert.Equal(t, "crash", r.Outcome)
	assert.Contains(t, r.Reason, "SIGSEGV")
	assert.Equal(t, int(syscall.SIGABRT), r.Signal)
	require.Len(t, r.Bugs, 1)
	assert.Equal(t, []string{"crash"}, r.Bugs[0].Kinds)
	files, err := filepath.Glob("hs_err_pid*.log")
	require.NoError(t, err)
	assert.Len(t, files, 1, "the error file is where it always is")
}

// A signal to misstep reaches the program, whose own way to end decides the exit code.
func TestSignalsArePassedOn(t *testing.T) {
	classes := compiled(t)
	o, _, _ := options(t, testenv.Catalogued(t, "jdk17").Tool("java"), "-cp", classes, "Program", "500", "wait")
	read, written := io.Pipe()
	o.Stdout = written
	var seen []string
	done := make(chan struct{})
	go func() {
		defer close(done)
		for lines := bufio.NewScanner(read); lines.Scan(); {
			seen = append(seen, lines.Text())
			if lines.Text() == "ready" {
				_ = syscall.Kill(os.Getpid(), syscall.SIGTERM)
			}
		}
	}()
	r, err := Run(t.Context(), o)
	_ = written.Close()
	<-done
	require.NoError(t, err)
	assert.Equal(t, 128+int(syscall.SIGTERM), r.ExitCode)
	assert.Contains(t, seen, "asked to end")
	assert.True(t, r.Proved(), r.Reason)
}

func TestTimeIsOver(t *testing.T) {
	classes := compiled(t)
	o, stdout, _ := options(t, testenv.Catalogued(t, "jdk17").Tool("java"), "-cp", classes, "Program", "200", "wait")
	o.Light, o.For = true, 3*time.Second
	r, err := Run(t.Context(), o)
	require.NoError(t, err)
	assert.Equal(t, 128+int(syscall.SIGTERM), r.ExitCode)
	assert.Contains(t, stdout.String(), "asked to end")
}

func TestProgramsThatCannotBeChecked(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "script"))
	o, _, _ := options(t, filepath.Join(dir, "script"))
	_, err := Run(t.Context(), o)
	require.ErrorContains(t, err, "is not the java of a JDK")
	o.Command = []string{filepath.Join(dir, "missing")}
	_, err = Run(t.Context(), o)
	var missing *NotStartedError
	require.ErrorAs(t, err, &missing)
}

// A script that starts JVMs of two JDKs: each has its own result, also when it is read again.
func TestEveryJVMOfAScript(t *testing.T) {
	classes, dir := compiled(t), t.TempDir()
	script := filepath.Join(dir, "script.sh")
	text := "#!/bin/sh\n"
	for _, name := range []string{"jdk8", "jdk25"} {
		text += testenv.Catalogued(t, name).Tool("java") + " -Xmx256m -cp " + classes + " Program 1500 exit 0\n"
	}
	text += "exec " + testenv.Catalogued(t, "jdk17").Tool("java") + " -Xmx256m -cp " + classes + " Program 1500 exit 9\n"
	require.NoError(t, os.WriteFile(script, []byte(text), 0o755))
	o, stdout, _ := options(t, script)
	o.Out = filepath.Join(dir, "seen")
	r, err := RunAll(t.Context(), o)
	require.NoError(t, err)
	assert.Equal(t, 9, r.ExitCode)
	assert.Equal(t, 3, strings.Count(stdout.String(), "worked true"))
	require.Len(t, r.JVMs, 3)
	assert.False(t, r.New(), "%+v", r.Bugs)
	for _, one := range r.JVMs {
		assert.Equal(t, []string{"Program", "1500"}, one.Command[:2])
		assert.True(t, one.Proved(), one.Reason)
	}
	assert.Equal(t, "several JDKs", r.JDK.Version)
	again, err := Left(t.Context(), o.Installation, o.Out, nil)
	require.NoError(t, err)
	assert.Equal(t, r.Checks, again.Checks)
	assert.Len(t, again.JVMs, 3)
}

// The budget bounds what entry checks cost where methods are tiny; the checks that are left agree as the others do.
func TestBudgetOfEntryChecks(t *testing.T) {
	classes := compiled(t)
	made := func(budget float64) uint64 {
		o, _, _ := options(t, testenv.Catalogued(t, "jdk17").Tool("java"), "-cp", classes, "Program", "2000", "exit", "0")
		o.Budget = budget
		r, err := Run(t.Context(), o)
		require.NoError(t, err)
		require.True(t, r.Proved(), r.Reason)
		require.Equal(t, recipe.GstAsgct, r.Checks[0].Check)
		return r.Checks[0].Match
	}
	bounded, unbounded := made(0.05), made(0)
	assert.Positive(t, bounded)
	assert.Greater(t, unbounded, 3*bounded)
}

// Without leaves and forwarders those methods are not instrumented, others are, and what is compared agrees all the same.
func TestLeavesAreLeftOut(t *testing.T) {
	classes := compiled(t)
	instrumented := func(without bool) []string {
		o, _, _ := options(t, testenv.Catalogued(t, "jdk17").Tool("java"), "-Xmx256m", "-cp", classes, "Program", "2000", "exit",
			"0")
		o.WithoutLeaves, o.Out = without, filepath.Join(t.TempDir(), "out")
		r, err := Run(t.Context(), o)
		require.NoError(t, err)
		assert.True(t, r.Proved(), r.Reason)
		assert.False(t, r.New(), "%+v", r.Bugs)
		list, err := os.ReadFile(filepath.Join(o.Out, jvm.AgentDir, agent.FileMethods))
		require.NoError(t, err)
		return agent.ParseMethods(list)
	}
	all, calling := instrumented(false), instrumented(true)
	assert.Contains(t, all, "Program.leaf(J)J")
	assert.Contains(t, all, "Program.forward(J)J")
	assert.NotContains(t, calling, "Program.leaf(J)J")
	assert.NotContains(t, calling, "Program.forward(J)J")
	assert.Contains(t, calling, "Program.fib(I)J")
}
