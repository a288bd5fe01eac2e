package workloads_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/catalogue"
	"misstep/corpus"
	"misstep/corpus/tree"
	"misstep/workloads"
)

// built creates the folder of a workload whose jar contains text.
func built(t *testing.T, name, text string) string {
	t.Helper()
	dir := folder(t, "name: "+name+"\ndescription: what it does\njar: lib/a.jar\nmin_feature: 17\nneeds_compiler: true\n"+
		"calibration: JDK-1\n")
	write(t, filepath.Join(dir, "lib", "a.jar"), text)
	return dir
}

func TestAddCopiesAndGetFinds(t *testing.T) {
	home := t.TempDir()
	source := built(t, "one", "jar")
	added, err := workloads.Open(home).Add(t.Context(), source, workloads.AddOptions{})
	require.NoError(t, err)
	got, err := workloads.Open(home).Get("one")
	require.NoError(t, err)
	assert.Equal(t, added, got)
	assert.Equal(t, "what it does", got.Description)
	assert.Equal(t, 17, got.MinFeature)
	assert.True(t, got.NeedsCompiler)
	assert.Equal(t, "JDK-1", got.Calibration)
	assert.Equal(t, source, got.Source)

	// The digest is that of the copied tree, and of the source's.
	for _, dir := range []string{got.Path, source} {
		m, err := tree.Scan(dir)
		require.NoError(t, err)
		assert.Equal(t, got.Digest, m.Digest())
	}
	byDigest, ok := workloads.Open(home).ByDigest(got.Digest)
	assert.True(t, ok)
	assert.Equal(t, got, byDigest)

	// The copy is independent of the source.
	write(t, filepath.Join(source, "lib", "a.jar"), "another")
	_, err = workloads.Load(got.Path)
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(got.Path, "lib", "a.jar"))
	require.NoError(t, err)
	assert.Equal(t, "jar", string(text))
}

// A home that was moved has entries whose files are where it was: that is said, they can be removed, and added again.
func TestMovedHome(t *testing.T) {
	home := t.TempDir()
	before, after := filepath.Join(home, "before"), filepath.Join(home, "after")
	source := built(t, "one", "jar")
	added, err := workloads.Open(before).Add(t.Context(), source, workloads.AddOptions{})
	require.NoError(t, err)
	require.NoError(t, os.Rename(before, after))
	c := workloads.Open(after)
	_, err = c.Get("one")
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "workload one: its files are missing")
	require.NotErrorIs(t, err, catalogue.ErrUnknown)
	_, found := c.ByDigest(added.Digest)
	assert.False(t, found)

	again, err := c.Add(t.Context(), source, workloads.AddOptions{})
	require.NoError(t, err)
	got, err := c.Get("one")
	require.NoError(t, err)
	assert.Equal(t, again, got)
	require.NoError(t, os.RemoveAll(got.Path))
	require.NoError(t, c.Remove("one"))
	_, err = c.Get("one")
	require.ErrorIs(t, err, catalogue.ErrUnknown)
}

func TestAddingAgainReplaces(t *testing.T) {
	c := workloads.Open(t.TempDir())
	first, err := c.Add(t.Context(), built(t, "one", "old"), workloads.AddOptions{})
	require.NoError(t, err)
	same, err := c.Add(t.Context(), built(t, "one", "old"), workloads.AddOptions{})
	require.NoError(t, err)
	assert.Equal(t, first.Path, same.Path)
	assert.DirExists(t, first.Path)
	second, err := c.Add(t.Context(), built(t, "one", "new"), workloads.AddOptions{})
	require.NoError(t, err)
	assert.NotEqual(t, first.Digest, second.Digest)
	assert.NoDirExists(t, first.Path)
	assert.DirExists(t, second.Path)
	entries, err := c.List()
	require.NoError(t, err)
	assert.Equal(t, []workloads.Entry{second}, entries)
}

func TestAddAll(t *testing.T) {
	home, all := t.TempDir(), t.TempDir()
	for _, name := range []string{"two", "one"} {
		require.NoError(t, os.Rename(built(t, name, name), filepath.Join(all, name)))
	}
	write(t, filepath.Join(all, "README.md"), "not a workload")
	entries, err := workloads.Open(home).AddAll(t.Context(), all)
	require.NoError(t, err)
	require.Len(t, entries, 2)
	assert.Equal(t, "one", entries[0].Name)
	entries, err = workloads.Open(home).AddAll(t.Context(), filepath.Join(all, "two"))
	require.NoError(t, err)
	assert.Len(t, entries, 1)
	_, err = workloads.Open(home).AddAll(t.Context(), t.TempDir())
	require.ErrorContains(t, err, "build them with")
}

func TestRemove(t *testing.T) {
	home := t.TempDir()
	c := workloads.Open(home)
	entry, err := c.Add(t.Context(), built(t, "one", "jar"), workloads.AddOptions{})
	require.NoError(t, err)
	require.NoError(t, c.Remove("one"))
	assert.NoDirExists(t, entry.Path)
	require.ErrorIs(t, c.Remove("one"), catalogue.ErrUnknown)
	require.ErrorIs(t, c.Remove("renaissance"), catalogue.ErrUnknown)
	left, err := os.ReadDir(filepath.Join(home, "workloads"))
	require.NoError(t, err)
	assert.Empty(t, left)
}

// A release's workloads are found behind those of the home, at a path of the release, and nothing writes into its folder.
func TestWorkloadsOfARelease(t *testing.T) {
	release, home := t.TempDir(), t.TempDir()
	source := built(t, "one", "jar")
	m, err := tree.Scan(source)
	require.NoError(t, err)
	require.NoError(t, os.CopyFS(filepath.Join(release, "one"), os.DirFS(source)))
	write(t, filepath.Join(release, "one.json"), `{"name": "one", "path": "one", "digest": "`+m.Digest().String()+`"}`)

	c := workloads.OpenWith(home, release)
	got, err := c.Get("one")
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(release, "one"), got.Path)
	byDigest, ok := c.ByDigest(m.Digest())
	assert.True(t, ok)
	assert.Equal(t, got, byDigest)
	require.ErrorContains(t, c.Remove("one"), "is part of this release")
	_, err = c.Get("two")
	require.ErrorIs(t, err, catalogue.ErrUnknown)

	own, err := c.Add(t.Context(), built(t, "one", "another"), workloads.AddOptions{})
	require.NoError(t, err)
	two, err := c.Add(t.Context(), built(t, "two", "jar"), workloads.AddOptions{})
	require.NoError(t, err)
	entries, err := c.List()
	require.NoError(t, err)
	assert.Equal(t, []workloads.Entry{own, two}, entries)
	require.NoError(t, c.Remove("one"))
	again, err := c.Get("one")
	require.NoError(t, err)
	assert.Equal(t, got, again)
}

func TestAddRefuses(t *testing.T) {
	c := workloads.Open(t.TempDir())
	_, err := c.Add(t.Context(), t.TempDir(), workloads.AddOptions{})
	require.ErrorContains(t, err, "has no workload.yaml")
	_, err = c.Add(t.Context(), built(t, "one", "jar"), workloads.AddOptions{Name: "two"})
	require.ErrorContains(t, err, `calls it "one", not "two"`)
	_, err = c.Add(t.Context(), built(t, "renaissance", "jar"), workloads.AddOptions{})
	require.ErrorContains(t, err, "workload add renaissance --jar")
	entries, err := c.List()
	require.NoError(t, err)
	assert.Empty(t, entries)
}

func TestGetRefuses(t *testing.T) {
	home := t.TempDir()
	c := workloads.Open(home)
	for _, name := range []string{"one", "", "../one", "a/b", "renaissance/../one", "renaissance/x"} {
		_, err := c.Get(name)
		require.ErrorIs(t, err, catalogue.ErrUnknown, name)
	}
	entry, err := c.Add(t.Context(), built(t, "one", "jar"), workloads.AddOptions{})
	require.NoError(t, err)
	write(t, filepath.Join(home, "workloads", "two.json"), "{")
	_, err = c.Get("two")
	require.ErrorContains(t, err, "two.json is damaged; remove it and add the workload again")
	// An entry that names a folder outside of the catalogue must not let Remove touch it.
	outside := filepath.Join(t.TempDir(), "kept@1")
	write(t, filepath.Join(outside, "file"), "kept")
	write(t, filepath.Join(home, "workloads", "two.json"),
		`{"name":"two","path":"`+outside+`","digest":"`+entry.Digest.String()+`"}`)
	require.NoError(t, c.Remove("two"))
	assert.FileExists(t, filepath.Join(outside, "file"))
}

// The files in testdata/home were written before package catalogue stored the entries.
func TestOldEntriesAreReadAndWrittenUnchanged(t *testing.T) {
	old := filepath.Join("testdata", "home")
	c := workloads.Open(old)
	entries, err := c.List()
	require.NoError(t, err)
	require.Len(t, entries, 2)
	digest, err := corpus.ParseDigest("sha256:0c6bb02a307c2393ff9994749c74ddb3419c869050c05ccbeabf555d83421a5e")
	require.NoError(t, err)
	assert.Equal(t, workloads.Entry{
		Name: "h2", Path: "/var/lib/misstep/workloads/h2@0c6bb02a307c2393", Digest: digest, Harness: workloads.HarnessPlain,
		MinFeature:  17,
		Description: "H2 runs transfers between accounts in concurrent transactions; balances must agree with the journal",
		Source:      "/src/misstep/build/workloads/h2",
	}, entries[0])
	assert.Equal(t, "renaissance/als", entries[1].Name)
	assert.Equal(t, workloads.HarnessRenaissance, entries[1].Harness)
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(old, "workloads", e.Name+".json"))
		require.NoError(t, err)
		again, err := json.MarshalIndent(e, "", "  ")
		require.NoError(t, err)
		assert.Equal(t, string(text), string(again)+"\n")
	}
}
