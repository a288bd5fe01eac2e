package station

import (
	"database/sql"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"misstep/internal/testenv"
	misstepv1 "misstep/proto/misstep/v1"
)

// The folder of a station goes up with the program: what an older one wrote is migrated and read. It does not come down: what a
// newer one wrote is refused with the remedy, untouched, and is still there for the newer one.
func TestFolderAcrossVersions(t *testing.T) {
	dir := t.TempDir()
	store := filepath.Join(dir, "store.db")
	old, err := os.ReadFile(filepath.Join(testenv.Root(), "coordinator", "store", "sqlite", "testdata", "version0.db"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(store, old, 0o600))

	campaigns := func() (ids []string) {
		st, err := Embed(dir, HuntTiming(slog.New(slog.DiscardHandler)))
		require.NoError(t, err)
		defer st.Close()
		list, err := st.ListCampaigns(t.Context(), &misstepv1.ListCampaignsRequest{})
		require.NoError(t, err)
		for _, s := range list.GetCampaigns() {
			ids = append(ids, s.GetId())
		}
		return ids
	}
	before := campaigns()
	require.NotEmpty(t, before)

	exec := func(statement string) {
		db, err := sql.Open("sqlite", store)
		require.NoError(t, err)
		_, err = db.Exec(statement)
		require.NoError(t, err)
		require.NoError(t, db.Close())
	}
	exec("INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)")
	_, err = Embed(dir, HuntTiming(slog.New(slog.DiscardHandler)))
	require.ErrorContains(t, err, "its schema has version 9999")
	require.ErrorContains(t, err, "use the newer misstep that wrote it")
	require.ErrorContains(t, err, store)

	exec("DELETE FROM goose_db_version WHERE version_id = 9999")
	require.Equal(t, before, campaigns())
}
