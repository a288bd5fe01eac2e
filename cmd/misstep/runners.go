package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	misstepv1 "misstep/proto/misstep/v1"
)

type runnersCommand struct {
	List  runnersList  `cmd:"" default:"withargs" help:"List the runners that call a coordinator, and why one takes no work."`
	Drain runnersDrain `cmd:"" help:"Ask a runner to finish what it holds, to take nothing new and to exit."`
	Trust runnersTrust `cmd:"" help:"Give leases again to an owner whose runners were set aside."`
}

type runnersDrain struct {
	coordinatorFlags
	Runner string `arg:"" help:"Runner, by id or a prefix of it."`
	Owner  string `help:"Its owner, where others have runners whose ids begin alike." placeholder:"OWNER"`
	Undo   bool   `help:"Take it back, unless it has exited."`
}

// Run drains.
func (c *runnersDrain) Run(ctx context.Context, e *env) error {
	st, err := c.open(e)
	if err != nil {
		return err
	}
	defer st.Close()
	r, err := st.DrainRunner(ctx, &misstepv1.DrainRunnerRequest{RunnerId: c.Runner, Owner: c.Owner, Undo: c.Undo})
	if err != nil {
		return err
	}
	does := "finishes what it holds, and exits"
	if c.Undo {
		does = "takes work again"
	}
	fmt.Fprintf(e.stdout, "%s %s\n", r.GetRunnerId(), does)
	return nil
}

type runnersTrust struct {
	Owner string `arg:"" help:"Owner of the runners, as misstep runners lists it."`
	coordinatorFlags
}

// Run trusts an owner again.
func (c *runnersTrust) Run(ctx context.Context, e *env) error {
	st, err := c.open(e)
	if err != nil {
		return err
	}
	defer st.Close()
	if _, err := st.TrustOwner(ctx, &misstepv1.TrustOwnerRequest{Owner: c.Owner}); err != nil {
		return err
	}
	fmt.Fprintf(e.stdout, "the runners of %s get leases again\n", c.Owner)
	return nil
}

type runnersList struct {
	coordinatorFlags
	JSON bool `help:"Print a list of runners."`
}

// Run lists the runners that called lately.
func (c *runnersList) Run(ctx context.Context, e *env) error {
	st, err := c.open(e)
	if err != nil {
		return err
	}
	defer st.Close()
	response, err := st.ListRunners(ctx, &misstepv1.ListRunnersRequest{})
	if err != nil {
		return err
	}
	if c.JSON {
		return e.json(raws(response.GetRunners()))
	}
	if err := renderRunners(e.stdout, response.GetRunners(), time.Now()); err != nil {
		return err
	}
	renderAside(e.stdout, response.GetSetAside())
	return nil
}

// renderAside says who gets no leases, why, since when, and what to do about it.
func renderAside(w io.Writer, aside *misstepv1.SetAside) {
	for _, owner := range slices.Sorted(maps.Keys(aside.GetByOwner())) {
		one := aside.GetByOwner()[owner]
		fmt.Fprintf(w, "\n%s is set aside since %s: %s\nlook at its machines, then let it back: misstep runners trust %q\n", owner,
			one.GetAt().AsTime().Local().Format(time.DateTime), one.GetReason(), owner)
	}
}

func renderRunners(w io.Writer, all []*misstepv1.RunnerStatus, now time.Time) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(w, "no runner called lately; start one with `misstep runner --coordinator HOST:PORT`")
		return err
	}
	t := table(w)
	owned := slices.ContainsFunc(all, func(s *misstepv1.RunnerStatus) bool { return s.GetOwner() != "" })
	if owned {
		fmt.Fprint(t, "owner\t")
	}
	fmt.Fprint(t, "runner\trunning\tslots\t")
	if owned {
		fmt.Fprint(t, "repeated\t")
	}
	fmt.Fprintln(t, "last call\tcapabilities\tstate")
	for _, s := range all {
		r := s.GetRunner()
		ago := max(0, now.Sub(s.GetLastCall().AsTime())).Round(time.Second)
		state := "ready"
		if why := s.GetHeldBack(); why != "" {
			state = "held back: " + why
		}
		if why := s.GetNotReady(); why != "" {
			state = "no new work: " + why
		}
		if s.GetDraining() != nil {
			state = "draining"
		}
		if why := s.GetSetAside(); why != "" {
			state = "set aside" // the reason is below the table
		}
		if owned {
			fmt.Fprintf(t, "%s\t", s.GetOwner())
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t", r.GetId(), s.GetRunning(), r.GetSlots())
		if owned {
			fmt.Fprintf(t, "%d\t", s.GetRepeated())
		}
		fmt.Fprintf(t, "%v ago\t%s\t%s\n", ago, cmp.Or(strings.Join(r.GetCapabilities(), " "), "-"), state)
	}
	return t.Flush()
}
