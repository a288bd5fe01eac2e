package retention_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/app/retention"
	"misstep/coordinator/store"
	"misstep/coordinator/store/memory"
	"misstep/corpus"
	misstepv1 "misstep/proto/misstep/v1"
)

// reading counts the trials that are read of a store.
type reading struct {
	store.Store
	trials int
}

type readingTx struct {
	store.Tx
	of *reading
}

func (r *reading) View(ctx context.Context, f func(store.Tx) error) error {
	return r.Store.View(ctx, func(tx store.Tx) error { return f(readingTx{tx, r}) })
}

func (t readingTx) Trials(campaign string, after uint64, limit int) ([]*store.Trial, error) {
	rows, err := t.Tx.Trials(campaign, after, limit)
	t.of.trials += len(rows)
	return rows, err
}

// TestOldTrialsAreNotReadAgain: a round reads what is new since the last one, and what has changed.
func TestOldTrialsAreNotReadAgain(t *testing.T) {
	const size = 100
	retention.SetSegmentTrials(t, size)
	w := newWorld(t, t.TempDir())
	counted := &reading{Store: w.store}
	cache := filepath.Join(t.TempDir(), "marks")
	campaigns := map[bool]string{
		true:  w.campaign(misstepv1.CampaignState_CAMPAIGN_STATE_RUNNING, ""),
		false: w.campaign(misstepv1.CampaignState_CAMPAIGN_STATE_RUNNING, ""),
	}
	digest := func(n int) string { return corpus.DigestBytes(fmt.Append(nil, n)).String() }
	n := 0
	add := func(campaign string, trials int) {
		for range trials {
			w.trial(campaign, w.now, outcome(void, digest(n)))
			n++
		}
	}
	end := func(campaign string) {
		w.update(func(tx store.Tx) error {
			c, err := tx.Campaign(campaign)
			if err == nil {
				c.State = misstepv1.CampaignState_CAMPAIGN_STATE_DONE
				err = tx.PutCampaign(c)
			}
			return err
		})
	}
	// round returns how many trials it read, and checks that everything up to n but what has aged is needed.
	round := func(agedBelow int) int {
		t.Helper()
		counted.trials = 0
		m, err := retention.Mark(t.Context(), cache, counted, w.index, w.blobs)
		require.NoError(t, err)
		for i := range n + 10 {
			d, err := corpus.ParseDigest(digest(i))
			require.NoError(t, err)
			assert.Equal(t, i >= agedBelow && i < n, m.Has(d), "evidence %d", i)
		}
		require.NoError(t, m.Err())
		require.NoError(t, m.Close())
		return counted.trials
	}
	add(campaigns[true], 350)
	assert.Equal(t, 350, round(0), "all in the first round")
	assert.Equal(t, 3+50, round(0), "the last one of each segment, and the rest")
	add(campaigns[true], 60)
	assert.Equal(t, 3+110, round(0))
	add(campaigns[false], 20)
	end(campaigns[false])
	assert.Equal(t, 4+10+20, round(0))
	assert.Equal(t, 4+10+1, round(0), "a campaign that has ended gets no more trials")

	// What has aged is read again, once.
	w.now = w.now.Add(2 * keepTrials)
	_, err := retention.Age(t.Context(), w.store, retention.Rules{Trials: keepTrials}, w.now, true)
	require.NoError(t, err)
	before := n
	assert.Equal(t, 410+20, round(before))
	assert.Equal(t, 4+10+1, round(before))
	end(campaigns[true])
	assert.Equal(t, 410+1, round(before), "less is needed of a campaign that has ended")
	assert.Equal(t, 5+1, round(before))
}

// TestDatabaseThatWasSetBack has other trials with the ids that are in the cache.
func TestDatabaseThatWasSetBack(t *testing.T) {
	retention.SetSegmentTrials(t, 10)
	cache := filepath.Join(t.TempDir(), "marks")
	w := newWorld(t, t.TempDir())
	for life := range 2 {
		w.store, w.n = memory.New(), 0
		c := w.campaign(misstepv1.CampaignState_CAMPAIGN_STATE_RUNNING, "")
		var last string
		for i := range 10 {
			last = corpus.DigestBytes(fmt.Append(nil, life, i)).String()
			w.trial(c, w.now.Add(time.Duration(life)), outcome(void, last))
		}
		m, err := retention.Mark(t.Context(), cache, w.store, w.index, w.blobs)
		require.NoError(t, err)
		d, err := corpus.ParseDigest(last)
		require.NoError(t, err)
		assert.True(t, m.Has(d), "life %d", life)
		require.NoError(t, m.Close())
	}
}

// TestSizesAreSummedOnce: with a bound for the evidence, a round reads what is new, and what ages.
func TestSizesAreSummedOnce(t *testing.T) {
	w := newWorld(t, t.TempDir())
	counted := &reading{Store: w.store}
	c := w.campaign(misstepv1.CampaignState_CAMPAIGN_STATE_RUNNING, "")
	hour := w.now.Truncate(time.Hour).Add(-1000 * time.Hour)
	add := func(trials int) { // one an hour, 1000 bytes each
		for range trials {
			hour = hour.Add(time.Hour)
			w.trial(c, hour, outcome(void, corpus.DigestBytes(fmt.Append(nil, w.n)).String()))
		}
	}
	age := func(rules retention.Rules) (aged, read int) {
		t.Helper()
		counted.trials = 0
		got, err := retention.Age(t.Context(), counted, rules, w.now, true)
		require.NoError(t, err)
		return got.Trials, counted.trials
	}
	rules := retention.Rules{Evidence: 500_000}
	add(500)
	aged, read := age(rules)
	assert.Zero(t, aged)
	assert.GreaterOrEqual(t, read, 500)
	add(30)
	aged, read = age(rules)
	assert.Equal(t, 30, aged)
	assert.LessOrEqual(t, read, 30+2*200, "what is new, and the pages of what ages")
	aged, read = age(rules)
	assert.Zero(t, aged)
	assert.LessOrEqual(t, read, 200)

	// Trials that age by another rule are not in the sums: those are made anew.
	aged, _ = age(retention.Rules{Trials: w.now.Sub(hour) + 99*time.Hour + time.Minute})
	assert.Equal(t, 400, aged)
	add(300)
	aged, _ = age(rules)
	assert.Zero(t, aged, "400 are left")
	add(101)
	aged, _ = age(rules)
	assert.Equal(t, 1, aged)
	n, left := w.trialsOf(c)
	assert.Equal(t, []int{431, 500}, []int{n, len(left)})
}
