package station_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"misstep/app/station"
	"misstep/bundle/share"
	"misstep/coordinator"
	"misstep/internal/proxy/objects"
	"misstep/internal/testenv"
	"misstep/internal/testenv/pgtest"
)

// journal is a log that can be read while it is written.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// opening opens a coordinator in the background.
func opening(ctx context.Context, log *journal, place station.Place) <-chan error {
	done := make(chan error, 1)
	go func() {
		config := coordinator.Config{Logger: slog.New(slog.NewTextHandler(log, nil))}
		c, err := station.Open(ctx, place, config, share.Policy{})
		if err == nil {
			err = c.CheckReadiness(ctx)
			_ = c.Close()
		}
		done <- err
	}()
	return done
}

func TestACoordinatorWaitsForItsDatabase(t *testing.T) {
	server := pgtest.Start(t, "fsync=off")
	place := station.Place{Dir: t.TempDir(), Store: server.Database(t), Patience: time.Minute}
	unknown := place
	unknown.Store = server.URL("unknown")
	server.Stop()

	log := &journal{}
	done := opening(t.Context(), log, place)
	said := "the database does not answer; this coordinator waits for it before it serves"
	require.Eventually(t, func() bool { return strings.Contains(log.String(), said) }, time.Minute, 10*time.Millisecond)
	time.Sleep(500 * time.Millisecond)
	require.Empty(t, done)
	require.NoError(t, server.Run())
	require.NoError(t, <-done)
	require.Equal(t, 1, strings.Count(log.String(), "does not answer"), log.String())
	require.Contains(t, log.String(), "the database answers")

	log = &journal{}
	require.ErrorContains(t, <-opening(t.Context(), log, unknown), "make it with createdb unknown")
	require.Empty(t, log.String(), "waiting does not help")
}

func TestHowLongACoordinatorWaits(t *testing.T) {
	place := station.Place{Dir: t.TempDir(), Store: "postgres://u:secret@127.0.0.1:1/d", Patience: 300 * time.Millisecond}
	err := <-opening(t.Context(), &journal{}, place)
	require.ErrorContains(t, err, "the database has not answered for ")
	require.ErrorContains(t, err, "start the server")
	require.NotContains(t, err.Error(), "secret")

	place.Patience = time.Hour
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	err = <-opening(ctx, &journal{}, place)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "start the server")

	place.Patience = 0
	log := &journal{}
	require.ErrorContains(t, <-opening(t.Context(), log, place), "start the server")
	require.Empty(t, log.String())
}

func TestACoordinatorWaitsForItsObjectStore(t *testing.T) {
	s := testenv.StartS3(t)
	proxy, err := objects.Listen(s.Endpoint, 1)
	require.NoError(t, err)
	defer func() { require.NoError(t, proxy.Close()) }()
	t.Setenv("AWS_ACCESS_KEY_ID", s.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", s.SecretKey)
	proxy.Fail(objects.Errors, 1)
	location := "s3://" + s.Bucket + "/hunt?endpoint=" + url.QueryEscape(proxy.Endpoint())
	log := &journal{}
	done := opening(t.Context(), log, station.Place{Dir: t.TempDir(), Blobs: location, Patience: time.Minute})
	require.Eventually(t, func() bool { return strings.Contains(log.String(), "the object store does not answer") }, time.Minute,
		10*time.Millisecond)
	proxy.Heal()
	require.NoError(t, <-done)
	require.Contains(t, log.String(), "the object store answers")

	t.Setenv("AWS_SECRET_ACCESS_KEY", "wrong")
	log = &journal{}
	require.Error(t, <-opening(t.Context(), log, station.Place{Dir: t.TempDir(), Blobs: location, Patience: time.Minute}))
	require.Empty(t, log.String(), "waiting does not help")
}
