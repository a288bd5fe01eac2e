package coordinator

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/coordinator/access"
	"misstep/coordinator/store"
	"misstep/coordinator/view"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/signature"
	"misstep/triage"
)

// hitAll adds a trial to the findings of the signatures that it showed, and returns their ids.
func (s *Server) hitAll(ctx context.Context, tx store.Tx, l *store.Lease, r report, now time.Time) ([]string, error) {
	ids := make([]string, 0, len(r.hits))
	n := newcomers{left: maxCompared}
	for _, h := range r.hits {
		if err := s.hit(ctx, tx, l, r, h, &n, now); err != nil {
			return nil, err
		}
		ids = append(ids, h.ID)
	}
	return ids, nil
}

// hit adds a trial that showed a signature to its finding, and creates the finding when it is new.
func (s *Server) hit(
	ctx context.Context, tx store.Tx, l *store.Lease, r report, h triage.Hit, n *newcomers, now time.Time,
) error {
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
	noteReporter(p, r.outcome.GetReportedBy(), isNew)
	if !slices.Contains(p.GetCampaigns(), l.Job.Campaign) {
		p.Campaigns = append(p.GetCampaigns(), l.Job.Campaign)
	}
	if p.GetExample() == nil || h.Weight < f.Weight {
		p.Example, p.ExampleRecipe, p.Title, f.Weight = h.Example(r.outcome), withAgent(l.Recipe, r.agent), h.Title, h.Weight
	}
	if isNew {
		if err := s.introduce(ctx, tx, p, n, now); err != nil {
			return err
		}
		if err := hideNew(tx, l.Job.Campaign, h.ID, now); err != nil {
			return err
		}
	}
	return tx.PutFinding(f)
}

// withAgent returns a recipe with the agent that it ran with: one that leaves the agent to the runner would not be repeated with
// the same agent elsewhere, and no bundle could be made of it.
func withAgent(r *misstepv1.Recipe, agent string) *misstepv1.Recipe {
	if r.GetAgentDigest() != "" || agent == "" {
		return r
	}
	r = proto.CloneOf(r)
	r.AgentDigest = agent
	return r
}

// maxReporters bounds the owners that a finding names.
const maxReporters = 32

// noteReporter notes who reported a finding. An older version noted nobody: then somebody unknown did.
func noteReporter(p *misstepv1.Finding, owner string, isNew bool) {
	if !isNew && len(p.GetReportedBy()) == 0 {
		p.ReportedBy = append(p.ReportedBy, "")
	}
	if len(p.GetReportedBy()) < maxReporters && !slices.Contains(p.GetReportedBy(), owner) {
		p.ReportedBy = append(p.GetReportedBy(), owner)
	}
}

// maxCompared bounds the new findings of one trial that are compared with all others.
const maxCompared = 32

// newcomers introduces the new findings of one trial, which may be hundreds: what is stored is read once for all of them.
type newcomers struct {
	stored   *view.Groups      // nil until it is needed
	features []triage.Features // of what is stored
	left     int               // to be compared
}

func (n *newcomers) read(tx store.Tx) error {
	if n.stored != nil {
		return nil
	}
	g, err := view.LoadGroups(tx)
	if err != nil {
		return err
	}
	n.stored = &g
	for _, f := range g.Findings() {
		n.features = append(n.features, triage.FeaturesOf(f))
	}
	return nil
}

// introduce lists in a new finding the older ones that it may belong to, and merges what cut reports showed of it.
func (s *Server) introduce(ctx context.Context, tx store.Tx, p *misstepv1.Finding, n *newcomers, now time.Time) error {
	if n.left > 0 {
		n.left--
		if err := n.read(tx); err != nil {
			return err
		}
		own := triage.FeaturesOf(p)
		for _, other := range own.Nearest(n.features, maxFits) {
			if other.GetScore() >= triage.Fits {
				p.Fits = append(p.Fits, other.GetId())
			}
		}
		n.features = append(n.features, own)
	}
	s.config.Logger.InfoContext(ctx, "new finding", slog.String("finding", p.GetId()), slog.String("title", p.GetTitle()),
		slog.Any("fits", p.GetFits()))
	if p.GetSignature().GetKind() != signature.KindCrash { // only reports of crashes are cut
		return nil
	}
	if err := n.read(tx); err != nil {
		return err
	}
	return s.joinCut(tx, *n.stored, p, now)
}

// GetFinding implements the AdminService. For the id of an alias it returns the finding that the alias was merged into.
func (s *Server) GetFinding(ctx context.Context, req *misstepv1.GetFindingRequest) (*misstepv1.GetFindingResponse, error) {
	var f *misstepv1.Finding
	var err error
	if p := req.GetProject(); p != "" && p != access.Project(ctx) {
		f, err = s.sharedFinding(ctx, req)
	} else {
		err = s.read(ctx, func(tx store.Tx, now time.Time) (err error) {
			f, err = s.finding(tx, req.GetFindingId(), now)
			return err
		})
	}
	if err != nil {
		return nil, err
	}
	return &misstepv1.GetFindingResponse{Finding: f}, nil
}

// finding returns the finding that an id or a prefix names in a project, whole.
func (s *Server) finding(tx store.Tx, prefix string, now time.Time) (*misstepv1.Finding, error) {
	g, err := view.LoadGroups(tx)
	if err != nil {
		return nil, err
	}
	id, err := findFinding(g, prefix)
	if err != nil {
		return nil, err
	}
	f, err := s.view.Finding(tx, g, id)
	if err != nil {
		return nil, err
	}
	if f.Nearest, err = s.view.Nearest(tx, g, f, maxNearest); err != nil {
		return nil, err
	}
	return f, mark(tx, now, f)
}
