package runner

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// machine is an Executor's machine whose readiness the test decides, and a clock that the test moves.
type machine struct {
	manual
	stepClock
	mu      sync.Mutex
	problem error
	checks  int
	now     time.Time
	log     strings.Builder
}

func (m *machine) set(problem error, later time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.problem, m.now = problem, m.now.Add(later)
}

func (m *machine) CheckReadiness(context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.checks++
	return m.problem
}

func (m *machine) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

func (m *machine) Write(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.log.Write(p)
}

// said counts the log's lines that contain text.
func (m *machine) said(text string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return strings.Count(m.log.String(), text)
}

func startMachine(t *testing.T, slots int, problem error) (*bench, *machine) {
	m := &machine{problem: problem, now: time.Unix(1e9, 0)}
	b := startWith(t, slots, func(c *Config) {
		m.manual, m.stepClock = c.Executor.(decorator).next.(manual), c.Clock.(stepClock)
		c.Executor = Log(Stamp(Recover(m), m, "h"), slog.New(slog.DiscardHandler), m)
		c.Clock, c.Logger = m, slog.New(slog.NewTextHandler(m, nil))
	})
	return b, m
}

func TestNotReadyTakesNoWork(t *testing.T) {
	b, m := startMachine(t, 2, errors.New("scratch space: the disk is full"))
	for range 3 { // its backoff of 7 s has not passed
		c := b.call()
		require.Equal(t, "free=0", c.held())
		c.reply()
		b.sleep().fire <- time.Time{}
	}
	require.Equal(t, 1, m.checks)
	require.Equal(t, 1, m.said("scratch space: the disk is full"))
	c := b.call()
	m.set(errors.New("scratch space: the disk is full"), 7*time.Second)
	c.reply()
	b.sleep().fire <- time.Time{}
	c = b.call()
	require.Equal(t, "free=0", c.held())
	require.Equal(t, 2, m.checks)
	require.Equal(t, 1, m.said("the disk is full"), "it is said once")

	m.set(nil, 7*time.Second)
	c.reply()
	b.sleep().fire <- time.Time{}
	c = b.call()
	require.Equal(t, "free=2", c.held())
	require.Equal(t, 1, m.said("ready again"))
	c.reply("a")
	b.trial()

	// What breaks later is noticed later, and what runs continues.
	m.set(errors.New("agent: gone"), time.Minute)
	b.sleep().fire <- time.Time{}
	c = b.call()
	require.Equal(t, "a=running free=0", c.held())
	require.Equal(t, 1, m.said("agent: gone"))
}

func TestReadinessOfDecoratedExecutors(t *testing.T) {
	broken := Require(giving(nil, nil), unmet("JDK store", "not mounted"))
	plain := giving(nil, nil)
	for name, c := range map[string]struct {
		executor Executor
		want     string
	}{
		"no opinion": {plain, ""},
		"met":        {Require(plain, Requirement{Name: "x", Check: func(context.Context) error { return nil }}), ""},
		"decorated":  {Count(Log(Stamp(Recover(broken), stepClock{}, "h"), nil, nil), nil), "JDK store: not mounted"},
		"routed":     {Recover(Route(map[string]Executor{Host: plain, "vm": broken})), "executor vm: JDK store: not mounted"},
		"twice":      {Require(broken), "JDK store: not mounted"},
	} {
		err := CheckReadiness(t.Context(), c.executor)
		if c.want == "" {
			require.NoError(t, err, name)
		} else {
			require.EqualError(t, err, c.want, name)
		}
	}
}

func TestRequirements(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "agent.so")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.NoError(t, Files("agent", file).Check(t.Context()))
	require.ErrorContains(t, Files("agent", file, file+"x").Check(t.Context()), "agent.sox")
	require.NoError(t, Space("scratch space", dir, 1).Check(t.Context()))
	require.ErrorContains(t, Space("scratch space", dir, 1<<40).Check(t.Context()), "MiB free, 1099511627776 are needed")
	require.ErrorContains(t, Space("scratch space", dir+"x", 1).Check(t.Context()), "choose another")
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1, "a check leaves nothing behind")
}
