package triage

import (
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/signature"
)

// Join returns, by the id of its signature, the finding that each crash of a cut report belongs to: the only one that says all that
// the report says, and more (signature.Crash.Completes). Hits that are whole, that no finding completes, or that several different
// ones complete are not in the map: their finding is the one of their own id. A cut one that another cut one completes counts for
// what completes both.
//
// hits are those of all files or outcomes that are looked at together, which complete each other as well; findings are those of a
// store, if there is one. It is used so:
//
//	joined := triage.Join(hits, findings)
//	for _, h := range hits {
//		id := cmp.Or(joined[h.ID], h.ID)
//		…
//	}
func Join(hits []Hit, findings []*misstepv1.Finding) map[string]string {
	type candidate struct {
		id string
		signature.Crash
	}
	var all []candidate
	seen := map[string]bool{}
	add := func(id string, stored *misstepv1.Signature) {
		if stored.GetKind() != signature.KindCrash || seen[id] {
			return
		}
		if s, err := signature.Read(stored); err == nil { // one of a newer version is nothing that can be compared
			all = append(all, candidate{id: id, Crash: s.(signature.Crash)})
			seen[id] = true
		}
	}
	for _, f := range findings {
		add(f.GetId(), f.GetSignature())
	}
	for _, h := range hits {
		add(h.ID, h.Signature)
	}
	joined := map[string]string{}
	for _, h := range hits {
		stored, err := signature.Read(h.Signature)
		cut, isCrash := stored.(signature.Crash)
		if err != nil || !isCrash || !cut.Partial() {
			continue
		}
		var best []candidate // none of which completes another
		for _, c := range all {
			if !c.Completes(cut) {
				continue
			}
			completed := false
			for _, other := range all {
				completed = completed || other.Completes(c.Crash)
			}
			if !completed {
				best = append(best, c)
			}
		}
		if len(best) == 1 && best[0].id != h.ID {
			joined[h.ID] = best[0].id
		}
	}
	return joined
}
