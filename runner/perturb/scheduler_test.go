package perturb

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// One trial of a host has the scheduler, whichever runner it belongs to: the next one waits, and says for what when its time is
// over.
func TestTrialsOfAHostTakeTurns(t *testing.T) {
	lock := filepath.Join(t.TempDir(), "lock")
	unlock, err := Scheduler{Lock: lock}.lock(t.Context())
	require.NoError(t, err)

	over, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Scheduler{Lock: lock}.lock(over)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "wait for the scheduler")

	got := make(chan error, 1)
	go func() {
		next, err := Scheduler{Lock: lock}.lock(t.Context())
		if err == nil {
			next()
		}
		got <- err
	}()
	require.Empty(t, got)
	unlock()
	require.NoError(t, <-got)
}
