package main

import (
	"context"
	"fmt"
	"time"

	"misstep/app/station"
	misstepv1 "misstep/proto/misstep/v1"
)

type findingsMerge struct {
	coordinatorFlags
	ID     string `arg:"" help:"Finding to merge, by id or a prefix of it."`
	Into   string `arg:"" help:"Finding to merge it into."`
	Reason string `help:"Why they are the same." placeholder:"TEXT"`
}

// Run merges.
func (c *findingsMerge) Run(ctx context.Context, e *env) error {
	return decide(e, c.coordinatorFlags, func(st *station.Station) (*misstepv1.TriageDecision, error) {
		r, err := st.MergeFindings(ctx, &misstepv1.MergeFindingsRequest{FindingId: c.ID, IntoId: c.Into, Reason: c.Reason})
		return r.GetDecision(), err
	})
}

type findingsSplit struct {
	coordinatorFlags
	ID     string `arg:"" help:"Merged finding, by id or a prefix of it."`
	Reason string `help:"Why they differ." placeholder:"TEXT"`
}

// Run splits.
func (c *findingsSplit) Run(ctx context.Context, e *env) error {
	return decide(e, c.coordinatorFlags, func(st *station.Station) (*misstepv1.TriageDecision, error) {
		r, err := st.SplitFinding(ctx, &misstepv1.SplitFindingRequest{FindingId: c.ID, Reason: c.Reason})
		return r.GetDecision(), err
	})
}

type findingsNote struct {
	coordinatorFlags
	ID   string `arg:"" help:"Finding, by id or a prefix of it."`
	Text string `arg:"" help:"The note."`
}

// Run notes.
func (c *findingsNote) Run(ctx context.Context, e *env) error {
	return decide(e, c.coordinatorFlags, func(st *station.Station) (*misstepv1.TriageDecision, error) {
		r, err := st.NoteFinding(ctx, &misstepv1.NoteFindingRequest{FindingId: c.ID, Text: c.Text})
		return r.GetDecision(), err
	})
}

type findingsUndo struct {
	coordinatorFlags
	Decision uint64 `within:"[1,)" arg:"" optional:"" help:"Number of the decision (default: the last one in force)."`
}

// Run undoes a decision.
func (c *findingsUndo) Run(ctx context.Context, e *env) error {
	return decide(e, c.coordinatorFlags, func(st *station.Station) (*misstepv1.TriageDecision, error) {
		r, err := st.UndoDecision(ctx, &misstepv1.UndoDecisionRequest{DecisionId: c.Decision})
		return r.GetDecision(), err
	})
}

type findingsDecisions struct {
	coordinatorFlags
	JSON bool `help:"Print a list of decisions."`
}

// Run lists.
func (c *findingsDecisions) Run(ctx context.Context, e *env) error {
	st, err := c.open(e)
	if err != nil {
		return err
	}
	defer st.Close()
	r, err := st.ListDecisions(ctx, &misstepv1.ListDecisionsRequest{})
	if err != nil {
		return err
	}
	if c.JSON {
		return e.json(raws(r.GetDecisions()))
	}
	for _, d := range r.GetDecisions() {
		fmt.Fprintln(e.stdout, decisionText(d))
	}
	return nil
}

// decide makes a decision and prints it.
func decide(e *env, f coordinatorFlags, propose func(*station.Station) (*misstepv1.TriageDecision, error)) error {
	st, err := f.open(e)
	if err != nil {
		return err
	}
	defer st.Close()
	d, err := propose(st)
	if err != nil {
		return err
	}
	fmt.Fprintln(e.stdout, decisionText(d))
	return nil
}

func decisionText(d *misstepv1.TriageDecision) string {
	verb := map[string]string{"merge": " merged into ", "split": " split off ", "note": ""}[d.GetKind()]
	text := fmt.Sprintf("%d  %s  %s%s%s", d.GetId(), d.GetMade().AsTime().Local().Format(time.DateTime), d.GetFinding(), verb,
		d.GetInto())
	if d.GetReason() != "" {
		text += ": " + d.GetReason()
	}
	if d.GetUndone() != nil {
		text += "  (undone " + d.GetUndone().AsTime().Local().Format(time.DateTime) + ")"
	}
	return text
}
