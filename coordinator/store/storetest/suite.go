package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"misstep/coordinator/store"
)

// Options describe a store. The zero value is for a fast store that is lost with its process.
type Options struct {
	// Parallel runs the tests side by side, each on a store of its own: for stores that wait rather than work.
	Parallel bool
	// Updates that each of eight writers makes at once in the test of serial updates; 0 is 10.
	Updates int
	// Reopen opens the same rows again while s is still open, as after a kill: a killed process closes nothing. The suite closes
	// both. Without it the tests of durability are left out.
	Reopen func(t *testing.T, s store.Store) store.Store
}

// t0 has nanoseconds and a zone, both of which a store must handle.
var t0 = time.Date(2026, 3, 4, 5, 6, 7, 123456789, time.FixedZone("test", 3600))

type test struct {
	name string
	run  func(*testing.T, store.Store)
}

// Run runs the suite; open gives a new empty store, and the suite closes it.
func Run(t *testing.T, open func(t *testing.T) store.Store, o Options) {
	if o.Updates == 0 {
		o.Updates = 10
	}
	tests := []test{
		{"campaigns", campaigns},
		{"jobs", jobs},
		{"jobs with recipes", jobsWithRecipes},
		{"ready jobs", readyJobs},
		{"reproductions", reproductions},
		{"leases", leases},
		{"leases of an owner", ownedLeases},
		{"one lease for a trial", oneLease},
		{"numbers of jobs and leases", queued},
		{"trials", trials},
		{"one result for a trial", oneResult},
		{"another outcome for a trial", putOutcome},
		{"findings", findings},
		{"counts and hits", countsAndHits},
		{"decisions", decisions},
		{"worker state", workerState},
		{"known bugs", knownBugs},
		{"visibility of findings", visibilities},
		{"tokens", tokens},
		{"what is granted", accessGrants},
		{"audit log", auditLog},
		{"catalogue", catalogue},
		{"schedules", schedules},
		{"repetitions", repetitions},
		{"retests", retests},
		{"log of trials", trialLog},
		{"failed update leaves nothing", rollback},
		{"panic leaves nothing", panicRollback},
		{"views do not write", readOnly},
		{"rows are copies", copies},
		{"updates are serial", func(t *testing.T, s store.Store) { serial(t, s, o.Updates) }},
		{"cancelled context", cancelled},
		{"cancelled at any moment", cancelledAtAnyMoment},
	}
	if o.Reopen != nil {
		tests = append(tests, test{"a kill loses nothing", func(t *testing.T, s store.Store) { durable(t, s, o.Reopen) }})
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			if o.Parallel {
				t.Parallel()
			}
			s := open(t)
			defer func() { require.NoError(t, s.Close()) }()
			c.run(t, s)
		})
	}
}
