package retest

import (
	"fmt"

	judge "misstep/coordinator/retest"
	misstepv1 "misstep/proto/misstep/v1"
)

// Together returns which other findings vanished together with one, according to the retests in a hunt's folder. Only findings of
// the same kind are compared, since only those can be merged. all are the findings with their aliases and former ids.
func Together(dir string, finding *misstepv1.Finding, all []*misstepv1.Finding) ([]*misstepv1.VanishWith, error) {
	results, err := read(dir)
	if err != nil {
		return nil, err
	}
	id := map[string]string{}
	for _, f := range all {
		if f.GetSignature().GetKind() != finding.GetSignature().GetKind() || f.GetAssorted() != "" {
			continue
		}
		for _, name := range append(append([]string{f.GetId()}, f.GetAliases()...), f.GetFormerIds()...) {
			id[name] = f.GetId()
		}
	}
	var tries []judge.Result
	for _, r := range results {
		if id[r.Finding] == "" || r.Error != "" {
			continue
		}
		if r.KnownDigest != "" && r.Known.Hits > 0 {
			tries = append(tries, judge.Result{
				Finding: id[r.Finding], Build: r.KnownDigest, Name: r.KnownOn, Now: r.Known, State: judge.StillPresent,
			})
		}
		tries = append(tries, judge.Result{
			Finding: id[r.Finding], Build: r.Digest, Name: r.JDK, Now: r.Now, State: r.Verdict.State,
		})
	}
	var out []*misstepv1.VanishWith
	for _, p := range judge.Together(finding.GetId(), tries) {
		out = append(out, &misstepv1.VanishWith{
			Id: p.Other, Present: p.Present, Fixed: p.Fixed, P: p.P,
			Evidence: fmt.Sprintf("on %s %d of %d and %d of %d tries, on %s %d of %d and %d of %d; Fisher's p at most %.2g",
				p.Present, p.Mine[0].Hits, p.Mine[0].Tries, p.Theirs[0].Hits, p.Theirs[0].Tries,
				p.Fixed, p.Mine[1].Hits, p.Mine[1].Tries, p.Theirs[1].Hits, p.Theirs[1].Tries, p.P),
		})
	}
	return out, nil
}
