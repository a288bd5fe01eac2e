package coordinator

import (
	"context"
	"slices"
	"time"

	"misstep/coordinator/access"
	"misstep/coordinator/projects"
	"misstep/coordinator/store"
	"misstep/coordinator/store/scoped"
	"misstep/coordinator/visibility"
	"misstep/corpus/index"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/triage"
)

// discreet is a corpus whose index does not name the bundles of findings that are hidden from whoever asks.
type discreet struct {
	misstepv1.CorpusServiceServer // next
	server                        *Server
}

// Discreet returns a corpus whose index leaves out the entries of findings that are private or under an embargo in any project, for
// callers who do not see these. The entries stay: they are listed again when an embargo ends.
func (s *Server) Discreet(next misstepv1.CorpusServiceServer) misstepv1.CorpusServiceServer {
	return &discreet{next, s}
}

// ListEntries implements the CorpusService.
func (d *discreet) ListEntries(ctx context.Context, req *misstepv1.ListEntriesRequest) (*misstepv1.ListEntriesResponse, error) {
	resp, err := d.CorpusServiceServer.ListEntries(ctx, req)
	if err != nil {
		return nil, err
	}
	hidden, err := d.server.hiddenFrom(ctx)
	if err != nil {
		return nil, err
	}
	resp.Entries = slices.DeleteFunc(resp.GetEntries(), func(text string) bool {
		e, err := index.ParseEntry([]byte(text))
		return err == nil && hidden[e.Finding]
	})
	return resp, nil
}

// hiddenFrom returns the findings of all projects that are hidden from a caller, by id.
func (s *Server) hiddenFrom(ctx context.Context) (map[string]bool, error) {
	hidden := map[string]bool{}
	caller := access.From(ctx)
	err := s.readWhole(ctx, func(whole store.Tx, now time.Time) error {
		clear(hidden)
		all, err := whole.Visibilities()
		if err != nil {
			return err
		}
		for _, project := range projects.Of(all, (*misstepv1.FindingVisibility).GetFindingId) {
			if caller.May(misstepv1.Role_ROLE_TRIAGER, project) {
				continue
			}
			if err := hideIn(scoped.In(whole, project), visibility.Reader{Name: access.Reader(ctx)}, now, hidden); err != nil {
				return err
			}
		}
		return nil
	})
	return hidden, err
}

// hideIn adds the findings of a project that are hidden from a reader.
func hideIn(tx store.Tx, r visibility.Reader, now time.Time, hidden map[string]bool) error {
	all, err := tx.Visibilities()
	if err != nil {
		return err
	}
	decisions, err := tx.Decisions()
	if err != nil {
		return err
	}
	g := triage.NewGrouping(decisions)
	s := visibility.New(all, g, now)
	for _, v := range all {
		head := g.Head(v.GetFindingId())
		if r.Sees(s.Of(head)) {
			continue
		}
		for _, id := range append(g.Aliases(head), head) {
			hidden[id] = true
		}
	}
	return nil
}
