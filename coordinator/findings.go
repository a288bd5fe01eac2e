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

	"misstep/coordinator/rates"
	"misstep/coordinator/store"
	"misstep/coordinator/triage"
	"misstep/internal/interval"
	misstepv1 "misstep/proto/misstep/v1"
)

// hit adds one trial that showed a signature to its finding, which it makes when it is the first.
func (s *Server) hit(tx store.Tx, l *store.Lease, o *misstepv1.Outcome, h triage.Hit, now time.Time) error {
	f, err := tx.Finding(h.ID)
	isNew := errors.Is(err, store.ErrNotFound)
	switch {
	case isNew:
		f = &store.Finding{Proto: &misstepv1.Finding{
			Id: h.ID, Signature: h.Signature, FirstSeen: timestamppb.New(now),
		}}
	case err != nil:
		return err
	}
	p := f.Proto
	p.LastSeen = timestamppb.New(now)
	if !slices.Contains(p.GetCampaigns(), l.Job.Campaign) {
		p.Campaigns = append(p.GetCampaigns(), l.Job.Campaign)
	}
	if p.GetExample() == nil || h.Weight < f.Weight {
		p.Example, p.ExampleRecipe, p.Title, f.Weight = proto.CloneOf(o), l.Recipe, h.Title, h.Weight
	}
	if isNew {
		if err := s.introduce(tx, p); err != nil {
			return err
		}
	}
	return tx.PutFinding(f)
}

// introduce says of a new finding which older ones it might belong to.
func (s *Server) introduce(tx store.Tx, p *misstepv1.Finding) error {
	g, err := loadGroups(tx)
	if err != nil {
		return err
	}
	for _, n := range triage.Nearest(p, g.protos(), maxFits) {
		if n.GetScore() >= triage.Fits {
			p.Fits = append(p.Fits, n.GetId())
		}
	}
	s.config.Logger.Info("new finding", slog.String("finding", p.GetId()), slog.String("title", p.GetTitle()), slog.Any("fits", p.GetFits()))
	return nil
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
		g, err := loadGroups(tx)
		if err != nil {
			return err
		}
		counts, err := tx.Counts()
		if err != nil {
			return err
		}
		jdks := jdksOf{}
		for _, f := range g.protos() {
			if in != "" && !slices.Contains(f.GetCampaigns(), in) {
				continue
			}
			f.Example, f.ExampleRecipe = nil, nil
			if err := s.addHits(tx, g, f, counts, jdks); err != nil {
				return err
			}
			resp.Findings = append(resp.Findings, f)
		}
		return nil
	})
	if err != nil {
		return nil, s.toStatus(err)
	}
	return resp, nil
}

// GetFinding implements the AdminService. An alias's id gives the finding that it was merged into.
func (s *Server) GetFinding(ctx context.Context, req *misstepv1.GetFindingRequest) (*misstepv1.GetFindingResponse, error) {
	resp := &misstepv1.GetFindingResponse{}
	err := s.config.Store.View(ctx, func(tx store.Tx) error {
		g, err := loadGroups(tx)
		if err != nil {
			return err
		}
		id, err := g.find(req.GetFindingId())
		if err != nil {
			return err
		}
		var all []*misstepv1.Finding
		if resp.Finding, all, err = s.whole(tx, g, id); err != nil {
			return err
		}
		resp.Finding.Nearest = triage.Nearest(resp.GetFinding(), all, maxNearest)
		return nil
	})
	if err != nil {
		return nil, s.toStatus(err)
	}
	return resp, nil
}

// whole is the finding that a stored one counts for, with its aliases folded in, its rates and its label; all are the findings as they stand.
func (s *Server) whole(tx store.Tx, g groups, id string) (f *misstepv1.Finding, all []*misstepv1.Finding, err error) {
	counts, err := tx.Counts()
	if err != nil {
		return nil, nil, err
	}
	all = g.protos()
	f = all[slices.IndexFunc(all, func(f *misstepv1.Finding) bool { return f.GetId() == g.Head(id) })]
	return f, all, s.addHits(tx, g, f, counts, jdksOf{})
}

// addHits fills in what the trials that showed a finding tell of it.
func (s *Server) addHits(tx store.Tx, g groups, f *misstepv1.Finding, counts []rates.Count, jdks jdksOf) error {
	hits, err := tx.Hits(append([]string{f.GetId()}, f.GetAliases()...)...)
	if err != nil {
		return err
	}
	addRates(f, hits, counts)
	return s.addLabel(tx, g, f, hits, jdks)
}

// addRates fills in the hits, and hits of trials for the combinations that the finding's campaigns tried, those without a hit included:
// where it does not show is half of the story. All campaigns count, those that never hit it too, or rates would be flattered;
// only trials that could have missed it do, so for a mismatch those that ran its check.
func addRates(f *misstepv1.Finding, hits, counts []rates.Count) {
	f.Hits = 0
	of := make(map[rates.Combination]uint64, len(hits))
	for _, h := range hits {
		of[h.Combination] = h.N
		f.Hits += h.N
	}
	type key struct{ jdk, workload, flagSet string }
	keyOf := func(c rates.Combination) key { return key{c.JDK, c.Workload, c.FlagSet} }
	// A hit by a trial that did not ask for the check cannot be, but a merged finding may have aliases of several checks.
	counts = slices.DeleteFunc(slices.Clone(counts), func(c rates.Count) bool {
		// Probes of a reproduction run recipes that are like no campaign's: they would distort what raises the rate.
		return strings.HasPrefix(c.Campaign, reproductionPrefix) || of[c.Combination] == 0 && !couldShow(f.GetSignature(), c.Checks)
	})
	rates := map[key]*misstepv1.FindingRate{}
	for _, c := range counts {
		if slices.Contains(f.GetCampaigns(), c.Campaign) {
			rates[keyOf(c.Combination)] = &misstepv1.FindingRate{Jdk: c.JDK, Workload: c.Workload, FlagSet: c.FlagSet}
		}
	}
	var cells []triage.Cell
	for _, c := range counts {
		if r := rates[keyOf(c.Combination)]; r != nil {
			r.Trials += c.N
			r.Hits += of[c.Combination]
			cells = append(cells, triage.Cell{Hits: of[c.Combination], Trials: c.N, Values: map[string]string{
				"jdk": c.JDK, "workload": c.Workload, "flag set": c.FlagSet, "perturbation": c.Perturbation, "ratio": c.Ratio, "interval": c.Interval,
			}})
		}
	}
	f.Rates, f.Factors = nil, triage.Factors(cells)
	for _, r := range rates {
		r.Low, r.High = interval.Wilson(r.GetHits(), r.GetTrials())
		f.Rates = append(f.Rates, r)
	}
	slices.SortFunc(f.Rates, func(a, b *misstepv1.FindingRate) int {
		return cmp.Or(cmp.Compare(a.GetJdk(), b.GetJdk()), cmp.Compare(a.GetWorkload(), b.GetWorkload()), cmp.Compare(a.GetFlagSet(), b.GetFlagSet()))
	})
}

func couldShow(sig *misstepv1.Signature, checks string) bool {
	if sig.GetKind() != triage.KindMismatch || len(sig.GetParts()) == 0 {
		return true
	}
	return slices.Contains(strings.Split(checks, ","), sig.GetParts()[0])
}
