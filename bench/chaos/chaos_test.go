package main

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFaultsAreDrawnFromTheSeed(t *testing.T) {
	objectsToo := (&fleet{bucket: &bucket{}, clocks: "dir"}).choices()
	require.Equal(t, choices, (&fleet{clocks: "dir"}).choices())
	require.Len(t, (&fleet{}).choices(), len(choices)-len(ofClocks), "clocks that cannot be shifted")
	plan := func(seed uint64) (all []fault) {
		random := rand.New(rand.NewPCG(seed, 1))
		for range 2000 {
			all = append(all, draw(random, objectsToo, time.Second))
		}
		return all
	}
	all := plan(1)
	require.Equal(t, all, plan(1))
	require.NotEqual(t, all, plan(2))
	counts := map[kind]int{}
	for _, f := range all {
		counts[f.Kind]++
		require.LessOrEqual(t, f.Pause, 5*time.Second)
	}
	total := 0
	for _, c := range objectsToo {
		total += c.weight
	}
	for _, c := range objectsToo {
		require.InDelta(t, 2000*c.weight/total, counts[c.kind], 60, c.kind)
	}
}

// What is lost, recorded twice, invented, or other than without faults is counted.
func TestComparison(t *testing.T) {
	calm := results{
		Trials:   map[string]string{"a": "clean ", "b": "mismatches F1", "c": "clean "},
		Findings: map[string]string{"F1": "1 trials: x"}, Recorded: 3,
	}
	var same outcome
	same.compare(calm, calm, true)
	require.Equal(t, outcome{Trials: 3, Findings: 1}, same)
	require.Equal(t, "each of 3 trials recorded once, 1 findings as without faults, nothing left", same.verdict())

	got := results{
		Trials:   map[string]string{"a": "clean ", "b": "clean ", "d": "clean "},
		Findings: map[string]string{"F1": "2 trials: x", "F2": "1 trials: y"}, Recorded: 4, Repeated: 1, GivenUp: 1,
		NoEvidence: []string{"note.txt"},
	}
	var o outcome
	o.compare(got, calm, true)
	require.Equal(t, 1, o.Missing)
	require.Equal(t, 1, o.Other)
	require.Equal(t, 1, o.Repeated)
	require.Equal(t, 1, o.GivenUp)
	require.Equal(t, 1, o.NoEvidence)
	require.Equal(t, 2+3, o.Different, "two findings, three trials")
	require.Equal(t, "WRONG: 1 not recorded, 1 recorded that do not exist, 1 recorded more than once, 1 given up, "+
		"5 other than without faults, 1 files of evidence missing", o.verdict())
	var loose outcome
	loose.compare(got, calm, false)
	require.Equal(t, 1, loose.Different, "F2, however often")
}

func TestWhatIsLeftIsFound(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	cmd.Env = []string{markVariable + "=here"}
	require.NoError(t, cmd.Start())
	left, err := leftProcesses("here")
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	require.NoError(t, err)
	require.Len(t, left, 1)
	require.Contains(t, left[0], "sleep 1000")
	left, err = leftProcesses("here")
	require.NoError(t, err)
	require.Empty(t, left)

	log := filepath.Join(t.TempDir(), "log")
	require.NoError(t, os.WriteFile(log, []byte("level=INFO msg=\"no panic: all is well\"\npanic: oh\nfatal error: x\n"), 0o600))
	found, err := panics(log)
	require.NoError(t, err)
	require.Equal(t, []string{"panic: oh", "fatal error: x"}, found)
}

// A service is started again when it ends, and not while a fault holds it.
func TestServicesAreStartedAgain(t *testing.T) {
	s := &service{
		name: "sleeper", log: filepath.Join(t.TempDir(), "log"),
		command: func() *exec.Cmd { return exec.Command("sleep", "1000") },
	}
	require.NoError(t, s.start())
	pid := func() int {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.cmd == nil {
			return 0
		}
		return s.cmd.Process.Pid
	}
	first := pid()
	require.NoError(t, syscallKill(first))
	require.Eventually(t, func() bool { return pid() != 0 && pid() != first }, 10*time.Second, 10*time.Millisecond)
	s.mu.Lock()
	require.Equal(t, 1, s.Surprises)
	s.mu.Unlock()
	second := pid()
	hit(s, fault{Kind: killRunner, Lasts: 3 * restartPause})
	require.NotEqual(t, second, pid())
	s.close(9, time.Second)
	require.Zero(t, pid())
	s.mu.Lock()
	defer s.mu.Unlock()
	require.Equal(t, 1, s.Surprises, "a fault is no surprise")
	require.Len(t, s.Pids, 3)
}

func syscallKill(pid int) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Kill()
}

func TestSeed(t *testing.T) {
	seed, err := seedOf("7", time.Now())
	require.NoError(t, err)
	require.EqualValues(t, 7, seed)
	_, err = seedOf("x", time.Now())
	require.ErrorContains(t, err, "SEED=x: expected a number")
}

// Clocks of machines are shifted each by itself, and that of one coordinator by no more than is permitted.
func TestClocks(t *testing.T) {
	f := &fleet{clocks: clocks(t.TempDir()), coordinators: make([]*service, 2), runners: make([]*service, 3)}
	own, other := f.clocks.file("coordinator", 1), f.clocks.file("coordinator", 0)
	require.Zero(t, readShift(f.clocks.all(), own))
	for _, x := range []fault{
		{Kind: clockJump, Amount: 1},
		{Kind: clockJump, Amount: 0.75},
		{Kind: clockCoordinator, Target: 1, Amount: 0.9},
		{Kind: clockCoordinator, Target: 3, Amount: 0},
		{Kind: clockRunner, Target: 2, Amount: 0},
	} {
		f.clocks.jump(x, f.clock(x))
	}
	require.Equal(t, maxJump*3/2, readShift(f.clocks.all(), other), "jumps add up")
	require.Equal(t, -maxSkew, readShift(own), "it replaces the last one")
	require.Equal(t, maxJump*3/2-maxSkew, readShift(f.clocks.all(), own))
	require.Equal(t, -maxJump, readShift(f.clocks.file("runner", 2)))
	require.WithinDuration(t, time.Now().Add(-maxJump), shiftedClock{file: f.clocks.file("runner", 2)}.Now(), time.Second)
	require.LessOrEqual(t, 2*maxSkew, leaseTime/4)
}
