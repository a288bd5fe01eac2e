package bpf

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"testing"
	"time"

	"misstep/schedule"

	"github.com/cilium/ebpf/btf"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// command runs the command line without a scheduler.
func command(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out, err bytes.Buffer
	code = Command(ctx, args, &out, &err)
	return code, out.String(), err.String()
}

func TestCommandLine(t *testing.T) {
	code, out, _ := command(t, "strategies")
	assert.Zero(t, code)
	for _, s := range schedule.Strategies() {
		assert.Contains(t, "\n"+out, "\n"+s.Name+"\n")
	}
	code, out, _ = command(t, "strategies", "--json")
	assert.Zero(t, code)
	var parsed []struct {
		Name       string
		Parameters []struct{ Name string }
	}
	require.NoError(t, json.Unmarshal([]byte(out), &parsed))
	assert.Len(t, parsed, len(schedule.Strategies()))

	code, out, _ = command(t, "--help")
	assert.Zero(t, code)
	assert.Contains(t, out, "replay")

	code, _, text := command(t, "run", "--strategy", "delay", "--param", "probability=2", "--", "true")
	assert.Equal(t, 125, code)
	assert.Contains(t, text, "probability = 2 is not in [0, 1]")

	code, _, text = command(t, "run", "--strategy", "delay", "--param", "probability=half", "--", "true")
	assert.Equal(t, 125, code)
	assert.Contains(t, text, "--param probability=half: want a number")

	code, _, text = command(t, "run", "--strategy", "none", "--")
	assert.Equal(t, 125, code)
	assert.NotEmpty(t, text)

	file := filepath.Join(t.TempDir(), "x.log")
	require.NoError(t, os.WriteFile(file, []byte("no log"), 0o644))
	code, _, text = command(t, "replay", file, "--", "true")
	assert.Equal(t, 125, code)
	assert.Contains(t, text, "not a schedule log")

	var log bytes.Buffer
	writer, err := schedule.NewLogWriter(&log, schedule.Header{Perturbation: schedule.Perturbation{Strategy: "delay"}, Mechanism: "agent"})
	require.NoError(t, err)
	require.NoError(t, writer.Close(0))
	require.NoError(t, os.WriteFile(file, log.Bytes(), 0o644))
	code, _, text = command(t, "replay", file, "--", "true")
	assert.Equal(t, 125, code)
	assert.Contains(t, text, `decisions of the mechanism "agent"`)
}

func TestContradictoryFlags(t *testing.T) {
	for want, args := range map[string][]string{
		"--max-runs: want a positive number, with --repeat-until-failure": {"run", "--max-runs", "3", "--", "true"},
		"--max-runs: want a positive":                                     {"run", "--repeat-until-failure", "--max-runs=-3", "--", "true"},
		"--timeout and --threads: want no negative value":                 {"run", "--timeout=-3s", "--", "true"},
	} {
		code, _, stderr := command(t, args...)
		assert.Equal(t, 125, code)
		assert.Contains(t, stderr, want)
	}
}

func TestUnsupportedKernelSaysWhatToDo(t *testing.T) {
	err := Supported()
	if err == nil {
		t.Skip("this kernel can, and this is root")
	}
	require.ErrorIs(t, err, ErrUnsupported)
	code, _, text := command(t, "run", "--strategy", "none", "--", "true")
	assert.Equal(t, 125, code)
	assert.Contains(t, text, err.Error())
	if _, missing := os.Stat("/sys/kernel/sched_ext"); missing != nil {
		assert.Contains(t, text, "misstep vm run", "the remedy")
	}
	_, err = Attach(Options{Perturbation: schedule.Perturbation{Strategy: "none"}})
	assert.ErrorIs(t, err, ErrUnsupported)
}

// A kernel whose type information has one argument more for a function than the program gives it refuses the program; who asks is told before.
func TestFunctionsOfAnotherPrototype(t *testing.T) {
	program, err := loadSched()
	require.NoError(t, err)
	kernel := program.Types.Copy()
	require.Empty(t, differs(program.Types, kernel))
	const name = "scx_bpf_kick_cpu"
	var f *btf.Func
	require.NoError(t, kernel.TypeByName(name, &f))
	proto, is := f.Type.(*btf.FuncProto)
	require.True(t, is)
	proto.Params = append(proto.Params, btf.FuncParam{Name: "aux"})
	require.Equal(t, name, differs(program.Types, kernel))
}

// exited is the state of a command that ended with this code.
func exited(t *testing.T, code int) *os.ProcessState {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", fmt.Sprint("exit ", code))
	_ = cmd.Run()
	require.Equal(t, code, cmd.ProcessState.ExitCode())
	return cmd.ProcessState
}

func TestRepeatsUntilARunFails(t *testing.T) {
	ok, failed := &Result{State: exited(t, 0), Report: &schedule.Report{}}, &Result{State: exited(t, 7), Report: &schedule.Report{}}
	ejected := &Result{State: exited(t, 7), Report: &schedule.Report{Ejection: &schedule.Ejection{Kind: "watchdog"}}}
	late := &Result{State: exited(t, 0), TimedOut: true, Report: &schedule.Report{}}
	for name, c := range map[string]struct {
		results     []*Result
		repeat      bool
		most        int
		interrupted bool
		code        int
		says        string // by the error command and of the run; empty: neither
	}{
		"one that is well":       {results: []*Result{ok}},
		"one that fails":         {results: []*Result{failed}, code: 7, says: "error 5 7"},
		"one that is too late":   {results: []*Result{late}, code: 124, says: "error 5 124"},
		"one that is ejected":    {results: []*Result{ejected}, code: 123},
		"the third fails":        {results: []*Result{ok, ok, failed}, repeat: true, code: 7, says: "error 7 7"},
		"the second is ejected":  {results: []*Result{ok, ejected}, repeat: true, code: 123},
		"Ctrl-C kills it":        {results: []*Result{failed}, repeat: true, interrupted: true, code: 7},
		"Ctrl-C comes too late":  {results: []*Result{ok}, repeat: true, interrupted: true},
		"enough without failure": {results: []*Result{ok, ok}, repeat: true, most: 2, says: "no failure in 2 runs, seeds 5 to 6"},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		if c.interrupted {
			cancel()
		}
		var out bytes.Buffer
		s := &streams{ctx: ctx, stdout: &out, stderr: &out}
		r := &runCommand{Seed: 5, RepeatUntilFailure: c.repeat, MaxRuns: c.most, ErrorCommand: "echo error $MISSTEP_SEED $MISSTEP_EXIT"}
		ran := 0
		require.NoError(t, r.repeat(s, schedule.Perturbation{Seed: 5}, func(p schedule.Perturbation) (*Result, error) {
			require.Equal(t, 5+uint64(ran), p.Seed, "the next seed each time")
			ran++
			return c.results[ran-1], nil
		}), name)
		cancel()
		assert.Equal(t, len(c.results), ran, name)
		assert.Equal(t, c.code, s.code, name)
		if c.says == "" {
			assert.NotContains(t, out.String(), "error", name)
			assert.NotContains(t, out.String(), "misstep sched:", name)
		} else {
			assert.Contains(t, out.String(), c.says+"\n", name)
		}
	}
}

// Root is for loading the scheduler: what is run for a user is that user's, as the environment says, too.
func TestCommandsOfAnOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("running a command as another user takes root")
	}
	nobody, err := user.Lookup("nobody")
	require.NoError(t, err)
	const report = "echo $(id -u) $HOME $USER $LOGNAME $MISSTEP_SEED"
	for name, r := range map[string]*runCommand{
		"by name":   {ErrorCommand: report, runFlags: runFlags{User: "nobody"}},
		"of sudo":   {ErrorCommand: report},
		"by number": {ErrorCommand: report, runFlags: runFlags{User: nobody.Uid}},
	} {
		t.Setenv("HOME", "/root")
		t.Setenv("SUDO_USER", map[string]string{"of sudo": "nobody"}[name])
		var out bytes.Buffer
		r.failed(&streams{ctx: t.Context(), stdout: &out, stderr: &out}, schedule.Perturbation{Seed: 5}, 1)
		assert.Equal(t, nobody.Uid+" "+nobody.HomeDir+" nobody nobody 5\n", out.String(), name)
	}
	c, env, err := credentialOf("root")
	require.NoError(t, err)
	assert.Nil(t, c)
	assert.Empty(t, env, "it is root already")
	_, _, err = credentialOf("no-such-user")
	require.ErrorContains(t, err, "run as no-such-user: no such user")
}

// Who may not load one at all is told so, whoever's scheduler is in force: ErrBusy is for those who only have to wait.
func TestBusyIsForThoseWhoCould(t *testing.T) {
	require.NoError(t, free(0, "disabled", ""))
	for _, ops := range []string{"", "misstep", "lavd"} {
		err := free(1000, "enabled", ops)
		require.ErrorIs(t, err, ErrUnsupported)
		require.NotErrorIs(t, err, ErrBusy)
		require.ErrorContains(t, err, "needs root")
	}
	ours, another := free(0, "enabled", "misstep"), free(0, "enabled", "lavd")
	for _, err := range []error{ours, another} {
		require.ErrorIs(t, err, ErrUnsupported)
		require.ErrorIs(t, err, ErrBusy)
	}
	require.ErrorIs(t, ours, ErrTurn)
	require.NotErrorIs(t, another, ErrTurn)
	require.ErrorContains(t, another, `"lavd" is enabled: end it first`)
	require.Contains(t, readFile(t, "sched.bpf.c"), `.name = "`+opsName+`"`)
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(text)
}
