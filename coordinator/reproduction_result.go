package coordinator

import (
	"cmp"
	"slices"

	"misstep/coordinator/reproduce"
	"misstep/coordinator/store"
	"misstep/internal/shorten"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/triage"
)

const (
	maxOthers  = 1000 // other findings that a reproduction records
	maxTrouble = 400  // bytes of the reason why a probe had no result
)

// resultOf classifies a trial. A hit shows the pinned signature or one that was merged with it; other findings are recorded in r.
func (s *Server) resultOf(tx store.Tx, r *misstepv1.Reproduction, t *store.Trial) (reproduce.Result, string, error) {
	if t.Outcome == nil {
		return reproduce.Failed, clipLine(t.Failure.GetMessage()), nil
	}
	decisions, err := tx.Decisions()
	if err != nil {
		return 0, "", err
	}
	g := triage.NewGrouping(decisions)
	hit := false
	for _, id := range t.FindingIDs {
		switch {
		case g.Head(id) == g.Head(r.GetSpec().GetFindingId()):
			hit = true
		case len(r.GetOthers()) < maxOthers && !slices.Contains(r.GetOthers(), id):
			r.Others = append(r.Others, id)
		}
	}
	switch o := t.Outcome; {
	case hit:
		return reproduce.Hit, "", nil
	case triage.Idle(o):
		return reproduce.Idle, clipLine(o.GetReason()), nil
	case triage.Void(o):
		return reproduce.Void, clipLine(o.GetReason()), nil
	}
	return reproduce.Miss, "", nil
}

func clipLine(s string) string { return shorten.To(s, maxTrouble) }

// shorter compares outcomes by the number of frames, then by recipe, since it is chance which of two trials ends first.
func shorter(a, b *misstepv1.Outcome) int {
	return cmp.Or(cmp.Compare(frames(a), frames(b)), cmp.Compare(a.GetRecipeDigest(), b.GetRecipeDigest()))
}

func frames(o *misstepv1.Outcome) (n int) {
	for _, m := range o.GetMismatches() {
		n += len(m.GetReference().GetFrames()) + len(m.GetSuspect().GetFrames())
	}
	return n + len(o.GetCrash().GetNativeFrames()) + len(o.GetCrash().GetJavaFrames())
}

// signAsShown gives a merged finding the signature that its example shows, unless that is its own: the tries of a bundle are
// compared with it.
func signAsShown(f *misstepv1.Finding) {
	shown := triage.Triage(f.GetExample())
	if slices.ContainsFunc(shown, func(h triage.Hit) bool { return h.ID == f.GetId() }) {
		return
	}
	for _, h := range shown {
		if slices.Contains(f.GetAliases(), h.ID) {
			f.Signature, f.Title = h.Signature, h.Title
			return
		}
	}
}
