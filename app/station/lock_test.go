package station_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"misstep/app/station"
	"misstep/bundle/share"
	"misstep/coordinator"
)

// Two coordinators on one database file are refused, however each names it, until the first one is closed.
func TestOneCoordinatorOnAFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "station")
	open := func(place station.Place) (*station.Coordinator, error) {
		return station.Open(t.Context(), place, coordinator.Config{}, share.Policy{})
	}
	first, err := open(station.Place{Dir: dir})
	require.NoError(t, err)
	file := filepath.Join(dir, "store.db")
	for _, place := range []station.Place{
		{Dir: dir}, {Dir: t.TempDir(), Store: "sqlite:" + file}, {Dir: t.TempDir(), Store: file},
	} {
		_, err = open(place)
		require.ErrorContains(t, err, "another coordinator serves the store "+file+": stop it first")
	}
	_, err = station.Lock(dir)
	require.ErrorContains(t, err, "another coordinator serves the store", "a hunt")
	look, err := station.OpenDir(dir, coordinator.Config{})
	require.NoError(t, err, "whoever looks at it does not serve it")
	look.Close()
	require.NoError(t, first.Close())
	second, err := open(station.Place{Dir: dir})
	require.NoError(t, err)
	require.NoError(t, second.Close())
}
