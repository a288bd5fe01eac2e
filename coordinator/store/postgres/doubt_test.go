package postgres_test

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"net/url"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"misstep/coordinator/store"
	"misstep/coordinator/store/postgres"
	"misstep/internal/testenv/pgtest"
)

// cutter passes a server's connections on, and cuts one when a commit passes: before the server gets it, or after it has answered.
type cutter struct {
	server string
	// cut is what happens to the next commit: 0 nothing, 1 it does not reach the server, 2 its answer does not come back.
	cut  atomic.Int32
	cuts atomic.Int32
}

const (
	cutBefore = 1
	cutAfter  = 2
)

func (c *cutter) serve(l net.Listener, running *sync.WaitGroup) {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		running.Go(func() { c.pass(client) })
	}
}

func (c *cutter) pass(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("unix", c.server)
	if err != nil {
		return
	}
	defer server.Close()
	var drop atomic.Bool
	var answers sync.WaitGroup
	defer answers.Wait()
	answers.Go(func() {
		defer client.Close()
		buffer := make([]byte, 1<<16)
		for {
			n, err := server.Read(buffer)
			if err != nil || drop.Load() {
				return
			}
			if _, err := client.Write(buffer[:n]); err != nil {
				return
			}
		}
	})
	defer server.Close()
	buffer := make([]byte, 1<<16)
	for {
		n, err := client.Read(buffer)
		if err != nil {
			return
		}
		if bytes.Contains(buffer[:n], []byte("; COMMIT\x00")) {
			switch c.cut.Swap(0) {
			case cutBefore:
				c.cuts.Add(1)
				return
			case cutAfter:
				c.cuts.Add(1)
				drop.Store(true)
			}
		}
		if _, err := io.Copy(server, bytes.NewReader(buffer[:n])); err != nil {
			return
		}
	}
}

// inDoubt opens a new database through a cutter; stop closes both.
func inDoubt(t *testing.T) (s *postgres.Store, c *cutter, stop func()) {
	t.Helper()
	database, err := url.Parse(pgtest.Database(t))
	require.NoError(t, err)
	dir := t.TempDir()
	query := database.Query()
	c = &cutter{server: filepath.Join(query.Get("host"), ".s.PGSQL.5432")}
	l, err := net.Listen("unix", filepath.Join(dir, ".s.PGSQL.5432"))
	require.NoError(t, err)
	var running sync.WaitGroup
	running.Go(func() { c.serve(l, &running) })
	query.Set("host", dir)
	database.RawQuery = query.Encode()
	s, err = postgres.Open(t.Context(), database.String(), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	begin(t, s)
	return s, c, func() {
		require.NoError(t, s.Close())
		require.NoError(t, l.Close())
		running.Wait()
	}
}

// A connection that is lost during a commit leaves its outcome unknown to the client. Either way the transaction is applied once.
func TestCommitInDoubt(t *testing.T) {
	s, c, stop := inDoubt(t)
	defer stop()
	const times = 20
	for i := range uint64(times) {
		c.cut.Store(int32(1 + i%2))
		require.NoError(t, s.Update(t.Context(), count(i)), "cut %d", 1+i%2)
	}
	counted(t, s, times)
	require.EqualValues(t, times, c.cuts.Load())
}

// Without the look whether the transaction was committed it would be applied twice, or be lost: the test above can fail.
func TestCommitInDoubtNeedsTheLook(t *testing.T) {
	increment := func(tx store.Tx) error {
		campaign, err := tx.Campaign("C1")
		if err == nil {
			campaign.Next++
			err = tx.PutCampaign(campaign)
		}
		return err
	}
	for name, without := range map[string]struct {
		assumed bool
		cut     int32
		want    uint64
	}{
		"applied twice": {false, cutAfter, 2},
		"lost":          {true, cutBefore, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s, c, stop := inDoubt(t)
			defer stop()
			s.Assume(without.assumed)
			c.cut.Store(without.cut)
			require.NoError(t, s.Update(t.Context(), increment))
			require.EqualValues(t, 1, c.cuts.Load())
			require.NoError(t, s.View(t.Context(), func(tx store.Tx) error {
				campaign, err := tx.Campaign("C1")
				require.NoError(t, err)
				require.Equal(t, without.want, campaign.Next, "one update was acknowledged")
				return nil
			}))
			s.Assume(without.assumed)
			c.cut.Store(without.cut)
			err := s.Update(t.Context(), count(7))
			if without.assumed {
				require.NoError(t, err, "acknowledged, and lost")
			} else {
				require.ErrorIs(t, err, store.ErrExists, "its own first attempt")
			}
		})
	}
}
