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

func TestUnsupportedKernelSaysWhatToDo(t *testing.T) {
	err := Supported()
	if err == nil {
		t.Skip("this kernel can, and this is root")
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

// Root is for loading the scheduler: what is run for a user is that user's, as the environment says, too.
func TestCommandsOfAnOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("running a command as another user takes root")
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
