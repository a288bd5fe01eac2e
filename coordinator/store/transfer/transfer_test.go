package transfer

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/coordinator/store"
	"misstep/coordinator/store/memory"
	"misstep/coordinator/store/postgres"
	"misstep/coordinator/store/sqlite"
	"misstep/internal/testenv/pgtest"
	misstepv1 "misstep/proto/misstep/v1"
)

func TestMain(m *testing.M) { pgtest.VerifyTestMain(m) }

func newSQLite(t *testing.T) store.Store {
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "store.db"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func newPostgres(t *testing.T) store.Store {
	s, err := postgres.Open(t.Context(), pgtest.Database(t), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

var at = time.Unix(1_800_000_000, 123456789).UTC()

const trials = 2*page + 7

// fill writes rows of every kind, with trials and decisions whose ids have gaps, as transactions that were undone leave them.
func fill(t *testing.T, s store.Store) {
	require.NoError(t, s.Update(t.Context(), func(tx store.Tx) error {
		to, err := loader(tx)
		require.NoError(t, err)
		for _, id := range []string{"C1", "C2", "C3"} {
			require.NoError(t, tx.PutCampaign(&store.Campaign{
				ID: id, Submission: &misstepv1.SubmitCampaignRequest{Campaign: &misstepv1.Campaign{Name: "n" + id}}, Submitted: at,
				Next: 7, Turn: 3, StrategyState: []byte(id), Tally: &misstepv1.CampaignStatus{Failed: 2},
			}))
			require.NoError(t, tx.PutJob(store.Job{Campaign: id, Index: 90_000, Failures: 1, NotBefore: at}))
			require.NoError(t, tx.PutLease(&store.Lease{
				ID: "L" + id, Runner: "r", Job: store.Job{Campaign: id, Index: 90_001}, Recipe: &misstepv1.Recipe{Seed: 5},
				Granted: at, Deadline: at.Add(time.Minute),
			}))
		}
		for i := range uint64(trials) {
			trial := &store.Trial{
				ID: 3*i + 2, Campaign: fmt.Sprintf("C%d", 1+i%2), Index: i, Recipe: &misstepv1.Recipe{Seed: i}, Ended: at,
				Outcome: &misstepv1.Outcome{Kind: misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN},
			}
			if i%10 == 0 {
				trial.FindingIDs = []string{"F1", "F2"}
			}
			require.NoError(t, to.LoadTrial(trial))
		}
		require.NoError(t, tx.PutFinding(&store.Finding{Proto: &misstepv1.Finding{Id: "F1", Title: "t"}, Weight: 4}))
		require.NoError(t, to.LoadDecision(&misstepv1.TriageDecision{Id: 3, Kind: "merge"}))
		require.NoError(t, to.LoadDecision(&misstepv1.TriageDecision{Id: 9, Kind: "split"}))
		require.NoError(t, tx.PutKnownBug(&misstepv1.KnownBug{Id: "B1"}))
		require.NoError(t, tx.PutVisibility(&misstepv1.FindingVisibility{FindingId: "F1"}))
		require.NoError(t, tx.PutReproduction(&misstepv1.Reproduction{Id: "R1", Next: 4}))
		require.NoError(t, tx.PutSchedule(&misstepv1.Schedule{Id: "S1", Runs: 3}))
		require.NoError(t, tx.PutRetest(&misstepv1.Retest{Id: "RT1/0", FindingId: "F1"}))
		for _, kind := range []misstepv1.CatalogueKind{1, 2} {
			require.NoError(t, tx.PutCatalogueEntry(&misstepv1.CatalogueEntry{Kind: kind, Name: "n", Owner: "o"}))
		}
		require.NoError(t, tx.PutRepetition(&store.Repetition{
			Campaign: "C1", Index: 4, Lease: "L", Needs: "vm", Proto: &misstepv1.Repetition{Owner: "o", Drawn: timestamppb.New(at)},
		}))
		require.NoError(t, tx.PutWorkerState("w", []byte{0, 1, 2}))
		require.NoError(t, tx.PutToken(&store.Token{Proto: &misstepv1.Token{Id: "t"}, Hash: []byte{1, 0}}))
		require.NoError(t, tx.PutAccess(&misstepv1.AccessGrant{Group: "g", Grant: &misstepv1.Grant{Project: "p"}}))
		for i := range uint64(page + 3) {
			require.NoError(t, to.LoadAudit(&misstepv1.AuditEntry{Id: 2*i + 5, Caller: "anna"}))
		}
		return to.Loaded()
	}))
}

func ignore(string, uint64) {}

// From a file to a database and back: every row with its id is there, the rates are the same, and further ids are greater.
func TestThereAndBack(t *testing.T) {
	source, database, file := newSQLite(t), newPostgres(t), newSQLite(t)
	fill(t, source)
	want, err := TablesOf(t.Context(), source)
	require.NoError(t, err)
	rows := map[string]uint64{}
	for _, table := range want {
		rows[table.Name] = table.Rows
	}
	assert.Equal(t, map[string]uint64{
		"campaigns": 3, "jobs": 3, "leases": 3, "trials": trials, "findings": 1, "decisions": 2, "known bugs": 1, "visibility": 1,
		"reproductions": 1, "catalogue": 2, "schedules": 1, "retests": 1, "repetitions": 1, "workers": 1, "tokens": 1, "access": 1,
		"audit log": page + 3,
	}, rows)
	told := map[string]uint64{}
	have, err := Copy(t.Context(), "source", source, database, func(table string, rows uint64) { told[table] = rows })
	require.NoError(t, err)
	assert.Equal(t, want, have)
	assert.EqualValues(t, trials, told["trials"])
	have, err = Copy(t.Context(), "database", database, file, ignore)
	require.NoError(t, err)
	assert.Equal(t, want, have)

	for _, s := range []store.Store{source, database, file} {
		require.NoError(t, s.Update(t.Context(), func(tx store.Tx) error {
			hits, err := tx.Hits("F2")
			require.NoError(t, err)
			var n uint64
			for _, h := range hits {
				n += h.N
			}
			assert.EqualValues(t, (trials+9)/10, n)
			require.NoError(t, tx.AddTrial(&store.Trial{
				Campaign: "C3", Index: 1, Recipe: &misstepv1.Recipe{}, Outcome: &misstepv1.Outcome{},
			}))
			added, err := tx.Trials("C3", 0, 10)
			require.NoError(t, err)
			assert.EqualValues(t, 3*(trials-1)+3, added[len(added)-1].ID)
			decision, err := tx.AddDecision(&misstepv1.TriageDecision{Kind: "merge"})
			assert.EqualValues(t, 10, decision)
			require.NoError(t, err)
			entry, err := tx.AddAudit(&misstepv1.AuditEntry{})
			assert.EqualValues(t, 2*(page+2)+6, entry)
			return err
		}))
	}
}

// brokenOff fills a target until the copy is at the trials.
func brokenOff(t *testing.T, source, target store.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := Copy(ctx, "somewhere", source, target, func(table string, _ uint64) {
		if table == "trials" {
			cancel()
		}
	})
	require.Error(t, err)
	have, err := TablesOf(t.Context(), target)
	require.NoError(t, err)
	require.NotZero(t, have[0].Rows, "some campaigns were copied")
}

func property(t *testing.T, s store.Store, name string) (text string) {
	require.NoError(t, s.View(t.Context(), func(tx store.Tx) (err error) {
		text, err = tx.(store.PropertyRows).Property(name)
		return err
	}))
	return text
}

// A copy that breaks off leaves its mark. The next one begins anew, and in the end the target is the source again: also to those
// who ask whose blobs there are.
func TestACopyThatBrokeOffIsRepeated(t *testing.T) {
	source := newSQLite(t)
	fill(t, source)
	want, err := TablesOf(t.Context(), source)
	require.NoError(t, err)
	for _, target := range []store.Store{newSQLite(t), newPostgres(t)} {
		own := property(t, target, store.PropertyID)
		require.Regexp(t, "^[0-9a-f]{16}$", own)
		brokenOff(t, source, target)
		assert.Contains(t, property(t, target, store.PropertyIncomplete), "copy of somewhere, begun at ")
		assert.Equal(t, own, property(t, target, store.PropertyID))
		have, err := Copy(t.Context(), "source", source, target, ignore)
		require.NoError(t, err)
		assert.Equal(t, want, have)
		assert.Empty(t, property(t, target, store.PropertyIncomplete))
		assert.Equal(t, property(t, source, store.PropertyID), property(t, target, store.PropertyID))
	}
}

// Two copies into one target do not mix: the later one takes it, and the earlier one fails.
func TestTwoCopiesIntoOneTarget(t *testing.T) {
	source, target := newSQLite(t), newSQLite(t)
	fill(t, source)
	other := sync.OnceFunc(func() {
		_, err := Copy(t.Context(), "other", source, target, ignore)
		require.NoError(t, err)
	})
	_, err := Copy(t.Context(), "source", source, target, func(string, uint64) { other() })
	require.ErrorContains(t, err, "another copy into the same target has begun meanwhile")
	want, err := TablesOf(t.Context(), source)
	require.NoError(t, err)
	have, err := TablesOf(t.Context(), target)
	require.NoError(t, err)
	assert.Equal(t, want, have)
	assert.Empty(t, property(t, target, store.PropertyIncomplete))
}

func TestRefused(t *testing.T) {
	source, target := newSQLite(t), newSQLite(t)
	fill(t, source)
	_, err := Copy(t.Context(), "source", source, memory.New(), ignore)
	require.ErrorContains(t, err, "a store in memory cannot be copied")
	require.NoError(t, target.Update(t.Context(), func(tx store.Tx) error { return tx.PutKnownBug(&misstepv1.KnownBug{Id: "B1"}) }))
	_, err = Copy(t.Context(), "source", source, target, ignore)
	require.ErrorContains(t, err, "the target is not empty, it has 1 known bugs: give a new folder or database")
}

// Any change of a row shows in the digest of its table, and the copy's check names the table.
func TestDifferencesShow(t *testing.T) {
	for table, change := range map[string]func(store.Loader) error{
		"campaigns": func(tx store.Loader) error {
			c, err := tx.Campaign("C2")
			if err != nil {
				return err
			}
			c.Turn++
			return tx.PutCampaign(c)
		},
		"jobs":   func(tx store.Loader) error { return tx.PutJob(store.Job{Campaign: "C2", Index: 90_000, Failures: 1}) },
		"leases": func(tx store.Loader) error { return tx.DeleteLease("LC3") },
		"findings": func(tx store.Loader) error {
			return tx.PutFinding(&store.Finding{Proto: &misstepv1.Finding{Id: "F1", Title: "t"}})
		},
		"decisions":     func(tx store.Loader) error { return tx.PutDecision(&misstepv1.TriageDecision{Id: 9, Kind: "merge"}) },
		"known bugs":    func(tx store.Loader) error { return tx.DeleteKnownBug("B1") },
		"visibility":    func(tx store.Loader) error { return tx.DeleteVisibility("F1") },
		"reproductions": func(tx store.Loader) error { return tx.PutReproduction(&misstepv1.Reproduction{Id: "R1"}) },
		"workers":       func(tx store.Loader) error { return tx.PutWorkerState("w", []byte{0, 1}) },
		"tokens": func(tx store.Loader) error {
			return tx.PutToken(&store.Token{Proto: &misstepv1.Token{Id: "t"}, Hash: []byte{1}})
		},
		"access": func(tx store.Loader) error {
			return tx.DeleteAccess(&misstepv1.AccessGrant{Group: "g", Grant: &misstepv1.Grant{Project: "p"}})
		},
		"audit log": func(tx store.Loader) error { return tx.TrimAudit(time.Time{}, 5) },
		"trials": func(tx store.Loader) error {
			return tx.LoadTrial(&store.Trial{ID: 1, Campaign: "C3", Recipe: &misstepv1.Recipe{}, Outcome: &misstepv1.Outcome{}})
		},
	} {
		s := newSQLite(t)
		fill(t, s)
		before, err := TablesOf(t.Context(), s)
		require.NoError(t, err)
		require.NoError(t, s.Update(t.Context(), func(tx store.Tx) error {
			l, err := loader(tx)
			if err != nil {
				return err
			}
			return change(l)
		}))
		after, err := TablesOf(t.Context(), s)
		require.NoError(t, err)
		err = compare(before, after)
		require.ErrorContains(t, err, "the copy differs, do not use it: "+table)
	}
}
