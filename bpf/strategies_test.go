package bpf

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"testing"
	"time"

	"github.com/cilium/ebpf/btf"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEveryStrategyIsExplained(t *testing.T) {
	for _, s := range Strategies() {
		require.NoError(t, Perturbation{Strategy: s.Name}.Validate(), s.Name)
		assert.NotEmpty(t, s.Doc, s.Name)
		seen := map[string]bool{}
		for _, p := range s.Parameters {
			assert.False(t, seen[p.Name], "%s %s twice", s.Name, p.Name)
			seen[p.Name] = true
			assert.NotEmpty(t, p.Doc)
			assert.True(t, p.Min <= p.Default && p.Default <= p.Max && p.Min < p.Max, "%s %s", s.Name, p.Name)
			for _, value := range []float64{p.Min, p.Max} {
				parameters := map[string]float64{p.Name: value}
				switch p.Name { // an empty range is refused on its own
				case "min_us":
					parameters["max_us"] = p.Max
				case "max_us":
					parameters["min_us"] = p.Min
				}
				assert.NoError(t, Perturbation{Strategy: s.Name, Parameters: parameters}.Validate(), "%s %v", s.Name, parameters)
			}
		}
	}
}

func TestWrongPerturbationsAreNamed(t *testing.T) {
	for want, p := range map[string]Perturbation{
		`no strategy "speed"; there are none, delay`: {Strategy: "speed"},
		`no strategy ""`: {},
		`strategy none has no parameters, not "x" either`:        {Strategy: "none", Parameters: map[string]float64{"x": 1}},
		`delay has no parameter "x"; it has probability, expiry`: {Strategy: "delay", Parameters: map[string]float64{"x": 1}},
		`delay probability = 1.5 is not in [0, 1]`:               {Strategy: "delay", Parameters: map[string]float64{"probability": 1.5}},
		`delay max_us = 3000000 is not in [1, 2000000] µs`:       {Strategy: "delay", Parameters: map[string]float64{"max_us": 3e6}},
		`delay probability = NaN is not in`:                      {Strategy: "delay", Parameters: map[string]float64{"probability": math.NaN()}},
		`pct span = 2.5 is not a whole number`:                   {Strategy: "pct", Parameters: map[string]float64{"span": 2.5}},
		`pct from = 9 leaves no decision before until = 9`:       {Strategy: "pct", Parameters: map[string]float64{"from": 9, "until": 9}},
		`delay min_us = 20000 is above max_us = 10000`:           {Strategy: "delay", Parameters: map[string]float64{"min_us": 20000}},
	} {
		err := p.Validate()
		require.ErrorIs(t, err, ErrInvalid, want)
		assert.ErrorContains(t, err, want)
	}
}

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
	for _, s := range Strategies() {
		assert.Contains(t, "\n"+out, "\n"+s.Name+"\n")
	}
	code, out, _ = command(t, "strategies", "--json")
	assert.Zero(t, code)
	var parsed []struct {
		Name       string
		Parameters []struct{ Name string }
	}
	require.NoError(t, json.Unmarshal([]byte(out), &parsed))
	assert.Len(t, parsed, len(Strategies()))

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
	writer, err := NewLogWriter(&log, Header{Perturbation: Perturbation{Strategy: "delay"}, Mechanism: "agent"})
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
	_, err = Attach(Options{Perturbation: Perturbation{Strategy: "none"}})
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
	ok, failed := &Result{State: exited(t, 0), Report: &Report{}}, &Result{State: exited(t, 7), Report: &Report{}}
	ejected := &Result{State: exited(t, 7), Report: &Report{Ejection: &Ejection{Kind: "watchdog"}}}
	late := &Result{State: exited(t, 0), TimedOut: true, Report: &Report{}}
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
		require.NoError(t, r.repeat(s, Perturbation{Seed: 5}, func(p Perturbation) (*Result, error) {
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
		r.failed(&streams{ctx: t.Context(), stdout: &out, stderr: &out}, Perturbation{Seed: 5}, 1)
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

func TestHistogramsInWords(t *testing.T) {
	h := make(Histogram, buckets)
	assert.Equal(t, "none", h.String())
	h[10], h[20] = 99, 1
	assert.Equal(t, 2048*time.Nanosecond, h.Quantile(0.5))
	assert.Equal(t, 2048*time.Nanosecond, h.Quantile(0.99))
	assert.Equal(t, time.Duration(1<<21), h.Quantile(1))
}

func TestReportNamesWhatWasApplied(t *testing.T) {
	r := Report{Perturbation: Perturbation{Strategy: "chaos", Seed: 4}, Delays: 5, Starved: 2, Preemptions: 7, Overtaken: 1, PriorityChanges: 3}
	assert.Equal(t, map[string]uint64{"delay": 3, "starve": 2, "preempt": 8, "priority": 3}, r.Applied())
	assert.Empty(t, (&Report{}).Applied())
	r.Threads = []ThreadReport{{Name: "0.1", Comm: "evil\x1b[2J\xff", Role: "mutator", Decisions: 4}}
	var b bytes.Buffer
	r.Write(&b, 10)
	assert.Contains(t, b.String(), "evil?[2J?")
	assert.NotContains(t, b.String(), "\x1b")
}
