package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/coordinator/store"
	"misstep/coordinator/store/stores"
	misstepv1 "misstep/proto/misstep/v1"
)

// TestMain runs this program as one of the processes that are measured when it is called as one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == roleStormCoordinator || os.Args[1] == roleStormRunners) {
		if err := roleOf(context.Background(), os.Args[1:], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", os.Args[1], err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// A small fleet works through all storms, nothing is lost or doubled, and those that come back get work.
func TestStorms(t *testing.T) {
	if testing.Short() {
		t.Skip("takes most of a minute; run without -short")
	}
	const runners = 24
	db := database{name: "sqlite", coordinators: []int{1}}
	s, err := newStormScene(t.Context(), t.TempDir(), db, runners, 3*time.Second)
	require.NoError(t, err)
	s.quiet, s.stock = 2*time.Second, 2000
	s.disk, err = newSlowDisk()
	if err != nil {
		t.Log(err)
	}
	var r results
	require.NoError(t, r.storm(t.Context(), s, db, runners))
	require.Len(t, r.Fleets, 1)
	f := r.Fleets[0]
	assert.Positive(t, f.Acknowledged)
	assert.Positive(t, f.Recorded)
	assert.Zero(t, f.Lost)
	assert.Zero(t, f.Doubled)
	assert.Positive(t, f.SIGTERM)
	for _, h := range r.Hits {
		assert.Positive(t, h.Returned, h.Storm)
	}
	want := 1 + len(storms)
	if s.disk == nil {
		want -= 2
	}
	assert.Len(t, r.Hits, want)
	assert.Len(t, r.goals(), 6)
	assert.Len(t, r.tables(), 2)
}

// What is lost and what is there twice is found.
func TestAudit(t *testing.T) {
	url := filepath.Join(t.TempDir(), "store")
	st, err := stores.Open(t.Context(), url)
	require.NoError(t, err)
	require.NoError(t, st.Update(t.Context(), func(tx store.Tx) error {
		require.NoError(t, tx.PutCampaign(&store.Campaign{
			ID: "C", Submission: submission(10), Next: 6, Tally: &misstepv1.CampaignStatus{},
		}))
		for i, lease := range []string{"L0", "L1", "L1"} {
			require.NoError(t, tx.AddTrial(&store.Trial{
				Campaign: "C", Index: uint64(i), Recipe: &misstepv1.Recipe{}, Outcome: &misstepv1.Outcome{Reason: lease},
			}))
		}
		require.NoError(t, tx.PutJob(store.Job{Campaign: "C", Index: 3}))
		return tx.PutLease(&store.Lease{ID: "L4", Job: store.Job{Campaign: "C", Index: 4}, Recipe: &misstepv1.Recipe{}})
	}))
	require.NoError(t, st.Close())
	ledger := filepath.Join(t.TempDir(), "ledger")
	write := func(text string) audit {
		require.NoError(t, os.WriteFile(ledger, []byte(text), 0o600))
		a, err := auditStore(t.Context(), url, ledger)
		require.NoError(t, err)
		return a
	}
	// Trial 5 was made and is nowhere.
	assert.Equal(t, audit{Acknowledged: 1, Recorded: 3, Lost: 1}, write("L0 C 0 true\n"))
	assert.Equal(t, audit{Acknowledged: 2, Recorded: 3, Lost: 1, Doubled: 1}, write("L0 C 0 true\nL1 C 1 true\n"))
	assert.Equal(t, audit{Acknowledged: 2, Recorded: 3, Lost: 2, Late: 1}, write("L8 C 3 true\nL9 C 4 false\n"))
	require.NoError(t, os.WriteFile(ledger, []byte("L0 C\n"), 0o600))
	_, err = auditStore(t.Context(), url, ledger)
	require.ErrorContains(t, err, `line "L0 C"`)
}

func TestWeather(t *testing.T) {
	begin := time.Unix(1000, 0)
	var all []second
	add := func(at int64, results uint64, p99 time.Duration) {
		s := second{At: at, Results: [groups]uint64{results, 1}, P99: p99}
		if results > 0 {
			s.Tenths[5] = results
		}
		all = append(all, s)
	}
	for at := int64(990); at < 1000; at++ {
		add(at, 100, 10*time.Millisecond)
	}
	for at := int64(1004); at < 1008; at++ { // those before have no call at all
		add(at, 10, time.Second)
	}
	for at := int64(1008); at < 1012; at++ {
		add(at, 90, 15*time.Millisecond)
	}
	w := weatherOf(all, 5*time.Second, begin, begin.Add(3*time.Second), 3*time.Second)
	assert.InDelta(t, 100, w.Before, 1e-9)
	assert.InDelta(t, 4.4, w.Silence, 0.11)
	assert.InDelta(t, 1.4, w.Beyond, 0.11)
	assert.InDelta(t, 5, w.RateBack, 1e-9)
	assert.InDelta(t, 5, w.P99Back, 1e-9)
	assert.InDelta(t, 90, w.After, 1e-9)
	assert.EqualValues(t, 8, w.Returned)
	w = weatherOf(all[:14], 5*time.Second, begin, begin.Add(3*time.Second), 0)
	assert.InDelta(t, -1, w.RateBack, 1e-9)
	assert.InDelta(t, -1, w.P99Back, 1e-9)
}

func TestLeasesFollowTheBudget(t *testing.T) {
	assert.Equal(t, 3*time.Second, stormLease(time.Minute))
	assert.Equal(t, 30*time.Second, stormLease(390*time.Second))
	assert.Equal(t, time.Minute, stormLease(time.Hour))
}
