package coordinator

import (
	"context"
	"slices"
	"time"

	"misstep/coordinator/access"
	"misstep/coordinator/custody"
	"misstep/coordinator/plausible"
	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

// reporter is the runner that makes a call.
type reporter struct {
	*misstepv1.Runner
	// owner is who authenticated; empty where nobody does. Whoever has its credential may run several runners, and is trusted with
	// what is theirs, not with what is others'.
	owner string
	// receipts that its evidence must have; nil if it needs none.
	receipts *custody.Receipts
}

// reporterOf returns the runner that a call is from. What it says of itself is not proved, so its leases belong to its id together
// with its owner.
func (s *Server) reporterOf(ctx context.Context, r *misstepv1.Runner) reporter {
	caller := access.From(ctx)
	if caller.Kind == access.Local {
		return reporter{Runner: r}
	}
	known := reporter{Runner: r, owner: caller.Name}
	if !custody.MayWrite(ctx) {
		known.receipts = s.config.Receipts
	}
	return known
}

// holder under which its leases are stored.
func (r reporter) holder() string { return store.Holder(r.owner, r.GetId()) }

// known reports whether it has authenticated. What it reports is then compared with its leases.
func (r reporter) known() bool { return r.owner != "" }

// unfit returns why an outcome cannot be the lease's, of a runner that may be a stranger's.
func (r reporter) unfit(l *store.Lease, one report) error {
	if !r.known() {
		return nil
	}
	o := one.GetOutcome()
	err := plausible.Outcome(o, l.Recipe)
	if err == nil && r.receipts != nil {
		err = r.receipts.Check(r.owner, o.GetEvidence())
	}
	if err == nil && len(one.hits) > 0 {
		err = plausible.Digest(o, l.Recipe)
	}
	return err
}

// stored returns what is stored of an outcome. That it names its recipe is checked where it shows a finding; elsewhere the claim is
// left out, as the trial has the recipe itself. Receipts have done their work.
// Who reported it is not for the runner to say.
func (r reporter) stored(o *misstepv1.Outcome, hits int) *misstepv1.Outcome {
	if r.known() && hits == 0 {
		o.RecipeDigest = ""
	}
	o.Evidence = slices.Clone(o.GetEvidence()) // which is shared with the report, whose receipts are still to be looked at
	for i, e := range o.GetEvidence() {
		if len(e.GetReceipt()) > 0 {
			o.Evidence[i] = &misstepv1.Evidence{Name: e.GetName(), Digest: e.GetDigest(), Size: e.GetSize()}
		}
	}
	o.ReportedBy = r.owner
	return o
}

// failure returns a failure as the queue takes it. That a trial can never run is not for one stranger's runner to say: others try,
// too.
func (r reporter) failure(f *misstepv1.InfrastructureFailure) *misstepv1.InfrastructureFailure {
	if r.known() {
		f.Permanent = false
	}
	return f
}

// LeasesOf returns the leases that the runners of an owner hold.
func (s *Server) LeasesOf(ctx context.Context, owner string) (all []*store.Lease, err error) {
	err = s.readWhole(ctx, func(tx store.Tx, _ time.Time) error {
		all, err = tx.Leases(store.LeaseFilter{Owner: owner})
		return err
	})
	return all, err
}
