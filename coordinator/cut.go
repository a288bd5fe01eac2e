package coordinator

import (
	"log/slog"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/coordinator/store"
	"misstep/coordinator/view"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/triage"
)

// joinCut merges crashes of which only the beginning of a report is known with the one finding that completes them: the new finding
// with an older one, or older ones with the new one. Each is a decision that can be undone; a crash that was split off stays apart.
func (s *Server) joinCut(tx store.Tx, g view.Groups, p *misstepv1.Finding, now time.Time) error {
	hits := []triage.Hit{{ID: p.GetId(), Signature: p.GetSignature()}}
	for id, row := range g.Rows {
		hits = append(hits, triage.Hit{ID: id, Signature: row.GetSignature()})
	}
	joined := triage.Join(hits, nil)
	for _, cut := range slices.Sorted(maps.Keys(joined)) {
		whole := joined[cut]
		d := &misstepv1.TriageDecision{
			Kind: triage.DecisionMerge, Finding: cut, Into: g.Head(whole), Made: timestamppb.New(now),
			Reason: "its report was cut; this is the only finding that says all that is left of it, and more",
		}
		if cut != p.GetId() && whole != p.GetId() || g.Head(cut) != cut || g.Check(d) != nil {
			continue
		}
		var err error
		if d.Id, err = tx.AddDecision(d); err != nil {
			return err
		}
		s.config.Logger.Info("cut report", slog.Uint64("decision", d.GetId()), slog.String("finding", cut),
			slog.String("into", d.GetInto()))
	}
	return nil
}
