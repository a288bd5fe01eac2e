package share_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"misstep/bundle"
	"misstep/bundle/share"
	"misstep/corpus"
	"misstep/corpus/index"
	"misstep/corpus/localdir"
	misstepv1 "misstep/proto/misstep/v1"
)

// TestSharedFilesTravelWithTheirBundles: two bundles of one large workload bring its file once, and a bundle without it is not
// taken.
func TestSharedFilesTravelWithTheirBundles(t *testing.T) {
	dir, workload, agent := t.TempDir(), t.TempDir(), t.TempDir()
	large := bytes.Repeat([]byte("renaissance!"), bundle.ShareFrom/12+1)
	require.NoError(t, os.WriteFile(filepath.Join(workload, "suite.jar"), large, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(agent, "x"), []byte("x"), 0o600))
	beside, err := localdir.New(filepath.Join(dir, bundle.SharedDir))
	require.NoError(t, err)
	from, to := folder(t), folder(t)
	for _, id := range []string{"F1", "F2"} {
		file, err := os.Create(filepath.Join(dir, id+".zip"))
		require.NoError(t, err)
		require.NoError(t, bundle.Write(t.Context(), file, bundle.Contents{
			Reproducer: &misstepv1.Reproducer{
				Finding: &misstepv1.Finding{Id: id, Signature: &misstepv1.Signature{Kind: "hang"}}, Recipe: &misstepv1.Recipe{},
			},
			Workload: workload, Agent: agent, Shared: beside,
		}))
		require.NoError(t, file.Close())
		entry, added, err := share.Import(t.Context(), from, file.Name(), share.Policy{})
		require.NoError(t, err)
		require.True(t, added)
		require.Equal(t, []index.Blob{{Digest: corpus.DigestBytes(large), Size: int64(len(large))}}, entry.Shared)
		again, err := index.ParseEntry(entry.Text())
		require.NoError(t, err)
		require.Equal(t, entry, again)
	}
	report, err := share.Sync(t.Context(), from, to, share.Policy{}, nil)
	require.NoError(t, err)
	require.Empty(t, report.Refused)
	require.Equal(t, 3, report.Blobs, "two bundles and one shared file")
	missing, err := to.Missing(t.Context(), []corpus.Digest{corpus.DigestBytes(large)})
	require.NoError(t, err)
	require.Empty(t, missing)

	require.NoError(t, os.RemoveAll(filepath.Join(dir, bundle.SharedDir)))
	_, _, err = share.Import(t.Context(), folder(t), filepath.Join(dir, "F1.zip"), share.Policy{})
	require.ErrorAs(t, err, new(*bundle.MissingError))
}
