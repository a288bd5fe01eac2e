package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/coordinator/store"
	"misstep/coordinator/store/stores"
	misstepv1 "misstep/proto/misstep/v1"
)

// A store is filled up to a number, what an earlier cell left is ended, and the filled campaign continues.
func TestFill(t *testing.T) {
	url := filepath.Join(t.TempDir(), "store")
	for _, step := range []struct{ target, want uint64 }{{12_000, 12_000}, {5_000, 12_000}, {12_500, 12_500}} {
		n, err := fill(t.Context(), url, step.target)
		require.NoError(t, err)
		assert.Equal(t, step.want, n)
		st, err := stores.Open(t.Context(), url)
		require.NoError(t, err)
		require.NoError(t, st.Update(t.Context(), func(tx store.Tx) error {
			n, err := countResults(tx)
			require.NoError(t, err)
			assert.Equal(t, step.want, n)
			c, err := tx.Campaign(filled)
			require.NoError(t, err)
			assert.Equal(t, step.want, c.Next)
			running, err := tx.Campaigns(true)
			require.NoError(t, err)
			assert.Len(t, running, 1)
			leases, err := tx.Leases(store.LeaseFilter{})
			require.NoError(t, err)
			assert.Empty(t, leases)
			// What a cell leaves.
			require.NoError(t, tx.PutLease(&store.Lease{
				ID: "L1", Job: store.Job{Campaign: filled, Index: 1e6}, Recipe: &misstepv1.Recipe{},
			}))
			require.NoError(t, tx.PutJob(store.Job{Campaign: "C2", Index: 1}))
			return tx.PutCampaign(&store.Campaign{
				ID: "C2", Submission: submission(smallSize), Tally: &misstepv1.CampaignStatus{},
				State: misstepv1.CampaignState_CAMPAIGN_STATE_RUNNING,
			})
		}))
		require.NoError(t, st.Close())
	}
}
