package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	misstepv1 "misstep/proto/misstep/v1"
)

type runnersCommand struct {
	coordinatorFlags
	JSON bool `help:"Print a list of runners."`
}

// Run lists the runners that called lately.
func (c *runnersCommand) Run(ctx context.Context, e *env) error {
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
	return renderRunners(e.stdout, response.GetRunners(), time.Now())
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
	fmt.Fprintln(t, "runner\trunning\tslots\tlast call\tcapabilities\tstate")
	for _, s := range all {
		r := s.GetRunner()
		ago := max(0, now.Sub(s.GetLastCall().AsTime())).Round(time.Second)
		state := "ready"
		if why := s.GetNotReady(); why != "" {
			state = "no new work: " + why
		}
		if owned {
			fmt.Fprintf(t, "%s\t", s.GetOwner())
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%v ago\t%s\t%s\n", r.GetId(), s.GetRunning(), r.GetSlots(), ago,
			cmp.Or(strings.Join(r.GetCapabilities(), " "), "-"), state)
	}
	return t.Flush()
}
