package station_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/app/retention"
	"misstep/app/station"
	"misstep/bundle/share"
	"misstep/coordinator"
	"misstep/coordinator/store"
	"misstep/coordinator/store/stores"
	"misstep/corpus"
	"misstep/internal/testenv/pgtest"
	misstepv1 "misstep/proto/misstep/v1"
)

// neededBlob stores a finding whose evidence is old, and returns that.
func neededBlob(t *testing.T, place station.Place) corpus.Digest {
	t.Helper()
	st, stop := serve(t, place)
	d, _, err := st.Blobs.Put(t.Context(), strings.NewReader("evidence"), corpus.Digest{})
	require.NoError(t, err)
	stop()
	url := place.Store
	if url == "" {
		url = place.Dir
	}
	s, err := stores.Open(t.Context(), url)
	require.NoError(t, err)
	require.NoError(t, s.Update(t.Context(), func(tx store.Tx) error {
		return tx.PutFinding(&store.Finding{Proto: &misstepv1.Finding{
			Id: "F1", Example: &misstepv1.Outcome{Evidence: []*misstepv1.Evidence{{Name: "x", Digest: d.String()}}},
		}})
	}))
	require.NoError(t, s.Close())
	if place.Blobs == "" {
		old := time.Now().Add(-30 * 24 * time.Hour)
		require.NoError(t, os.Chtimes(blobPath(place.Dir, d), old, old))
	}
	return d
}

func blobPath(dir string, d corpus.Digest) string {
	return filepath.Join(station.BlobsPath(dir), d.Hex()[:2], d.Hex())
}

func open(t *testing.T, place station.Place) error {
	t.Helper()
	c, err := station.Open(t.Context(), place, coordinator.Config{}, share.Policy{})
	if err == nil {
		require.NoError(t, c.Close())
	}
	return err
}

// vacuum removes what is older than two hours and not needed.
func vacuum(t *testing.T, dir, url string) (removed int, err error) {
	t.Helper()
	k, done, err := station.Keeper(t.Context(), dir, url, retention.Plan{Grace: 2 * time.Hour}, slog.New(slog.DiscardHandler))
	if err != nil {
		return 0, err
	}
	defer func() { require.NoError(t, done()) }()
	_, swept, err := k.Round(t.Context(), true)
	return swept.Removed, err
}

// Under a store that knows nothing of the blobs in a folder, neither a coordinator nor a vacuum begins, whichever notes were
// removed.
func TestBlobsOfAnotherStoreAreLeftAlone(t *testing.T) {
	other := "sqlite:" + filepath.Join(t.TempDir(), "other.db")
	for _, url := range []string{"", "sqlite:" + filepath.Join(t.TempDir(), "own.db")} {
		dir := t.TempDir()
		needed := neededBlob(t, station.Place{Dir: dir, Store: url})
		_ = os.Remove(filepath.Join(dir, "store.url"))
		const want = "give the --store that they belong to"
		err := open(t, station.Place{Dir: dir, Store: other})
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "belong to the store ")
		require.ErrorContains(t, err, "--adopt-blobs")
		_, err = vacuum(t, dir, other)
		require.ErrorContains(t, err, want)
		if url != "" { // a new store in the folder is not that of the blobs, either
			require.ErrorContains(t, open(t, station.Place{Dir: dir}), want)
			require.NoError(t, os.Remove(filepath.Join(dir, "store.db")))
		}
		// Folders of earlier versions have no note.
		require.NoError(t, os.Remove(filepath.Join(station.BlobsPath(dir), "owner.txt")))
		err = open(t, station.Place{Dir: dir, Store: other})
		require.ErrorContains(t, err, "are of a store that is not known")
		_, err = vacuum(t, dir, other)
		require.ErrorContains(t, err, want)
		assert.FileExists(t, blobPath(dir, needed))

		require.NoError(t, open(t, station.Place{Dir: dir, Store: url, Adopt: url != ""}))
		removed, err := vacuum(t, dir, url)
		require.NoError(t, err)
		assert.Zero(t, removed)
		assert.FileExists(t, blobPath(dir, needed))
		// Who says that the store is gone gets what was asked for.
		require.NoError(t, open(t, station.Place{Dir: dir, Store: other, Adopt: true}))
		removed, err = vacuum(t, dir, other)
		require.NoError(t, err)
		assert.Equal(t, 1, removed)
	}
}

// The same holds for a bucket, and for a coordinator that runs while another store adopts its blobs.
func TestABucketBelongsToOneStore(t *testing.T) {
	bucket := location(t)
	dir := t.TempDir()
	_ = neededBlob(t, station.Place{Dir: dir, Blobs: bucket})
	require.ErrorContains(t, open(t, station.Place{Dir: t.TempDir(), Blobs: bucket}), "belong to the store ")
	require.NoError(t, open(t, station.Place{Dir: dir, Blobs: bucket}))

	k, done, err := station.Keeper(t.Context(), dir, "", retention.Plan{Grace: 2 * time.Hour}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer func() { require.NoError(t, done()) }()
	adopting := t.TempDir()
	require.NoError(t, open(t, station.Place{Dir: adopting, Blobs: bucket, Adopt: true}))
	_, _, err = k.Round(t.Context(), true)
	require.ErrorContains(t, err, "belong to the store ")
	require.ErrorContains(t, err, adopting)
}

// A copy of a store is the store: the blobs of the folder are those of the database to which it was copied, without a note too.
func TestACopiedStoreKeepsItsBlobs(t *testing.T) {
	dir, copied := t.TempDir(), filepath.Join(t.TempDir(), "copy.db")
	neededBlob(t, station.Place{Dir: dir})
	require.NoError(t, os.Remove(filepath.Join(station.BlobsPath(dir), "owner.txt")))
	require.NoError(t, stores.Snapshot(t.Context(), dir, copied))
	require.NoError(t, open(t, station.Place{Dir: dir, Store: "sqlite:" + copied}))
	removed, err := vacuum(t, dir, "sqlite:"+copied)
	require.NoError(t, err)
	assert.Zero(t, removed)
}

// A folder whose store is elsewhere gets no second one.
func TestNoSecondStore(t *testing.T) {
	dir, url := t.TempDir(), "sqlite:"+filepath.Join(t.TempDir(), "x.db")
	require.NoError(t, open(t, station.Place{Dir: dir, Store: url}))
	want := "the store of " + dir + " is " + url + ", not in the folder: give it with --store"
	require.ErrorContains(t, open(t, station.Place{Dir: dir}), want)
	_, err := station.OpenDir(dir, coordinator.Config{})
	require.ErrorContains(t, err, want)
	assert.NoFileExists(t, filepath.Join(dir, "store.db"))
	require.ErrorContains(t, open(t, station.Place{Dir: t.TempDir(), Store: "memory:"}), "forgets which blobs are needed")
}

// Several coordinators that start at once on one store and one place agree.
func TestCoordinatorsClaimTogether(t *testing.T) {
	dir, shared := t.TempDir(), pgtest.Database(t)
	errs := make(chan error)
	for range 4 {
		go func() {
			c, err := station.Open(t.Context(), station.Place{Dir: dir, Store: shared}, coordinator.Config{}, share.Policy{})
			if err == nil {
				err = c.Close()
			}
			errs <- err
		}()
	}
	for range 4 {
		require.NoError(t, <-errs)
	}
}
