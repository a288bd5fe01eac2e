package station_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"misstep/app/station"
	"misstep/coordinator/store/memory"
	misstepv1 "misstep/proto/misstep/v1"
)

// The addresses in a file are followed: a file that appears, coordinators that move, a file that is empty for a while.
func TestListFile(t *testing.T) {
	st := memory.New()
	defer st.Close()
	one, two := openSite(t, st), openSite(t, st)
	file := filepath.Join(t.TempDir(), "coordinators")
	write := func(text string) {
		require.NoError(t, os.WriteFile(file+"~", []byte(text), 0o600))
		require.NoError(t, os.Rename(file+"~", file))
	}
	client, err := station.Dial(station.ListFile(file))
	require.NoError(t, err)
	defer client.Close()
	ask := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := client.ListRunners(ctx, &misstepv1.ListRunnersRequest{})
		return err
	}
	require.ErrorContains(t, ask(), "no coordinator answers at file:"+file)

	write(one.address + "\n")
	require.Eventually(t, func() bool { return ask() == nil }, 10*time.Second, 50*time.Millisecond)
	before, _ := two.seen()
	require.Zero(t, before)

	write("")
	time.Sleep(3 * time.Second) // longer than the file is left alone
	require.NoError(t, ask(), "a file that says nothing changes nothing")

	write(two.address + "\n")
	require.Eventually(t, func() bool {
		calls, _ := two.seen()
		return ask() == nil && calls > 0
	}, 10*time.Second, 50*time.Millisecond)
	one.stop()
	require.NoError(t, ask())

	write("nonsense\n" + two.address + "\n")
	time.Sleep(3 * time.Second)
	require.NoError(t, ask())
}
