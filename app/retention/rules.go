// Package retention removes what nobody needs any more: what only people look at of old trials that found nothing, and blobs that
// nothing refers to.
//
// It never removes a trial's row, from which rates are computed, nor anything that a finding, a reproduction, a decision, a shared
// bundle or a running campaign needs. A hunt may run meanwhile.
package retention

import (
	"time"

	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

// Rules say what is kept. The zero value keeps every trial.
type Rules struct {
	// Trials is the age from which a trial that found nothing loses its evidence and all of its outcome but kind, reason, host and
	// times; 0 for never.
	Trials time.Duration
	// Evidence is the size in bytes of the evidence of such trials from which the oldest lose it whatever their age; 0 for no
	// bound. Evidence that several trials share is counted for each.
	Evidence int64
}

// any reports whether the rules let any trial age.
func (r Rules) any() bool { return r.Trials > 0 || r.Evidence > 0 }

// ages reports whether a trial may age: it has an outcome, and no finding needs it.
func ages(t *store.Trial) bool {
	return t.Outcome != nil && len(t.FindingIDs) == 0 && !t.Outcome.GetAged()
}

// slim returns what remains of the outcome of a trial that has aged.
func slim(o *misstepv1.Outcome) *misstepv1.Outcome {
	return &misstepv1.Outcome{
		Kind: o.GetKind(), Reason: o.GetReason(), Started: o.GetStarted(), Wall: o.GetWall(), Cpu: o.GetCpu(), Host: o.GetHost(),
		Aged: true,
	}
}

// sizeOf returns the size of an outcome's evidence in bytes.
func sizeOf(o *misstepv1.Outcome) (bytes int64) {
	for _, e := range o.GetEvidence() {
		bytes += int64(e.GetSize()) // at most corpus.MaxBlob
	}
	return bytes
}
