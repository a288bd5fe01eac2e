package bpf

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"testing"

	"github.com/cilium/ebpf/btf"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/schedule"
)

func TestUnsupportedKernelNamesTheRemedy(t *testing.T) {
	err := Supported()
	if err == nil {
		t.Skip("this kernel supports the scheduler, and the test runs as root")
	}
	require.ErrorIs(t, err, ErrUnsupported)
	_, refused := RunRequest{
		Program:      Program{Command: []string{"true"}},
		Perturbation: schedule.Perturbation{Strategy: "none"},
	}.Run(t.Context())
	require.ErrorContains(t, refused, err.Error())
	if _, missing := os.Stat("/sys/kernel/sched_ext"); missing != nil {
		require.ErrorContains(t, refused, "misstep vm run", "the remedy")
	}
	_, err = Attach(Options{Perturbation: schedule.Perturbation{Strategy: "none"}})
	assert.ErrorIs(t, err, ErrUnsupported)
}

// A kernel whose type information has one more argument for a function than the program passes refuses the program; Supported
// detects that beforehand.
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

// exited returns the state of a command that ended with the given code.
func exited(t *testing.T, code int) *os.ProcessState {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", fmt.Sprint("exit ", code))
	_ = cmd.Run()
	require.Equal(t, code, cmd.ProcessState.ExitCode())
	return cmd.ProcessState
}

func TestRepeatsUntilARunFails(t *testing.T) {
	ok := &Result{State: exited(t, 0), Report: &schedule.Report{}}
	failed := &Result{State: exited(t, 7), Report: &schedule.Report{}}
	ejected := &Result{State: exited(t, 7), Report: &schedule.Report{Ejection: &schedule.Ejection{Kind: "watchdog"}}}
	late := &Result{State: exited(t, 0), TimedOut: true, Report: &schedule.Report{}}
	for name, c := range map[string]struct {
		results     []*Result
		repeat      bool
		most        int
		interrupted bool
		code        int
		says        string // by the error command and about the run; empty: neither
	}{
		"one succeeds":           {results: []*Result{ok}},
		"one fails":              {results: []*Result{failed}, code: 7, says: "error 5 7"},
		"one times out":          {results: []*Result{late}, code: 124, says: "error 5 124"},
		"one is ejected":         {results: []*Result{ejected}, code: 123},
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
		r := RunRequest{
			Program: Program{Stdout: &out, Stderr: &out}, Perturbation: schedule.Perturbation{Seed: 5},
			RepeatUntilFailure: c.repeat, MaxRuns: c.most, ErrorCommand: "echo error $MISSTEP_SEED $MISSTEP_EXIT",
		}
		ran := 0
		code, err := r.repeat(ctx, func(p schedule.Perturbation) (*Result, error) {
			require.Equal(t, 5+uint64(ran), p.Seed, "the next seed each time")
			ran++
			return c.results[ran-1], nil
		})
		require.NoError(t, err, name)
		cancel()
		assert.Equal(t, len(c.results), ran, name)
		assert.Equal(t, c.code, code, name)
		if c.says == "" {
			assert.NotContains(t, out.String(), "error", name)
			assert.NotContains(t, out.String(), "misstep sched:", name)
		} else {
			assert.Contains(t, out.String(), c.says+"\n", name)
		}
	}
}

// Root is needed only for loading the scheduler: commands run as the ordinary user, with that user's environment.
func TestCommandsOfAnOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("running a command as another user requires root")
	}
	nobody, err := user.Lookup("nobody")
	require.NoError(t, err)
	const report = "echo $(id -u) $HOME $USER $LOGNAME $MISSTEP_SEED"
	for name, r := range map[string]RunRequest{
		"by name":   {ErrorCommand: report, Program: Program{User: "nobody"}},
		"of sudo":   {ErrorCommand: report},
		"by number": {ErrorCommand: report, Program: Program{User: nobody.Uid}},
	} {
		t.Setenv("HOME", "/root")
		t.Setenv("SUDO_USER", map[string]string{"of sudo": "nobody"}[name])
		var out bytes.Buffer
		r.Stdout, r.Stderr = &out, &out
		r.failed(t.Context(), schedule.Perturbation{Seed: 5}, 1)
		assert.Equal(t, nobody.Uid+" "+nobody.HomeDir+" nobody nobody 5\n", out.String(), name)
	}
	c, env, err := credentialOf("root")
	require.NoError(t, err)
	assert.Nil(t, c)
	assert.Empty(t, env, "it is root already")
	_, _, err = credentialOf("no-such-user")
	require.ErrorContains(t, err, "run as no-such-user: no such user")
}

// A user who may not load a scheduler at all gets that reason, whatever scheduler is active: ErrBusy is for those who only have to
// wait.
func TestBusyIsForUsersWhoMayLoad(t *testing.T) {
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
