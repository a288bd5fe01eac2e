package postgres_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/coordinator/store"
	"misstep/coordinator/store/postgres"
	"misstep/internal/testenv/pgtest"
	misstepv1 "misstep/proto/misstep/v1"
)

// count adds a trial with that index and counts it in the campaign, so that a transaction that is applied twice shows.
func count(index uint64) func(store.Tx) error {
	return func(tx store.Tx) error {
		c, err := tx.Campaign("C1")
		if err != nil {
			return err
		}
		if err := tx.AddTrial(trial(index)); err != nil {
			return err
		}
		c.Next++
		return tx.PutCampaign(c)
	}
}

// counted asserts that the trials up to n were each counted once.
func counted(t *testing.T, s store.Store, n uint64) {
	t.Helper()
	require.NoError(t, s.View(t.Context(), func(tx store.Tx) error {
		c, err := tx.Campaign("C1")
		require.NoError(t, err)
		assert.Equal(t, n, c.Next)
		trials, err := tx.Trials("C1", 0, int(n)+1)
		require.NoError(t, err)
		seen := map[uint64]bool{}
		for _, trial := range trials {
			seen[trial.Index] = true
		}
		assert.Len(t, trials, int(n))
		assert.Len(t, seen, int(n))
		return nil
	}))
}

func begin(t *testing.T, s store.Store) {
	t.Helper()
	require.NoError(t, s.Update(t.Context(), func(tx store.Tx) error {
		return tx.PutCampaign(&store.Campaign{
			ID: "C1", Submission: &misstepv1.SubmitCampaignRequest{}, Tally: &misstepv1.CampaignStatus{},
		})
	}))
}

// The server is killed again and again while two coordinators write: what was acknowledged is there, and nothing is there twice.
func TestServerKilled(t *testing.T) {
	server := pgtest.Start(t)
	url := server.Database(t)
	stores := []*postgres.Store{open(t, url), open(t, url)}
	begin(t, stores[0])
	var next, acknowledged atomic.Uint64
	var writers sync.WaitGroup
	stop := make(chan struct{})
	for i := range 4 {
		writers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := stores[i%2].Update(t.Context(), count(next.Add(1))); err != nil {
					t.Error(err)
					return
				}
				acknowledged.Add(1)
			}
		})
	}
	const kills = 3
	for range kills {
		before := acknowledged.Load()
		require.Eventually(t, func() bool { return acknowledged.Load() > before+10 }, time.Minute, time.Millisecond)
		server.Kill()
		require.NoError(t, server.Run())
	}
	close(stop)
	writers.Wait()
	counted(t, stores[1], acknowledged.Load())
	t.Logf("%d transactions, %d kills", acknowledged.Load(), kills)
	for _, s := range stores {
		require.NoError(t, s.Close())
	}
}

// A server that has stopped, whose socket is gone, or that has no connection left may answer later.
func TestOpenWhileTheServerIsAway(t *testing.T) {
	server := pgtest.Start(t, "fsync=off", "max_connections=10", "superuser_reserved_connections=0")
	url := server.Database(t)
	var held []*pgx.Conn
	for {
		c, err := pgx.Connect(t.Context(), url)
		if err != nil {
			break
		}
		held = append(held, c)
	}
	_, err := postgres.Open(t.Context(), url, slog.New(slog.DiscardHandler))
	require.ErrorIs(t, err, store.ErrAway)
	require.ErrorContains(t, err, "raise max_connections")
	for _, c := range held {
		require.NoError(t, c.Close(t.Context()))
	}
	server.Stop()
	_, err = postgres.Open(t.Context(), url, slog.New(slog.DiscardHandler))
	require.ErrorIs(t, err, store.ErrAway)
	require.ErrorContains(t, err, "start the server")
}

// Calls wait for a server that is away, until their contexts end; the log says it once, and once that it is back.
func TestServerAway(t *testing.T) {
	server := pgtest.Start(t, "fsync=off")
	log := &records{}
	s, err := postgres.Open(t.Context(), server.Database(t), slog.New(slog.NewTextHandler(log, nil)))
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	begin(t, s)
	server.Stop()

	short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	for _, call := range []func(context.Context, func(store.Tx) error) error{s.View, s.Update} {
		err := call(short, func(store.Tx) error { return nil })
		require.ErrorIs(t, err, context.DeadlineExceeded)
	}
	var calls sync.WaitGroup
	for i := range 8 {
		calls.Go(func() {
			assert.NoError(t, s.Update(t.Context(), count(uint64(i))))
			assert.NoError(t, s.View(t.Context(), func(tx store.Tx) error {
				_, err := tx.Campaign("C1")
				return err
			}))
		})
	}
	time.Sleep(300 * time.Millisecond)
	require.NoError(t, server.Run())
	calls.Wait()
	counted(t, s, 8)
	assert.Equal(t, 1, strings.Count(log.String(), "the database does not answer"), log.String())
	assert.Equal(t, 1, strings.Count(log.String(), "the database answers again"), log.String())
}

// Who only looks does not wait for ever, and is told why.
func TestAViewOfAServerAwayEnds(t *testing.T) {
	defer postgres.SetViewPatience(300 * time.Millisecond)()
	server := pgtest.Start(t, "fsync=off")
	s, err := postgres.Open(t.Context(), server.Database(t), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	server.Stop()
	begun := time.Now()
	err = s.View(t.Context(), func(store.Tx) error { return nil })
	require.ErrorIs(t, err, store.ErrAway)
	require.ErrorContains(t, err, "the database does not answer: ")
	require.GreaterOrEqual(t, time.Since(begun), 300*time.Millisecond)
	require.NoError(t, server.Run())
	require.NoError(t, s.View(t.Context(), func(store.Tx) error { return nil }))
}
