package pki_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"misstep/app/pki"
)

const year = 8760 * time.Hour

func TestFilesAreForTheirOwnersAndKeysStay(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pki")
	a, err := pki.Init(t.Context(), dir, "test", 10*year, time.Now)
	require.NoError(t, err)
	_, err = pki.Init(t.Context(), dir, "test", 10*year, time.Now)
	require.ErrorContains(t, err, "has an authority already")
	issued, err := a.Issue(t.Context(), pki.Request{Kind: pki.Runner, Names: []string{"a1"}, Lifetime: year})
	require.NoError(t, err)
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := d.Info()
		require.NoError(t, err)
		switch {
		case d.IsDir():
			assert.Equal(t, fs.FileMode(0o700), info.Mode().Perm(), path)
		case filepath.Ext(path) == ".key":
			assert.Equal(t, fs.FileMode(0o600), info.Mode().Perm(), path)
		}
		assert.NotContains(t, d.Name(), ".new", "nothing temporary is left")
		return nil
	}))
	key := filepath.Join(issued.Dir, pki.KeyFile)
	before, err := os.ReadFile(key)
	require.NoError(t, err)
	_, err = a.Issue(t.Context(), pki.Request{Kind: pki.Runner, Names: []string{"a1"}, Lifetime: year})
	require.ErrorContains(t, err, "no key is overwritten: add --renew")
	renewed, err := a.Issue(t.Context(), pki.Request{Kind: pki.Runner, Names: []string{"a1"}, Lifetime: year, Renew: true})
	require.NoError(t, err)
	after, err := os.ReadFile(key)
	require.NoError(t, err)
	assert.Equal(t, before, after)
	assert.Equal(t, issued.PublicKey, renewed.PublicKey)
	assert.NotEqual(t, issued.SerialNumber, renewed.SerialNumber)
}

// An authority that was killed between its key and its certificate is finished by the next call, with the same key.
func TestInitGoesOnWhereItWasKilled(t *testing.T) {
	dir := t.TempDir()
	_, err := pki.Init(t.Context(), dir, "test", year, time.Now)
	require.NoError(t, err)
	key, err := os.ReadFile(filepath.Join(dir, "ca.key"))
	require.NoError(t, err)
	require.NoError(t, os.Remove(filepath.Join(dir, pki.CAFile)))
	_, err = pki.Open(dir)
	require.ErrorContains(t, err, "make one with `misstep pki init`")
	a, err := pki.Init(t.Context(), dir, "test", year, time.Now)
	require.NoError(t, err)
	again, err := os.ReadFile(filepath.Join(dir, "ca.key"))
	require.NoError(t, err)
	assert.Equal(t, key, again)
	_, err = a.Issue(t.Context(), pki.Request{Kind: pki.Coordinator, Names: []string{"::1", "*.example.org"}, Lifetime: time.Hour})
	require.NoError(t, err)
}

func TestNames(t *testing.T) {
	a, err := pki.Init(t.Context(), t.TempDir(), "test", year, time.Now)
	require.NoError(t, err)
	for _, r := range []pki.Request{
		{Kind: pki.Runner},
		{Kind: pki.Runner, Names: []string{""}},
		{Kind: pki.Runner, Names: []string{"a", "b"}},
		{Kind: pki.Runner, Names: []string{"../a"}},
		{Kind: pki.Runner, Names: []string{"*"}},
		{Kind: pki.Runner, Names: []string{"*.a"}},
		{Kind: pki.Coordinator, Names: []string{"h:7867"}},
		{Kind: pki.Coordinator, Names: []string{"https://h"}},
		{Kind: pki.Coordinator, Names: []string{"10.0.0.1", "a b"}},
	} {
		r.Lifetime = time.Hour
		_, err := a.Issue(t.Context(), r)
		require.Error(t, err, "%v", r)
	}
	_, err = a.Issue(t.Context(), pki.Request{Kind: pki.Runner, Names: []string{"a"}, Lifetime: 2 * year})
	require.ErrorContains(t, err, "choose a shorter --lifetime")
	all, err := a.List()
	require.NoError(t, err)
	assert.Empty(t, all, "what failed is not listed")
}

// Processes that issue and revoke at the same time lose nothing of each other's.
func TestCallsExcludeEachOther(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	_, err := pki.Init(t.Context(), dir, "test", year, time.Now)
	require.NoError(t, err)
	names := []string{"a", "b", "c", "d", "e", "f"}
	change := func(name string) error {
		a, err := pki.Open(dir)
		if err != nil {
			return err
		}
		for _, kind := range []pki.Kind{pki.Runner, pki.Coordinator} {
			_, err := a.Issue(t.Context(), pki.Request{Kind: kind, Names: []string{kindly(kind, name)}, Lifetime: time.Hour})
			if err != nil {
				return err
			}
		}
		done, err := a.Revoke(t.Context(), name)
		if err == nil && len(done) != 1 {
			err = fmt.Errorf("revoked %v", done)
		}
		return err
	}
	var running errgroup.Group
	for _, name := range names {
		running.Go(func() error { return change(name) })
	}
	require.NoError(t, running.Wait())
	a, err := pki.Open(dir)
	require.NoError(t, err)
	all, err := a.List()
	require.NoError(t, err)
	states := map[string]int{}
	for _, e := range all {
		states[string(e.Kind)+" "+e.State(now)]++
	}
	assert.Equal(t, map[string]int{"runner revoked": len(names), "coordinator valid": len(names)}, states)
	_, err = a.Revoke(t.Context(), "a")
	require.ErrorContains(t, err, "no valid certificate")
	last := all[slices.IndexFunc(all, func(e pki.Entry) bool { return e.Kind == pki.Coordinator })]
	assert.Equal(t, "expired", last.State(now.Add(2*time.Hour)))
}

func kindly(kind pki.Kind, name string) string {
	if kind == pki.Coordinator {
		return name + ".example.org"
	}
	return name
}
