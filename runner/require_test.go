package runner

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	misstepv1 "misstep/proto/misstep/v1"
)

func unmet(name, problem string) Requirement {
	return Requirement{Name: name, Check: func(context.Context) error { return errors.New(problem) }}
}

// A costly check counts for a while, unless a trial fails because of the infrastructure.
func TestAMetRequirementIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started, fails := 0, errors.New("cannot fork")
		e := Require(giving(nil, fails), Requirement{Name: "JVM", Valid: time.Minute, Check: func(context.Context) error {
			started++
			return nil
		}})
		require.NoError(t, CheckReadiness(t.Context(), e))
		require.NoError(t, CheckReadiness(t.Context(), e))
		require.Equal(t, 1, started)
		time.Sleep(time.Minute)
		require.NoError(t, CheckReadiness(t.Context(), e))
		require.Equal(t, 2, started)
		_, err := e.Run(t.Context(), nil, nil)
		require.Equal(t, fails, err, "the machine is fit: it is the trial's failure")
		require.False(t, IsUnfit(err))
		require.Equal(t, 3, started)
	})
}

func TestAllUnmetRequirementsAreNamed(t *testing.T) {
	b, m := startMachine(t, 1, nil)
	b.call().reply()
	broken := Require(giving(nil, nil), unmet("agent", "gone"), unmet("disk", "full"))
	m.set(CheckReadiness(t.Context(), broken), time.Minute)
	b.sleep().fire <- time.Time{}
	c := b.call()
	require.Equal(t, "agent: gone; disk: full", c.request.GetNotReady())
	c.reply()
	b.sleep()
	b.runner.Drain()
	require.Equal(t, "draining", b.call().request.GetNotReady())
}

// What fails on a machine that is not fit returns to the queue as if it had not begun, and the machine asks for no more.
func TestAFailureOfAnUnfitMachineIsNotTheTrials(t *testing.T) {
	b, m := startMachine(t, 2, nil)
	b.call().reply("a")
	trial := b.trial()
	b.sleep()
	full := errors.New("scratch space: 3 MiB free")
	m.set(full, 0) // long before the next check is due
	trial.end <- end{err: Unfit(errors.New("no space left"))}
	c := b.call()
	require.Equal(t, "a=failed~ free=0", c.held())
	require.Equal(t, full.Error(), c.request.GetNotReady())
	c.reply()
	wait := b.sleep()
	m.set(nil, 7*time.Second)
	wait.fire <- time.Time{}
	require.Equal(t, "free=2", b.call().held())
}

func TestUnfit(t *testing.T) {
	disk := unmet("disk", "the disk is full")
	e := Require(giving(nil, errors.New("cannot write")), disk)
	_, err := e.Run(t.Context(), nil, nil)
	require.True(t, IsUnfit(err))
	require.EqualError(t, err, "cannot write (this machine is not ready: disk: the disk is full)")
	permanent := Require(giving(nil, Permanent(errors.New("no such JDK"))), disk)
	_, err = permanent.Run(t.Context(), nil, nil)
	require.False(t, IsUnfit(err), "no machine could run it")
	require.NoError(t, Unfit(nil))
	outcome := &misstepv1.Outcome{}
	got, err := Require(giving(outcome, nil)).Run(t.Context(), nil, nil)
	require.NoError(t, err)
	require.Same(t, outcome, got)
}

// A check that is under way when the runner ends has cleaned up before Run returns.
func TestACheckDoesNotOutliveTheRunner(t *testing.T) {
	began, cleaned := make(chan struct{}), make(chan struct{})
	slow := Require(giving(nil, nil), Requirement{Name: "JVM", Check: func(ctx context.Context) error {
		close(began)
		<-ctx.Done()
		time.Sleep(50 * time.Millisecond)
		close(cleaned)
		return ctx.Err()
	}})
	b := startWith(t, 1, func(c *Config) { c.Executor = slow })
	<-began
	b.cancel()
	require.Error(t, b.end())
	select {
	case <-cleaned:
	default:
		t.Fatal("the check outlives Run")
	}
}

// A check that takes long costs no call: the runner reports what it holds, and asks for work when the check has succeeded.
func TestASlowCheck(t *testing.T) {
	release := make(chan struct{})
	slow := Require(manual{make(chan *trial, 1)}, Requirement{Name: "JVM", Check: func(ctx context.Context) error {
		select {
		case <-release:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}})
	b := startWith(t, 1, func(c *Config) { c.Executor = slow })
	c := b.call() // after readinessPatience
	require.Equal(t, "free=0", c.held())
	require.Equal(t, unchecked, c.request.GetNotReady())
	c.reply()
	b.sleep()
	close(release)
	c = b.call() // at once: nobody fires the timer
	require.Equal(t, "free=1", c.held())
	require.Empty(t, c.request.GetNotReady())
}
