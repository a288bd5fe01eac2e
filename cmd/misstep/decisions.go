package main

import (
	"context"
	"fmt"
	"time"

	misstepv1 "misstep/proto/misstep/v1"
)

type findingsMerge struct {
	where
	ID     string `arg:"" help:"Finding that is merged, by id or the start of it."`
	Into   string `arg:"" help:"Finding that stays."`
	Reason string `help:"Why they are one." placeholder:"TEXT"`
}

// Run merges.
func (c *findingsMerge) Run(ctx context.Context, e *env) error {
	return e.decide(c.where, func(st *station) (*misstepv1.TriageDecision, error) {
		r, err := st.MergeFindings(ctx, &misstepv1.MergeFindingsRequest{FindingId: c.ID, IntoId: c.Into, Reason: c.Reason})
		return r.GetDecision(), err
	})
}

type findingsSplit struct {
	where
	ID     string `arg:"" help:"Finding that was merged, by id or the start of it."`
	Reason string `help:"Why they are not one." placeholder:"TEXT"`
}

// Run splits.
func (c *findingsSplit) Run(ctx context.Context, e *env) error {
	return e.decide(c.where, func(st *station) (*misstepv1.TriageDecision, error) {
		r, err := st.SplitFinding(ctx, &misstepv1.SplitFindingRequest{FindingId: c.ID, Reason: c.Reason})
		return r.GetDecision(), err
	})
}

type findingsUndo struct {
	where
	Decision uint64 `arg:"" optional:"" help:"Number of the decision; the last that stands when left out."`
}

// Run takes a decision back.
func (c *findingsUndo) Run(ctx context.Context, e *env) error {
	return e.decide(c.where, func(st *station) (*misstepv1.TriageDecision, error) {
		r, err := st.UndoDecision(ctx, &misstepv1.UndoDecisionRequest{DecisionId: c.Decision})
		return r.GetDecision(), err
	})
}

type findingsDecisions struct {
	where
	JSON bool `help:"Print a list of decisions."`
}

// Run lists.
func (c *findingsDecisions) Run(ctx context.Context, e *env) error {
	st, err := c.station(e.warnings())
	if err != nil {
		return err
	}
	defer st.close()
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

// decide makes a decision and says what it was.
func (e *env) decide(w where, propose func(*station) (*misstepv1.TriageDecision, error)) error {
	st, err := w.station(e.warnings())
	if err != nil {
		return err
	}
	defer st.close()
	d, err := propose(st)
	if err != nil {
		return err
	}
	fmt.Fprintln(e.stdout, decisionText(d))
	return nil
}

func decisionText(d *misstepv1.TriageDecision) string {
	verb := map[string]string{"merge": "merged into", "split": "split off"}[d.GetKind()]
	text := fmt.Sprintf("%d  %s  %s %s %s", d.GetId(), d.GetMade().AsTime().Local().Format(time.DateTime), d.GetFinding(), verb, d.GetInto())
	if d.GetReason() != "" {
		text += ": " + d.GetReason()
	}
	if d.GetUndone() != nil {
		text += "  (taken back " + d.GetUndone().AsTime().Local().Format(time.DateTime) + ")"
	}
	return text
}
