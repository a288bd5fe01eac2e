package bpf

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/schedule"
	"misstep/schedule/scheduletest"
)

// The tests in this file load the scheduler. If the machine's kernel has no sched_ext, they are skipped with that reason;
// internal/testenv/vmtest runs this package's test binary in a virtual machine whose kernel has it.

func needKernel(t *testing.T) {
	t.Helper()
	if err := Supported(); err != nil {
		t.Skip(err)
	}
}

func state(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("/sys/kernel/sched_ext/state")
	require.NoError(t, err)
	return strings.TrimSpace(string(text))
}

// helperVariable is the environment variable that makes this test binary behave as a helper program.
const helperVariable = "MISSTEP_TEST_HELPER"

func init() {
	mode, argument, _ := strings.Cut(os.Getenv(helperVariable), ":")
	if mode == "" {
		return
	}
	os.Exit(help(mode, argument))
}

// help is the program under test, or a loader to be killed.
func help(mode, argument string) int {
	d, err := time.ParseDuration(argument)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	switch mode {
	case "work": // threads that spin, threads that sleep, threads that wait for each other
		fmt.Println("uid", os.Getuid())
		var all sync.WaitGroup
		end := time.Now().Add(d)
		ping := make(chan struct{})
		for i := range 4 {
			all.Go(func() {
				runtime.LockOSThread()
				for n := 0; time.Now().Before(end); n++ {
					switch {
					case i == 1 && n%100 == 0:
						time.Sleep(500 * time.Microsecond)
					case i == 2:
						ping <- struct{}{}
					case i == 3:
						<-ping
					}
				}
				switch i {
				case 2:
					close(ping)
				case 3:
					for range ping { // let the other one end
					}
				}
			})
		}
		all.Wait()
		return 7
	case "place": // calls passed often, and prints how many calls took at least as long as the argument, and how many of notPassed
		runtime.LockOSThread()
		slow, elsewhere := 0, 0
		for end := time.Now().Add(200 * time.Millisecond); time.Now().Before(end); {
			before := time.Now()
			passed()
			between := time.Now()
			if between.Sub(before) >= d {
				slow++
			}
			notPassed()
			if time.Since(between) >= d {
				elsewhere++
			}
		}
		fmt.Println(slow, elsewhere)
		return 0
	case "nap": // sleeps for 10 ms each time, without the runtime
		nap := syscall.NsecToTimespec(int64(10 * time.Millisecond))
		for end := time.Now().Add(d); time.Now().Before(end); {
			_, _, _ = syscall.RawSyscall(syscall.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&nap)), 0, 0)
		}
		return 0
	case "spin": // calls passed the given number of times
		for range d {
			passed()
		}
		return 0
	case "stack": // prints where its stack is
		maps, err := os.ReadFile("/proc/self/maps")
		if err != nil {
			return 2
		}
		for line := range strings.Lines(string(maps)) {
			if strings.Contains(line, "[stack]") {
				fmt.Print(line)
			}
		}
		return 0
	case "load":
		s, err := Attach(Options{Perturbation: schedule.Perturbation{Strategy: "chaos", Seed: 1}})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 2
		}
		cmd := helper("work", d)
		if err := s.Start(cmd); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 2
		}
		fmt.Println(cmd.Process.Pid)
		time.Sleep(time.Hour)
	}
	return 2
}

func helper(mode string, d time.Duration) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), helperVariable+"="+mode+":"+d.String(), "GOMAXPROCS=4")
	return cmd
}

func run(t *testing.T, o Options, cmd *exec.Cmd) *Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	result, err := Run(ctx, o, cmd)
	require.NoError(t, err)
	require.Equal(t, "disabled", state(t), "the kernel's own scheduler is back")
	return result
}

func TestKernelEachStrategyDoesItsWork(t *testing.T) {
	needKernel(t)
	for _, s := range schedule.Strategies() {
		t.Run(s.Name, func(t *testing.T) {
			// A bystander under the kernel's own scheduler, with the same load.
			bystander := helper("work", 500*time.Millisecond)
			require.NoError(t, bystander.Start())
			defer func() { _ = bystander.Wait() }()
			pid := uint32(bystander.Process.Pid)

			p := schedule.Perturbation{Strategy: s.Name, Seed: 3}
			switch s.Name {
			case "roles":
				p.Parameters = map[string]float64{"mutator": -0.5}
			case "pct": // a thread has few decisions in the time of this test
				p.Parameters = map[string]float64{"span": 16}
			}
			var file bytes.Buffer
			log, err := schedule.NewLogWriter(&file, schedule.Header{Perturbation: p})
			require.NoError(t, err)
			cmd := helper("work", 400*time.Millisecond)
			result := run(t, Options{Perturbation: p, Log: log}, cmd)
			require.Nil(t, result.Report.Ejection)
			assert.Equal(t, 7, result.Code(), "the command's own exit code")

			r := result.Report
			var text strings.Builder
			r.Write(&text, 8)
			t.Log("\n" + text.String())
			assert.Positive(t, r.Decisions)
			applied := r.Applied()
			switch s.Name {
			case "none":
				assert.Empty(t, applied)
			case "delay", "roles":
				assert.Positive(t, applied["delay"])
				assert.Greater(t, float64(r.Delays), 0.02*float64(r.Decisions))
			case "starve":
				assert.Positive(t, applied["starve"])
			case "pct", "pos":
				assert.Positive(t, applied["priority"])
			case "slice":
				assert.Positive(t, r.Preemptions)
				assert.InDelta(t, 0.5, float64(r.ShortSlices)/float64(r.Decisions), 0.15)
			case "chaos":
				assert.GreaterOrEqual(t, len(applied), 2)
			}
			assert.Equal(t, r.Delays, r.Chosen.Count())
			assert.LessOrEqual(t, r.Delays-r.Released, uint64(8), "a delayed thread is released, unless the program ended first")
			assert.Equal(t, r.Released, r.Late.Count())
			if r.Late.Count() > 20 {
				assert.LessOrEqual(t, r.Late.Quantile(0.9), 50*time.Millisecond, "delays end when they should")
			}

			// Only the tree is affected.
			assert.Equal(t, r.ThreadCount, uint64(len(r.Threads)))
			for _, thread := range r.Threads {
				assert.NotEqual(t, pid, thread.PID, "the bystander")
				assert.True(t, thread.Name == "0" || strings.HasPrefix(thread.Name, "0."), thread.Name)
			}
			assert.LessOrEqual(t, r.Outside, uint64(20), "turns of the loader's one thread")

			// The log has the same numbers.
			require.Zero(t, r.Lost)
			recorded, err := schedule.ReadLog(&file)
			require.NoError(t, err)
			assert.False(t, recorded.Cut)
			assert.Len(t, recorded.Decisions, int(r.Decisions))
			assert.Len(t, recorded.Threads, int(r.ThreadCount))
			if s.Name == "none" { // it does not call the policy
				for _, d := range recorded.Decisions {
					require.Equal(t, [3]uint64{0, 20e6, 0}, [3]uint64{d.Delay, d.Slice, d.Rank},
						"the policy's decision with all mechanisms off")
					require.Zero(t, d.Marks)
				}
			}
		})
	}
}

// A thread that sleeps for 10 ms each time is kept away for as long and longer, as far as chaos may, though nobody told it how long
// the thread sleeps; and more often than threads that others wake, which is 1 time in 28.
func TestKernelAbsencesFollowTheThreadsPeriod(t *testing.T) {
	needKernel(t)
	away := func(longest float64) (delays []uint64, wakeups int) {
		p := schedule.Perturbation{Strategy: "chaos", Seed: 5, Parameters: map[string]float64{"max_away_us": longest}}
		var file bytes.Buffer
		log, err := schedule.NewLogWriter(&file, schedule.Header{Perturbation: p})
		require.NoError(t, err)
		require.Nil(t, run(t, Options{Perturbation: p, Log: log}, helper("nap", 6*time.Second)).Report.Ejection)
		recorded, err := schedule.ReadLog(&file)
		require.NoError(t, err)
		first := recorded.Threads[0].Path
		for _, d := range recorded.Decisions {
			if d.Path != first || d.Elapsed < time.Second {
				continue
			}
			if d.Event == schedule.EventWakeup {
				wakeups++
			}
			if d.Marks&schedule.MarkAway != 0 {
				assert.Equal(t, schedule.EventWakeup, d.Event)
				delays = append(delays, d.Delay)
			}
		}
		return delays, wakeups
	}
	delays, wakeups := away(100000)
	require.Greater(t, len(delays), wakeups/10)
	assert.GreaterOrEqual(t, slices.Min(delays), uint64(1<<23), "the power of two below 10 ms: %v", delays)
	assert.LessOrEqual(t, slices.Max(delays), uint64(100e6))
	delays, _ = away(0)
	assert.Empty(t, delays, "without absences")
}

func TestKernelDelaysAreThoseOfThePolicy(t *testing.T) {
	needKernel(t)
	p := schedule.Perturbation{Strategy: "delay", Seed: 11, Parameters: map[string]float64{
		"probability": 0.5, "expiry": 0.5,
		"max_us": 2000,
	}}
	var file bytes.Buffer
	log, err := schedule.NewLogWriter(&file, schedule.Header{Perturbation: p})
	require.NoError(t, err)
	run(t, Options{Perturbation: p, Log: log}, helper("work", 500*time.Millisecond))
	recorded, err := schedule.ReadLog(&file)
	require.NoError(t, err)
	var delays []float64
	for _, d := range recorded.Decisions {
		if d.Delay > 0 {
			delays = append(delays, float64(d.Delay))
		}
	}
	n := float64(len(recorded.Decisions))
	assert.InDelta(t, 0.5, float64(len(delays))/n, 0.1+2/n)
	assert.Less(t, scheduletest.Kolmogorov(delays, scheduletest.Octaves(100e3, 2e6)), scheduletest.Critical(len(delays)))
}

func TestKernelReplayFollowsTheLog(t *testing.T) {
	needKernel(t)
	p := schedule.Perturbation{Strategy: "delay", Seed: 4}
	var file bytes.Buffer
	log, err := schedule.NewLogWriter(&file, schedule.Header{Perturbation: p})
	require.NoError(t, err)
	recordedRun := run(t, Options{Perturbation: p, Log: log}, helper("work", 500*time.Millisecond))
	recorded, err := schedule.ReadLog(&file)
	require.NoError(t, err)

	// With another seed, equal decisions can only come from the log.
	p.Seed = 5
	var second bytes.Buffer
	log, err = schedule.NewLogWriter(&second, schedule.Header{Perturbation: p})
	require.NoError(t, err)
	replayed := run(t, Options{Perturbation: p, Replay: recorded, Log: log}, helper("work", 700*time.Millisecond))
	var text strings.Builder
	replayed.Report.Write(&text, 4)
	t.Log("\n" + text.String())
	r := replayed.Report.Replay
	require.NotNil(t, r)
	assert.Equal(t, recordedRun.Report.Decisions, r.Recorded)
	assert.Positive(t, r.Replayed)
	assert.Equal(t, replayed.Report.Decisions, r.Replayed+r.Departed)
	require.NotNil(t, r.First, "the program runs longer than the log")
	assert.NotEmpty(t, r.First.Why)

	known := map[[2]uint64]schedule.Record{}
	for _, d := range recorded.Decisions {
		known[[2]uint64{d.Path, uint64(d.Counter)}] = d
	}
	again, err := schedule.ReadLog(&second)
	require.NoError(t, err)
	for _, d := range again.Decisions {
		if d.Marks&schedule.MarkReplayed != 0 {
			want := known[[2]uint64{d.Path, uint64(d.Counter)}]
			assert.Equal(t, [3]uint64{want.Delay, want.Slice, want.Rank}, [3]uint64{d.Delay, d.Slice, d.Rank})
		}
	}
}

var sink int

//go:noinline
func passed() { sink++ }

//go:noinline
func notPassed() { sink-- }

// A thread of the log is stopped before the instruction at which it was stopped in the log, and for as long, each time it reaches
// the instruction after enough further decisions of its own; other threads and other places are left alone.
func TestKernelReplayStopsThreadsAtPlaces(t *testing.T) {
	needKernel(t)
	place := uint64(reflect.ValueOf(passed).Pointer())
	const hold = 20 * time.Millisecond
	replay := func(path uint64, stopped bool) (result *Result, slow, elsewhere int) {
		l := &schedule.Log{Threads: []schedule.Record{{Kind: schedule.RecordThread, Path: rootPath()}}}
		cmd := helper("place", hold)
		cmd.Env = append(cmd.Env, "GODEBUG=asyncpreemptoff=1") // else the Go runtime interrupts a held thread by a signal
		var out bytes.Buffer
		cmd.Stdout = &out
		o := Options{
			Perturbation: schedule.Perturbation{Strategy: "slice", Seed: 3, Parameters: map[string]float64{"probability": 1}},
			Replay:       l, FixedAddresses: true,
		}
		if stopped {
			o.Stops = []schedule.Stop{{Record: schedule.Record{Path: path, Place: place, Slice: 1e6}, Held: uint64(hold)}}
		}
		result = run(t, o, cmd)
		require.Zero(t, result.Code())
		_, err := fmt.Sscan(out.String(), &slow, &elsewhere)
		require.NoError(t, err, out.String())
		return result, slow, elsewhere
	}
	const hiccups = 3 // slow calls due to a busy machine
	result, slow, elsewhere := replay(rootPath(), true)
	r := result.Report.Replay
	t.Logf("%d slow passes, %d elsewhere, %+v", slow, elsewhere, r)
	assert.Greater(t, r.Stopped, uint64(hiccups), "more than a hiccup")
	assert.LessOrEqual(t, r.Stopped, uint64(11), "each takes 20 ms of 200")
	assert.GreaterOrEqual(t, slow, int(r.Stopped), "each stop is in this function")
	assert.LessOrEqual(t, slow, int(r.Stopped)+hiccups, "and nothing else takes as long")
	assert.LessOrEqual(t, elsewhere, hiccups)
	assert.Positive(t, r.Passed, "between two stops the thread has another decision")
	require.Len(t, r.Stops, 1)
	assert.Equal(t, place, r.Stops[0].Address)
	assert.Equal(t, result.Report.Decisions, r.Replayed+r.Departed+r.Stopped)

	result, slow, _ = replay(schedule.Child(rootPath(), 9), true)
	assert.Zero(t, result.Report.Replay.Stopped, "the place is that of another thread")
	assert.Positive(t, result.Report.Replay.Passed)
	assert.LessOrEqual(t, slow, hiccups)

	result, slow, _ = replay(rootPath(), false)
	assert.Zero(t, result.Report.Replay.Stopped+result.Report.Replay.Passed, "without places")
	assert.LessOrEqual(t, slow, hiccups)
}

// The log has the instruction at which a thread lost its CPU.
func TestKernelLogHasPlaces(t *testing.T) {
	needKernel(t)
	var file bytes.Buffer
	log, err := schedule.NewLogWriter(&file, schedule.Header{})
	require.NoError(t, err)
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := helper("spin", 20_000_000)
	cmd.Path = exe
	p := schedule.Perturbation{Strategy: "slice", Seed: 1, Parameters: map[string]float64{"probability": 1, "max_us": 50}}
	require.Zero(t, run(t, Options{Perturbation: p, Log: log}, cmd).Code())
	l, err := schedule.ReadLog(&file)
	require.NoError(t, err)
	here := uint64(reflect.ValueOf(passed).Pointer())
	n := 0
	for _, d := range l.Decisions {
		switch {
		case d.Event != schedule.EventExpiry:
			assert.Zero(t, d.Place)
		case d.Place >= here && d.Place < here+64:
			n++
		}
	}
	assert.Greater(t, n, 10)
}

// A program is loaded at fixed addresses if that is requested; programs that the loader starts afterwards are not.
func TestKernelAddressesAreFixed(t *testing.T) {
	needKernel(t)
	stack := func(start func(*exec.Cmd)) string {
		cmd := helper("stack", 0)
		var out bytes.Buffer
		cmd.Stdout = &out
		start(cmd)
		require.Contains(t, out.String(), "[stack]")
		return out.String()
	}
	fixed := func(cmd *exec.Cmd) {
		require.Zero(t, run(t, Options{Perturbation: schedule.Perturbation{Strategy: "none"}, FixedAddresses: true}, cmd).Code())
	}
	random := func(cmd *exec.Cmd) {
		require.Zero(t, run(t, Options{Perturbation: schedule.Perturbation{Strategy: "none"}}, cmd).Code())
	}
	one, other := stack(fixed), stack(fixed)
	assert.Equal(t, one, other)
	one, other = stack(random), stack(random)
	assert.NotEqual(t, one, other)
	plain := func(cmd *exec.Cmd) { require.NoError(t, cmd.Run()) }
	one, other = stack(plain), stack(plain)
	assert.NotEqual(t, one, other)
}

// Each round of a program takes the decisions of the log's last one.
func TestKernelReplayRepeatsARound(t *testing.T) {
	needKernel(t)
	p := schedule.Perturbation{Strategy: "delay", Seed: 4, Parameters: map[string]float64{"probability": 1}}
	rounds := func(o Options) *schedule.Log {
		var file bytes.Buffer
		var err error
		o.Perturbation = p
		o.Log, err = schedule.NewLogWriter(&file, schedule.Header{Perturbation: p})
		require.NoError(t, err)
		require.Zero(t, run(t, o, exec.Command("/bin/sh", "-c", "for i in 1 2 3 4; do : & : & wait; done")).Code())
		log, err := schedule.ReadLog(&file)
		require.NoError(t, err)
		return log
	}
	// starts returns the delays with which the shell's children began, in the order of their creation.
	starts := func(l *schedule.Log) (all []uint64) {
		for _, thread := range l.Threads {
			i := slices.IndexFunc(l.Decisions, func(d schedule.Record) bool { return d.Path == thread.Path && d.Counter == 0 })
			if require.GreaterOrEqual(t, i, 0); thread.Delay != 0 {
				all = append(all, l.Decisions[i].Delay)
			}
		}
		return all
	}
	recorded := rounds(Options{})
	want := starts(recorded)
	require.Len(t, want, 8)
	require.NotEqual(t, want[:2], want[6:])
	assert.Equal(t, want, starts(rounds(Options{Replay: recorded})))
	assert.Equal(t, slices.Repeat(want[6:], 4), starts(rounds(Options{Replay: recorded, Round: 2})))
}

// A breakpoint in a busy loop is removed after too many hits, so that the program does not slow down too much.
func TestKernelReplayLeavesABusyLoop(t *testing.T) {
	needKernel(t)
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := helper("spin", 2_000_000)
	cmd.Path = exe
	place := uint64(reflect.ValueOf(passed).Pointer())
	result := run(t, Options{
		Perturbation: schedule.Perturbation{Strategy: "none"}, Replay: &schedule.Log{}, FixedAddresses: true,
		Stops: []schedule.Stop{
			{Record: schedule.Record{Path: schedule.Child(rootPath(), 99), Place: place, Slice: 1e6}, Held: 1e6},
		},
	}, cmd)
	require.Zero(t, result.Code())
	r := result.Report.Replay
	t.Logf("%+v", r)
	assert.Greater(t, r.Passed, uint64(mostPasses))
	assert.Less(t, r.Passed, uint64(1_900_000))
	require.Len(t, r.Stops, 1)
	assert.True(t, r.Stops[0].Left)
}

func TestKernelCommandRunsAsAnOrdinaryUser(t *testing.T) {
	needKernel(t)
	cmd := helper("work", 50*time.Millisecond)
	cmd.Path, cmd.Args = "/bin/sh", []string{"sh", "-c", "id -u; exit 3"}
	if _, err := os.Stat(cmd.Path); err != nil {
		t.Skipf("no shell: %v", err)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 12345, Gid: 12345}}
	var out bytes.Buffer
	cmd.Stdout = &out
	assert.Equal(t, 3, run(t, Options{Perturbation: schedule.Perturbation{Strategy: "chaos"}}, cmd).Code())
	assert.Equal(t, "12345\n", out.String())
}

func TestKernelHasOnlyOneScheduler(t *testing.T) {
	needKernel(t)
	s, err := Attach(Options{Perturbation: schedule.Perturbation{Strategy: "none"}})
	require.NoError(t, err)
	_, err = Attach(Options{Perturbation: schedule.Perturbation{Strategy: "none"}})
	require.ErrorIs(t, err, ErrUnsupported)
	require.ErrorContains(t, err, "misstep")
	_, err = s.Detach()
	require.NoError(t, err)
	assert.Equal(t, "disabled", state(t))
}

func TestKernelMissingCommand(t *testing.T) {
	needKernel(t)
	_, err := Run(t.Context(), Options{Perturbation: schedule.Perturbation{Strategy: "chaos"}}, exec.Command("/no/such/command"))
	var start *NotStartedError
	require.ErrorAs(t, err, &start)
	assert.Equal(t, "disabled", state(t))
}

func TestKernelTimeoutEndsTheTree(t *testing.T) {
	needKernel(t)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	result, err := Run(ctx, Options{Perturbation: schedule.Perturbation{Strategy: "chaos"}}, helper("work", time.Hour))
	require.NoError(t, err)
	assert.True(t, result.TimedOut)
	assert.Equal(t, 124, result.Code())
}

// rootPath returns the path of the first process of a tree.
func rootPath() uint64 { return schedule.Child(0x6d69737374657000, 0) }

func TestKernelEjectionsAreOutcomes(t *testing.T) {
	needKernel(t)
	healthy := func() {
		t.Helper()
		assert.Equal(t, 7, run(t, Options{Perturbation: schedule.Perturbation{Strategy: "delay", Seed: 2}}, helper("work",
			100*time.Millisecond)).Code())
	}
	t.Run("watchdog", func(t *testing.T) {
		// No strategy and no valid log has such a decision.
		stall := &schedule.Log{Decisions: []schedule.Record{
			{Path: rootPath(), Event: schedule.EventStart, Delay: 60e9, Slice: 20e6},
		}}
		result := run(t, Options{Perturbation: schedule.Perturbation{Strategy: "none"}, Replay: stall}, helper("work", time.Second))
		require.NotNil(t, result.Report.Ejection)
		t.Log(result.Report.Ejection)
		assert.Equal(t, "watchdog", result.Report.Ejection.Kind)
		assert.NotEmpty(t, result.Report.Ejection.Reason)
		// The kernel names the stalled task and each CPU's run queue.
		assert.Regexp(t, `(?m)^CPU \d+`, result.Report.Ejection.Dump)
		assert.Equal(t, 123, result.Code())
		healthy()
	})
	t.Run("sysrq", func(t *testing.T) {
		if _, err := os.Stat("/proc/sysrq-trigger"); err != nil {
			t.Skip(err)
		}
		cmd := helper("work", time.Minute)
		started, w := io.Pipe()
		cmd.Stdout = w
		go func() {
			_, _ = started.Read(make([]byte, 1)) // it has printed its user
			_ = os.WriteFile("/proc/sysrq-trigger", []byte("S"), 0)
			_, _ = io.Copy(io.Discard, started)
		}()
		result := run(t, Options{Perturbation: schedule.Perturbation{Strategy: "chaos", Seed: 6}}, cmd)
		w.Close()
		require.NotNil(t, result.Report.Ejection)
		t.Log(result.Report.Ejection)
		assert.Equal(t, "sysrq", result.Report.Ejection.Kind)
		assert.Equal(t, 123, result.Code())
		healthy()
	})
}

func TestKernelKilledLoaderLeavesAHealthyMachine(t *testing.T) {
	needKernel(t)
	loader := helper("load", time.Minute)
	out, err := loader.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, loader.Start())
	var pid int
	_, err = fmt.Fscan(out, &pid)
	require.NoError(t, err)
	require.Equal(t, "enabled", state(t))
	require.NoError(t, loader.Process.Kill())
	_ = loader.Wait()
	require.Eventually(t, func() bool { return state(t) == "disabled" }, 20*time.Second, 50*time.Millisecond)

	child, err := os.FindProcess(pid)
	require.NoError(t, err)
	before := ticks(t, pid)
	require.Eventually(t, func() bool { return ticks(t, pid) > before+5 }, 20*time.Second, 50*time.Millisecond,
		"the tree continues under the kernel's own scheduler")
	require.NoError(t, child.Kill())
	assert.Equal(t, 7, run(t, Options{Perturbation: schedule.Perturbation{Strategy: "delay", Seed: 2}}, helper("work",
		100*time.Millisecond)).Code())
}

// ticks returns the clock ticks of CPU time that a process has used.
func ticks(t *testing.T, pid int) (n int) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(text), ") ")
	require.True(t, found)
	fields := strings.Fields(rest)
	for _, i := range []int{11, 12} { // utime, stime
		x, err := strconv.Atoi(fields[i])
		require.NoError(t, err)
		n += x
	}
	return n
}

func TestKernelCountersOfAJVM(t *testing.T) {
	needKernel(t)
	java := os.Getenv("MISSTEP_TEST_JAVA")
	if java == "" {
		t.Skip("MISSTEP_TEST_JAVA names no java")
	}
	for _, s := range schedule.Strategies() {
		t.Run(s.Name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
			defer cancel()
			cmd := exec.Command(java, "-XX:+UseG1GC", "-XX:TieredStopAtLevel=1", "-Xmx128m", "-version")
			var out bytes.Buffer
			cmd.Stderr = &out
			result, err := Run(ctx, Options{Perturbation: schedule.Perturbation{Strategy: s.Name, Seed: 9}}, cmd)
			require.NoError(t, err)
			require.Nil(t, result.Report.Ejection)
			assert.Zero(t, result.Code())
			assert.Contains(t, out.String(), "version")
			var text strings.Builder
			result.Report.Write(&text, 30)
			t.Log("\n" + text.String())
			roles := map[string]int{}
			for _, thread := range result.Report.Threads {
				roles[thread.Role]++
			}
			for _, role := range []string{"gc", "vm", "compiler", "mutator"} {
				assert.Positive(t, roles[role], "threads of role %s", role)
			}
			if s.Name != "none" && s.Name != "roles" && s.Name != "starve" {
				assert.NotEmpty(t, result.Report.Applied())
			}
		})
	}
}

func TestKernelVerifierComplexity(t *testing.T) {
	needKernel(t)
	stops := []schedule.Stop{{Record: schedule.Record{Place: uint64(os.Getpagesize()), Slice: 1e6}}}
	s, err := Attach(Options{
		Perturbation: schedule.Perturbation{Strategy: "chaos"}, Replay: &schedule.Log{}, Stops: stops,
		FixedAddresses: true,
	})
	require.NoError(t, err)
	defer func() {
		_, err := s.Detach()
		assert.NoError(t, err)
	}()
	require.Len(t, s.programs.Programs, 11)
	for name, program := range s.programs.Programs {
		info, err := program.Info()
		require.NoError(t, err)
		n, ok := info.VerifiedInstructions()
		require.True(t, ok)
		t.Logf("%s: %d instructions verified", name, n)
		assert.Less(t, n, uint32(200000), "%s: the verifier gives up at a million", name)
	}
}

// A log says when each thread ran, how long in all, and who woke whom.
func TestKernelLogHasRuns(t *testing.T) {
	needKernel(t)
	var file bytes.Buffer
	p := schedule.Perturbation{Strategy: "chaos", Seed: 3}
	log, err := schedule.NewLogWriter(&file, schedule.Header{Perturbation: p})
	require.NoError(t, err)
	result := run(t, Options{Perturbation: p, Log: log}, helper("work", 200*time.Millisecond))
	l, err := schedule.ReadLog(&file)
	require.NoError(t, err)
	require.Zero(t, l.Lost)
	ran, until, woken, blocked := map[uint64]time.Duration{}, map[uint64]time.Duration{}, 0, 0
	slices.SortFunc(l.Runs, func(a, b schedule.Record) int { return cmp.Compare(a.Elapsed, b.Elapsed) })
	for _, r := range l.Runs {
		assert.GreaterOrEqual(t, r.Elapsed, until[r.Path], "runs of a thread do not overlap")
		until[r.Path] = r.Elapsed + time.Duration(r.Delay)
		ran[r.Path] += time.Duration(r.Delay)
		if r.Rank != 0 {
			woken++
		}
		if schedule.Ending(r.Event) == schedule.EndingBlocked {
			blocked++
		}
	}
	for _, thread := range result.Report.Threads {
		assert.InEpsilon(t, thread.Ran, ran[thread.Path], 0.05, thread.Name)
	}
	assert.Positive(t, woken)
	assert.Positive(t, blocked)
}

func TestKernelFullBufferIsCounted(t *testing.T) {
	needKernel(t)
	p := schedule.Perturbation{Strategy: "slice", Seed: 2, Parameters: map[string]float64{"probability": 1, "max_us": 50}}
	var file bytes.Buffer
	log, err := schedule.NewLogWriter(&file, schedule.Header{Perturbation: p})
	require.NoError(t, err)
	result := run(t, Options{Perturbation: p, Log: log, BufferBytes: 4096}, helper("work", 200*time.Millisecond))
	assert.Positive(t, result.Report.Lost)
	recorded, err := schedule.ReadLog(&file)
	require.NoError(t, err)
	assert.Equal(t, result.Report.Lost, recorded.Lost)
	all := uint64(len(recorded.Decisions)+len(recorded.Threads)+len(recorded.Runs)) + recorded.Lost
	runs := all - result.Report.Decisions - result.Report.ThreadCount
	assert.InEpsilon(t, result.Report.Decisions, runs, 0.05, "a run follows each decision")
}

func TestKernelRequestsWriteAndReplay(t *testing.T) {
	needKernel(t)
	file := filepath.Join(t.TempDir(), "run.log")
	exe, err := os.Executable()
	require.NoError(t, err)
	run := func(r RunRequest, command ...string) (code int, text string) {
		var out bytes.Buffer
		r.Command, r.Stdout, r.Stderr, r.Threads = command, &out, &out, 20
		code, err := r.Run(t.Context())
		require.NoError(t, err)
		return code, out.String()
	}
	t.Setenv(helperVariable, "work:200ms")
	code, text := run(RunRequest{Perturbation: schedule.Perturbation{Strategy: "chaos", Seed: 12}, Log: file}, exe)
	assert.Equal(t, 7, code, text)
	assert.Contains(t, text, "strategy chaos, seed 12")
	var replayed bytes.Buffer
	code, err = ReplayRequest{
		Program: Program{
			Command: []string{exe}, Stdout: &replayed, Stderr: &replayed,
			Threads: 20,
		}, File: file, Places: schedule.MaxPlaces,
	}.Run(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 7, code, replayed.String())
	assert.Contains(t, replayed.String(), "replayed: ")

	code, text = run(RunRequest{
		Perturbation: schedule.Perturbation{
			Strategy: "slice",
			Seed:     1,
		}, RepeatUntilFailure: true, MaxRuns: 3, ErrorCommand: "echo seed $MISSTEP_SEED",
	}, exe)
	assert.Equal(t, 7, code, text)
	assert.Contains(t, text, "run 1, seed 1: exit code 7")
	assert.Contains(t, text, "seed 1\n")

	code, text = run(RunRequest{
		Program: Program{Timeout: 50 * time.Millisecond}, Perturbation: schedule.Perturbation{Strategy: "none"},
		ErrorCommand: "echo failed with $MISSTEP_EXIT",
	}, exe)
	assert.Equal(t, 124, code, text)
	assert.Contains(t, text, "timed out after 50ms")

	t.Setenv(helperVariable, "")
	code, text = run(RunRequest{
		Perturbation: schedule.Perturbation{Strategy: "none", Seed: 1}, RepeatUntilFailure: true, MaxRuns: 2,
	}, "/bin/true")
	assert.Zero(t, code, text)
	assert.Contains(t, text, "no failure in 2 runs, seeds 1 to 2")
	_, err = RunRequest{
		Program:      Program{Command: []string{"/no/such"}},
		Perturbation: schedule.Perturbation{Strategy: "none"},
	}.Run(t.Context())
	_, notStarted := errors.AsType[*NotStartedError](err)
	assert.True(t, notStarted, err)
}
