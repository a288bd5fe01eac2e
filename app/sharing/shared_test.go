package sharing

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"misstep/bundle"
	"misstep/bundle/share"
	"misstep/corpus/localdir"
	misstepv1 "misstep/proto/misstep/v1"
)

// TestExportAndSweepKnowSharedFiles: a shared file stays in a corpus as long as a bundle refers to it, and is
// exported with the bundle.
func TestExportAndSweepKnowSharedFiles(t *testing.T) {
	dir, workload, agent := t.TempDir(), t.TempDir(), t.TempDir()
	large := bytes.Repeat([]byte("renaissance!"), bundle.ShareFrom/12+1)
	require.NoError(t, os.WriteFile(filepath.Join(workload, "suite.jar"), large, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(agent, "x"), []byte("x"), 0o600))
	beside, err := localdir.New(filepath.Join(dir, bundle.SharedDir))
	require.NoError(t, err)
	file, err := os.Create(filepath.Join(dir, "F1.zip"))
	require.NoError(t, err)
	require.NoError(t, bundle.Write(t.Context(), file, bundle.Contents{
		Reproducer: &misstepv1.Reproducer{
			Finding: &misstepv1.Finding{Id: "F1", Signature: &misstepv1.Signature{Kind: "hang"}}, Recipe: &misstepv1.Recipe{},
		},
		Workload: workload, Agent: agent, Shared: beside,
	}))
	require.NoError(t, file.Close())

	folder := filepath.Join(t.TempDir(), "corpus")
	own, done, err := Open(t.Context(), Location{Text: folder})
	require.NoError(t, err)
	defer done()
	_, _, err = share.Import(t.Context(), own, file.Name(), share.Policy{})
	require.NoError(t, err)
	old := time.Now().Add(-30 * 24 * time.Hour)
	require.NoError(t, filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			err = os.Chtimes(path, old, old)
		}
		return err
	}))
	swept, err := Sweep(t.Context(), folder, "", 2*time.Hour, true)
	require.NoError(t, err)
	require.Zero(t, swept.Removed)

	out := filepath.Join(t.TempDir(), "out")
	var written []string
	for range 2 { // the second time all is there
		require.NoError(t, Export(t.Context(), own, out, nil, func(path string) { written = append(written, path) }))
	}
	b, err := bundle.Open(written[1])
	require.NoError(t, err)
	defer b.Close()
	require.NoError(t, b.VerifyShared(t.Context(), b.Shared()[0]))
}
