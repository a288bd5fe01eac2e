package coordinator

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/coordinator/store"
	"misstep/coordinator/triage"
	misstepv1 "misstep/proto/misstep/v1"
)

// hit adds one trial that showed a signature to its finding, which it makes when it is the first.
func (s *Server) hit(tx store.Tx, l *store.Lease, o *misstepv1.Outcome, h triage.Hit, c store.Combination, now time.Time) error {
	f, err := tx.Finding(h.ID)
	switch {
	case errors.Is(err, store.ErrNotFound):
		f = &store.Finding{Proto: &misstepv1.Finding{
			Id: h.ID, Signature: h.Signature, FirstSeen: timestamppb.New(now),
		}}
		s.config.Logger.Info("new finding", slog.String("finding", h.ID), slog.String("title", h.Title))
	case err != nil:
		return err
	}
	p := f.Proto
	p.Hits++
	p.LastSeen = timestamppb.New(now)
	if p.GetKnownAs() == "" {
		p.KnownAs = s.config.Known.Label(p.GetSignature(), l.Recipe.GetJdk().GetVersion())
	}
	if !slices.Contains(p.GetCampaigns(), c.Campaign) {
		p.Campaigns = append(p.GetCampaigns(), c.Campaign)
	}
	if p.GetExample() == nil || h.Weight < f.Weight {
		p.Example, p.ExampleRecipe, p.Title, f.Weight = proto.CloneOf(o), l.Recipe, h.Title, h.Weight
	}
	return errors.Join(tx.PutFinding(f), tx.AddHit(h.ID, c, 1))
}

// combinationOf says what a trial counts for.
func combinationOf(l *store.Lease) store.Combination {
	names := make([]string, 0, len(l.Recipe.GetChecks()))
	for _, c := range l.Recipe.GetChecks() {
		names = append(names, c.GetName())
	}
	slices.Sort(names)
	return store.Combination{
		Campaign: l.Job.Campaign, JDK: l.Recipe.GetJdk().GetName(), Workload: l.Recipe.GetWorkload().GetName(),
		FlagSet: l.Recipe.GetFlagSet(), Checks: strings.Join(names, ","),
	}
}

// ListFindings implements the AdminService.
func (s *Server) ListFindings(ctx context.Context, req *misstepv1.ListFindingsRequest) (*misstepv1.ListFindingsResponse, error) {
	resp := &misstepv1.ListFindingsResponse{}
	err := s.config.Store.View(ctx, func(tx store.Tx) error {
		in := ""
		if req.GetCampaignId() != "" {
			c, err := findCampaign(tx, req.GetCampaignId())
			if err != nil {
				return err
			}
			in = c.ID
		}
		all, err := tx.Findings()
		if err != nil {
			return err
		}
		counts, err := tx.Counts()
		if err != nil {
			return err
		}
		for _, f := range all {
			if in != "" && !slices.Contains(f.Proto.GetCampaigns(), in) {
				continue
			}
			f.Proto.Example, f.Proto.ExampleRecipe = nil, nil
			if err := addRates(tx, f.Proto, counts); err != nil {
				return err
			}
			resp.Findings = append(resp.Findings, f.Proto)
		}
		return nil
	})
	if err != nil {
		return nil, s.toStatus(err)
	}
	return resp, nil
}

// GetFinding implements the AdminService.
func (s *Server) GetFinding(ctx context.Context, req *misstepv1.GetFindingRequest) (*misstepv1.GetFindingResponse, error) {
	resp := &misstepv1.GetFindingResponse{}
	err := s.config.Store.View(ctx, func(tx store.Tx) error {
		f, err := tx.Finding(req.GetFindingId())
		if errors.Is(err, store.ErrNotFound) {
			var all []*store.Finding
			if all, err = tx.Findings(); err == nil {
				f, err = only(all, "finding", req.GetFindingId(), func(f *store.Finding) string { return f.Proto.GetId() })
			}
		}
		if err != nil {
			return err
		}
		counts, err := tx.Counts()
		if err != nil {
			return err
		}
		resp.Finding = f.Proto
		return addRates(tx, f.Proto, counts)
	})
	if err != nil {
		return nil, s.toStatus(err)
	}
	return resp, nil
}

// addRates fills in hits of trials for the combinations that the finding's campaigns tried, those without a hit included:
// where it does not show is half of the story. All campaigns count, those that never hit it too, or rates would be flattered;
// only trials that could have missed it do, so for a mismatch those that ran its check.
func addRates(tx store.Tx, f *misstepv1.Finding, counts []store.Count) error {
	hits, err := tx.Hits(f.GetId())
	if err != nil {
		return err
	}
	type key struct{ jdk, workload, flagSet string }
	rates := map[key]*misstepv1.FindingRate{}
	keyOf := func(c store.Combination) key { return key{c.JDK, c.Workload, c.FlagSet} }
	for _, c := range counts {
		if slices.Contains(f.GetCampaigns(), c.Campaign) && couldShow(f.GetSignature(), c.Checks) {
			rates[keyOf(c.Combination)] = &misstepv1.FindingRate{Jdk: c.JDK, Workload: c.Workload, FlagSet: c.FlagSet}
		}
	}
	for _, c := range counts {
		if r := rates[keyOf(c.Combination)]; r != nil && couldShow(f.GetSignature(), c.Checks) {
			r.Trials += c.N
		}
	}
	for _, c := range hits {
		if r := rates[keyOf(c.Combination)]; r != nil {
			r.Hits += c.N
		}
	}
	f.Rates = nil
	for _, r := range rates {
		r.Low, r.High = triage.Wilson(r.GetHits(), r.GetTrials())
		f.Rates = append(f.Rates, r)
	}
	slices.SortFunc(f.Rates, func(a, b *misstepv1.FindingRate) int {
		return cmp.Or(cmp.Compare(a.GetJdk(), b.GetJdk()), cmp.Compare(a.GetWorkload(), b.GetWorkload()), cmp.Compare(a.GetFlagSet(), b.GetFlagSet()))
	})
	return nil
}

func couldShow(sig *misstepv1.Signature, checks string) bool {
	if sig.GetKind() != triage.KindMismatch || len(sig.GetParts()) == 0 {
		return true
	}
	return slices.Contains(strings.Split(checks, ","), sig.GetParts()[0])
}
