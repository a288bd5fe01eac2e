package batch_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"misstep/coordinator/store"
	"misstep/coordinator/store/memory"
	misstepv1 "misstep/proto/misstep/v1"
)

var start = time.Unix(1_800_000_000, 0).UTC()

// operation is one step of an update; it returns what it read.
type operation func(tx store.Tx) string

func drawOperation(t *rapid.T) operation {
	campaign := rapid.SampledFrom([]string{"C1", "C2"}).Draw(t, "campaign")
	index := rapid.Uint64Range(0, 5).Draw(t, "index")
	runner := rapid.SampledFrom([]string{"r1", "r2"}).Draw(t, "runner")
	at := start.Add(time.Duration(rapid.IntRange(0, 5).Draw(t, "time")) * time.Second)
	needs := rapid.SampledFrom([]string{"", "vm"}).Draw(t, "needs")
	filter := rapid.SampledFrom([]store.LeaseFilter{
		{},
		{Runner: runner},
		{Campaign: campaign},
		{ExpiredAt: at},
		{Runners: []string{"r1", "r2"}, Campaign: campaign},
		{ExpiredAt: at, Limit: 1},
		{ExpiredAt: at, Limit: 3},
		{Limit: 2},
	}).Draw(t, "filter")
	lease := fmt.Sprint("L", index, campaign) // one for each trial
	show := func(x any, err error) string { return fmt.Sprint(x, err != nil) }
	return rapid.SampledFrom([]operation{
		func(tx store.Tx) string {
			return show(0, tx.PutCampaign(&store.Campaign{
				ID: campaign, Next: index, Submitted: at, State: misstepv1.CampaignState(1 + index%2),
			}))
		},
		func(tx store.Tx) string {
			all, err := tx.Campaigns(index%2 == 0)
			out := ""
			for _, c := range all {
				out += fmt.Sprint(c.ID, c.Next, c.State, c.Submitted)
			}
			return show(out, err)
		},
		// Jobs and leases are put after a look, as the queue does.
		func(tx store.Tx) string {
			jobs, err := tx.Jobs(campaign)
			return show(jobs, errors.Join(err, tx.PutJob(store.Job{Campaign: campaign, Index: index, NotBefore: at, Needs: needs})))
		},
		func(tx store.Tx) string {
			jobs, err := tx.Jobs(campaign)
			return show(jobs, errors.Join(err, tx.DeleteJob(campaign, index)))
		},
		func(tx store.Tx) string {
			return show(tx.ReadyJobs(store.ReadyFilter{
				Campaign: campaign, Capabilities: []string{needs}, At: start.Add(3 * time.Second), Limit: 1 + int(index),
			}))
		},
		func(tx store.Tx) string { return show(tx.CountJobs(campaign)) },
		func(tx store.Tx) string {
			old, err := tx.Lease(lease)
			if err != nil {
				old = &store.Lease{ID: lease, Job: store.Job{Campaign: campaign, Index: index}, Granted: at}
			}
			old.Runner, old.Deadline = runner, at
			return show(0, tx.PutLease(old))
		},
		func(tx store.Tx) string { return show(0, tx.DeleteLease(lease)) },
		func(tx store.Tx) string { return show(tx.CountLeases(campaign)) },
		func(tx store.Tx) string { return show(0, tx.ExtendLeases(at)) },
		func(tx store.Tx) string {
			return leases(tx.Leases(filter))
		},
		func(tx store.Tx) string {
			return show(0, tx.PutFinding(&store.Finding{
				Proto: &misstepv1.Finding{Id: "F" + campaign, Campaigns: []string{fmt.Sprint(index)}}, Weight: int(index),
			}))
		},
		func(tx store.Tx) string {
			f, err := tx.Finding("F" + campaign)
			if err != nil {
				return "none"
			}
			return fmt.Sprint(f.Proto.GetCampaigns(), f.Weight)
		},
		func(tx store.Tx) string {
			trials, err := tx.Trials(campaign, 0, 100)
			out := ""
			for _, trial := range trials {
				out += fmt.Sprint(trial.ID, " ", trial.Index, " ")
			}
			return show(out, err)
		},
		func(tx store.Tx) string { return show(tx.Counts()) },
	}).Draw(t, "operation")
}

func leases(all []*store.Lease, err error) string {
	out := fmt.Sprint(err != nil)
	for _, l := range all {
		out += fmt.Sprintf(" %s of %s for %s %d until %v", l.ID, l.Runner, l.Job.Campaign, l.Job.Index, l.Deadline)
	}
	return out
}

// Updates that share a transaction read and leave what they would have read and left one after the other, whichever of them fail.
func TestSharedTransactionIsLikeMany(t *testing.T) {
	boom := errors.New("boom")
	rapid.Check(t, func(rt *rapid.T) {
		var updates []func(store.Tx) error
		reads := map[string][]string{}
		one, shared := memory.New(), newGated()
		result := uint64(0)
		for i := range rapid.IntRange(1, 8).Draw(rt, "updates") {
			var ops []operation
			for range rapid.IntRange(1, 6).Draw(rt, "operations") {
				ops = append(ops, drawOperation(rt))
			}
			fails, ends := rapid.IntRange(0, 3).Draw(rt, "fails") == 0, rapid.Bool().Draw(rt, "ends")
			result++
			index := result
			update := func(where string) func(store.Tx) error {
				return func(tx store.Tx) error {
					key := fmt.Sprint(where, i)
					reads[key] = nil
					for _, op := range ops {
						reads[key] = append(reads[key], op(tx))
					}
					if ends {
						if err := tx.AddTrial(&store.Trial{
							Campaign: "C1", Index: index, Recipe: &misstepv1.Recipe{}, Outcome: &misstepv1.Outcome{},
						}); err != nil {
							return err
						}
					}
					if fails {
						return boom
					}
					return nil
				}
			}
			err := one.Update(t.Context(), update("alone "))
			require.Equal(t, fails, err != nil)
			updates = append(updates, update("shared "))
		}
		shared.together(t, updates...)
		for i := range updates {
			require.Equal(t, reads[fmt.Sprint("alone ", i)], reads[fmt.Sprint("shared ", i)], "update %d", i)
		}
		var left [2][]string
		for i, s := range []store.Store{one, shared.Store} {
			require.NoError(t, s.View(t.Context(), func(tx store.Tx) error {
				for _, c := range []string{"C1", "C2"} {
					jobs, err := tx.Jobs(c)
					require.NoError(t, err)
					got, err := tx.Campaign(c)
					left[i] = append(left[i], fmt.Sprint(jobs), fmt.Sprint(got, err))
				}
				left[i] = append(left[i], leases(tx.Leases(store.LeaseFilter{})))
				return nil
			}))
		}
		require.Equal(t, left[0], left[1])
	})
}
