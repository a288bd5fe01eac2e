package postgres_test

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/coordinator/store"
	"misstep/coordinator/store/postgres"
	"misstep/coordinator/store/storetest"
	"misstep/internal/testenv/pgtest"
	misstepv1 "misstep/proto/misstep/v1"
)

func TestMain(m *testing.M) { pgtest.VerifyTestMain(m) }

func open(t testing.TB, url string) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), url, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	return s
}

func TestStore(t *testing.T) {
	var urls sync.Map
	storetest.Run(t, func(t *testing.T) store.Store {
		url := pgtest.Database(t)
		s := open(t, url)
		urls.Store(s, url)
		return s
	}, storetest.Options{
		Parallel: true,
		Reopen: func(t *testing.T, s store.Store) store.Store {
			url, _ := urls.Load(s)
			return open(t, url.(string))
		},
	})
}

func BenchmarkStore(b *testing.B) {
	storetest.Benchmark(b, func(b *testing.B) store.Store { return open(b, pgtest.Database(b)) })
}

func TestOpenFails(t *testing.T) {
	s := pgtest.Start(t, "fsync=off")
	s.Exec(t, "postgres", "CREATE ROLE reader LOGIN; CREATE ROLE locked NOLOGIN")
	s.Exec(t, "postgres", "CREATE DATABASE newer")
	s.Exec(t, "postgres", "CREATE DATABASE closed")
	s.Exec(t, "closed", "REVOKE CREATE ON SCHEMA public FROM PUBLIC")
	require.NoError(t, open(t, s.URL("newer")).Close())
	s.Exec(t, "newer", "INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, true)")
	for url, wants := range map[string][]string{
		"postgres://u:secret@no-such-host.invalid/d": {"no-such-host.invalid", "correct the host in the URL or in PGHOST"},
		"postgres://u:secret@127.0.0.1:1/d": {
			"connection refused", "start the server, or correct the host and port (127.0.0.1, 1)",
		},
		"postgres://u:secret@127.0.0.1:port/d": {"expected postgres://USER@HOST:PORT/DATABASE"},
		s.URL("none"):                          {`database "none" does not exist`, "make it with createdb none"},
		s.URL("newer"): {
			"its schema has version 9999, this program supports up to ", "use the newer misstep",
		},
		s.URLAs("reader", "closed"): {
			"permission denied for schema public", "make the role reader the owner of the database closed",
		},
		s.URLAs("locked", "newer"): {`role "locked" is not permitted to log in`, "let the role locked connect"},
	} {
		_, err := postgres.Open(t.Context(), url, slog.New(slog.DiscardHandler))
		for _, want := range wants {
			require.ErrorContains(t, err, want)
		}
		require.Equal(t, strings.Contains(url, "127.0.0.1:1/"), errors.Is(err, store.ErrAway), "%s: whether to wait for it", url)
		require.NotContains(t, err.Error(), "secret")
	}
}

// A server without TLS refuses the request for it by one byte.
func TestServerWithoutTLS(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = io.ReadFull(c, make([]byte, 8))
			_, _ = c.Write([]byte("N"))
			_ = c.Close()
		}
	}()
	defer func() { require.NoError(t, listener.Close()) }()
	url := "postgres://u:secret@" + listener.Addr().String() + "/d?sslmode=require"
	_, err = postgres.Open(t.Context(), url, slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, "server refused TLS connection")
	require.ErrorContains(t, err, "turn on TLS in the server (ssl = on), or ask for less by sslmode in the URL or PGSSLMODE")
	require.NotErrorIs(t, err, store.ErrAway)
}

func trial(index uint64) *store.Trial {
	return &store.Trial{
		Campaign: "C1", Index: index, Recipe: &misstepv1.Recipe{}, Outcome: &misstepv1.Outcome{}, Ended: time.Unix(1, 0),
	}
}

func lease(id string, index uint64) *store.Lease {
	return &store.Lease{ID: id, Runner: "r", Job: store.Job{Campaign: "C1", Index: index}, Recipe: &misstepv1.Recipe{}}
}

// Two coordinators that start at once on an empty database both find its schema, and each trial goes to one of them.
func TestTwoAtOnce(t *testing.T) {
	const rounds, each = 3, 40
	for range rounds {
		url := pgtest.Database(t)
		var wg sync.WaitGroup
		var mu sync.Mutex
		wins := map[string]int{}
		for who := range 2 {
			wg.Go(func() {
				s, err := postgres.Open(t.Context(), url, slog.New(slog.DiscardHandler))
				if err != nil {
					t.Error(err)
					return
				}
				defer func() { assert.NoError(t, s.Close()) }()
				for i := range uint64(each) {
					for what, f := range map[string]func(store.Tx) error{
						"lease": func(tx store.Tx) error { return tx.PutLease(lease(fmt.Sprintf("L%d-%d", who, i), i)) },
						"trial": func(tx store.Tx) error { return tx.AddTrial(trial(i)) },
					} {
						err := s.Update(t.Context(), f)
						switch {
						case err == nil:
							mu.Lock()
							wins[fmt.Sprintf("%s %d", what, i)]++
							mu.Unlock()
						case !errors.Is(err, store.ErrExists):
							t.Error(err)
						}
					}
				}
			})
		}
		wg.Wait()
		require.Len(t, wins, 2*each)
		for what, n := range wins {
			assert.Equal(t, 1, n, what)
		}
	}
}

// A string that PostgreSQL cannot hold is in no row.
func TestTextWithZero(t *testing.T) {
	s := open(t, pgtest.Database(t))
	defer func() { require.NoError(t, s.Close()) }()
	require.ErrorIs(t, s.View(t.Context(), func(tx store.Tx) error {
		_, err := tx.Campaign("C\x00")
		return err
	}), store.ErrNotFound)
}

// records collects what is logged.
type records struct {
	mu    sync.Mutex
	lines strings.Builder
}

func (r *records) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lines.Write(p)
}

func (r *records) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lines.String()
}
