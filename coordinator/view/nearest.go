package view

import (
	"sync"

	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/triage"
)

// features keeps what findings are compared by; it is safe for concurrent use.
type features struct {
	mu   sync.Mutex
	kept map[featuresKey]triage.Features // guarded by mu
}

// featuresKey stands for what features follow from: a finding's example is only replaced by one with a smaller weight, and the
// finding with the same id in another project may have another one.
type featuresKey struct {
	project, id string
	weight      int
}

// maxFeatures bounds the features that are kept.
const maxFeatures = 100_000

// Nearest returns the findings that have something in common with one, nearest first (see triage.Nearest). Their examples are read
// for the first time only.
func (r Reader) Nearest(tx store.Tx, g Groups, f *misstepv1.Finding, most int) ([]*misstepv1.NearFinding, error) {
	if r.Memory == nil {
		r.Memory = &Memory{}
	}
	kept := &r.Memory.features
	kept.mu.Lock()
	defer kept.mu.Unlock()
	project := ""
	if of, ok := tx.(interface{ Project() string }); ok {
		project = of.Project()
	}
	var others []triage.Features
	for id := range g.Rows {
		if g.Head(id) != id {
			continue
		}
		key := featuresKey{project, id, g.weights[id]}
		features, known := kept.kept[key]
		if !known {
			stored, err := tx.Finding(id)
			if err != nil {
				return nil, err
			}
			features = triage.FeaturesOf(stored.Proto)
			if kept.kept == nil || len(kept.kept) >= maxFeatures {
				kept.kept = map[featuresKey]triage.Features{}
			}
			kept.kept[key] = features
		}
		others = append(others, features)
	}
	return triage.FeaturesOf(f).Nearest(others, most), nil
}
