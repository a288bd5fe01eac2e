package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/dustin/go-humanize"

	misstepv1 "misstep/proto/misstep/v1"
)

type quotaCommand struct {
	List quotaList `cmd:"" default:"withargs" help:"List quotas with what is used of them: those of the project and your own, to an admin of every project all."`
	Set  quotaSet  `cmd:"" help:"Bound what a project, or a person in all projects, may use; replaces what was set before."`
	Rm   quotaRm   `cmd:"" help:"Remove a quota."`
}

// boundedFlags name what a quota is of.
type boundedFlags struct {
	placeFlags
	Project string `help:"Project to bound, or * for each that has no quota of its own." placeholder:"NAME" xor:"bounded"`
	Person  string `help:"Person to bound, by the name that misstep whoami shows, or * for each who has no quota of their own." placeholder:"NAME" xor:"bounded"`
}

func (f boundedFlags) set(ctx context.Context, e *env, req *misstepv1.SetQuotaRequest) error {
	if f.Project == "" && f.Person == "" {
		return errors.New("give --project NAME or --person NAME")
	}
	st, err := f.open(e)
	if err != nil {
		return err
	}
	defer st.Close()
	req.Project, req.Person = f.Project, f.Person
	_, err = st.SetQuota(ctx, req)
	return err
}

type quotaSet struct {
	boundedFlags
	Runners  *uint64    `within:"[0,)" help:"Trials that run at the same time (default: no bound)." placeholder:"N"`
	Trials   *uint64    `within:"[0,)" help:"Trials that end on a day in UTC (default: no bound)." placeholder:"N"`
	Evidence *bytesFlag `help:"Evidence that trials write on a day in UTC, e.g. 20GiB (default: no bound)." placeholder:"SIZE"`
}

// Run sets.
func (c *quotaSet) Run(ctx context.Context, e *env) error {
	if c.Runners == nil && c.Trials == nil && c.Evidence == nil {
		return errors.New("give --runners, --trials or --evidence; misstep quota rm removes a quota")
	}
	req := &misstepv1.SetQuotaRequest{Runners: c.Runners, TrialsADay: c.Trials}
	if c.Evidence != nil {
		bytes := uint64(c.Evidence.n) //nolint:gosec // sizes are not negative
		req.EvidenceADay = &bytes
	}
	return c.set(ctx, e, req)
}

type quotaRm struct{ boundedFlags }

// Run removes.
func (c *quotaRm) Run(ctx context.Context, e *env) error {
	return c.set(ctx, e, &misstepv1.SetQuotaRequest{})
}

type quotaList struct {
	coordinatorFlags
	JSON bool `help:"Print a list of quotas."`
}

// Run lists.
func (c *quotaList) Run(ctx context.Context, e *env) error {
	st, err := c.open(e)
	if err != nil {
		return err
	}
	defer st.Close()
	r, err := st.ListQuotas(ctx, &misstepv1.ListQuotasRequest{})
	if err != nil {
		return err
	}
	switch {
	case c.JSON:
		return e.json(raws(r.GetQuotas()))
	case len(r.GetQuotas()) == 0:
		fmt.Fprintln(e.stdout, "no quotas")
		return nil
	}
	t := table(e.stdout)
	fmt.Fprintln(t, "of\trunners\ttrials today\tevidence today\tset by\ton")
	number := func(n uint64) string { return strconv.FormatUint(n, 10) }
	for _, u := range r.GetQuotas() {
		q, each := u.GetQuota(), everybody(u.GetQuota())
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", bounded(q), ofBound(each, u.GetRunning(), q.Runners, number),
			ofBound(each, u.GetToday().GetTrials(), q.TrialsADay, number),
			ofBound(each, u.GetToday().GetEvidence(), q.EvidenceADay, humanize.IBytes),
			plain(q.GetSetBy()), q.GetSet().AsTime().Local().Format(time.DateOnly))
	}
	return t.Flush()
}

// everybody reports whether a quota is of each who has none of their own.
func everybody(q *misstepv1.Quota) bool { return cmp.Or(q.GetProject(), q.GetPerson()) == "*" }

// bounded says what a quota is of.
func bounded(q *misstepv1.Quota) string {
	kind := "person"
	if q.GetProject() != "" {
		kind = "project"
	}
	if everybody(q) {
		return "each other " + kind
	}
	return kind + " " + plain(cmp.Or(q.GetProject(), q.GetPerson()))
}

// ofBound is what is used of a bound; of each of many, the bound alone.
func ofBound(each bool, n uint64, limit *uint64, text func(uint64) string) string {
	switch {
	case each && limit == nil:
		return "-"
	case each:
		return "up to " + text(*limit)
	case limit == nil:
		return text(n)
	}
	return text(n) + " of " + text(*limit)
}
