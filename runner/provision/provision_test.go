package provision

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"misstep/corpus"
	"misstep/corpus/memory"
	"misstep/corpus/tree"
	"misstep/deploy/jdk"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner"
	"misstep/runner/jvm"
	"misstep/workloads"
)

// The methods fit the executor's fields.
var (
	_           = jvm.Executor{JDK: (*Provider)(nil).JDK, Workload: (*Provider)(nil).Workload}
	_ JDKs      = (*jdk.Catalogue)(nil)
	_ Workloads = (*workloads.Catalogue)(nil)
)

// bench has a corpus with one JDK's tree and one workload's, and empty catalogues.
type bench struct {
	*Provider
	store         *counting
	jdk, workload corpus.Digest
}

type counting struct {
	corpus.Store
	opened atomic.Int64
}

func (c *counting) Open(ctx context.Context, digest corpus.Digest) (io.ReadCloser, int64, error) {
	c.opened.Add(1)
	return c.Store.Open(ctx, digest)
}

func newBench(t *testing.T) *bench {
	t.Helper()
	home := t.TempDir()
	store := &counting{Store: memory.New()}
	push := func(files map[string]string) corpus.Digest {
		dir := t.TempDir()
		for name, text := range files {
			require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755))
		}
		m, err := tree.Scan(dir)
		require.NoError(t, err)
		require.NoError(t, tree.Push(t.Context(), store, dir, m))
		return m.Digest()
	}
	return &bench{
		Provider: &Provider{
			JDKs: jdk.Open(home), Workloads: workloads.Open(home), Corpus: store, Cache: filepath.Join(home, "cache", "trees"),
		},
		store: store,
		jdk:   push(map[string]string{"bin/java": "#!/bin/sh\n", "release": "IMPLEMENTOR=\"x\"\nJAVA_VERSION=\"1.8.0_442\"\n"}),
		workload: push(
			map[string]string{
				"workload.yaml": "name: w\ndescription: d\nmain: M\nclasspath: [lib]\nrepetitions: 1\n",
				"lib/M.class":   "x",
			},
		),
	}
}

func TestFetchedOnceByDigest(t *testing.T) {
	b := newBench(t)
	var all sync.WaitGroup
	homes := make([]string, 8)
	for i := range homes {
		all.Go(func() {
			home, feature, err := b.JDK(t.Context(), &misstepv1.Jdk{Name: "eight", Digest: b.jdk.String()})
			if err == nil && feature == 8 {
				homes[i] = home
			}
		})
	}
	all.Wait()
	for _, home := range homes {
		require.Equal(t, homes[0], home)
	}
	info, err := os.Stat(filepath.Join(homes[0], "bin", "java"))
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&0o111, "java can be run")
	require.Equal(t, int64(3), b.store.opened.Load(), "manifest and two files, each once")
}

func TestWorkloadByDigest(t *testing.T) {
	b := newBench(t)
	dir, m, err := b.Workload(t.Context(), &misstepv1.Workload{Name: "w", Digest: b.workload.String()})
	require.NoError(t, err)
	require.Equal(t, "w", m.Name)
	require.FileExists(t, filepath.Join(dir, "lib", "M.class"))
}

func TestTheCatalogueComesFirst(t *testing.T) {
	b := newBench(t)
	b.JDKs = onlyJDK{jdk.Entry{Name: "local", Path: "/local", Feature: 21, Digest: b.jdk}}
	b.Workloads = onlyWorkload{workloads.Entry{Name: "local", Path: t.TempDir(), Digest: b.workload}}
	home, feature, err := b.JDK(t.Context(), &misstepv1.Jdk{Name: "any", Digest: b.jdk.String()})
	require.NoError(t, err)
	require.Equal(t, "/local", home)
	require.Equal(t, 21, feature)
	home, _, err = b.JDK(t.Context(), &misstepv1.Jdk{Name: "local"})
	require.NoError(t, err)
	require.Equal(t, "/local", home)
	_, _, err = b.Workload(t.Context(), &misstepv1.Workload{Name: "other", Digest: b.workload.String()})
	require.ErrorContains(t, err, "workload.yaml", "its folder is empty, so the catalogue's was taken")
	require.Zero(t, b.store.opened.Load())
}

func TestWhatCannotBeHadIsPermanent(t *testing.T) {
	b := newBench(t)
	absent := corpus.DigestBytes([]byte("absent")).String()
	for name, ask := range map[string]func() error{
		"unknown JDK name": func() error { _, _, err := b.JDK(t.Context(), &misstepv1.Jdk{Name: "no-such"}); return err },
		"absent JDK": func() error {
			_, _, err := b.JDK(t.Context(), &misstepv1.Jdk{Name: "x", Digest: absent})
			return err
		},
		"malformed digest": func() error { _, _, err := b.JDK(t.Context(), &misstepv1.Jdk{Digest: "sha256:12"}); return err },
		"not a JDK": func() error {
			_, _, err := b.JDK(t.Context(), &misstepv1.Jdk{Digest: b.workload.String()})
			return err
		},
		"unknown workload name": func() error {
			_, _, err := b.Workload(t.Context(), &misstepv1.Workload{Name: "no-such"})
			return err
		},
		"absent workload": func() error {
			_, _, err := b.Workload(t.Context(), &misstepv1.Workload{Name: "x", Digest: absent})
			return err
		},
		"not a workload": func() error {
			_, _, err := b.Workload(t.Context(), &misstepv1.Workload{Digest: b.jdk.String()})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := ask()
			require.Error(t, err)
			require.True(t, runner.IsPermanent(err), err)
		})
	}
	b = newBench(t) // an empty cache
	b.Corpus = failing{}
	_, _, err := b.JDK(t.Context(), &misstepv1.Jdk{Digest: b.jdk.String()})
	require.ErrorIs(t, err, errAway)
	require.False(t, runner.IsPermanent(err), "the corpus may come back")
	b.Corpus = nil
	_, _, err = b.JDK(t.Context(), &misstepv1.Jdk{Digest: b.jdk.String()})
	require.True(t, runner.IsPermanent(err))
}

func TestFeatureOf(t *testing.T) {
	for text, want := range map[string]int{
		"JAVA_VERSION=\"17.0.15\"\n": 17, "A=b\nJAVA_VERSION=\"25\"\n": 25, "JAVA_VERSION=28-ea": 28,
		"JAVA_VERSION=\"1.8.0_442\"": 8,
		"JAVA_VERSION=\"x\"":         0, "": 0, "JAVA_VERSION=": 0,
	} {
		home := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(home, "release"), []byte(text), 0o600))
		feature, err := FeatureOf(home)
		require.Equal(t, want, feature, text)
		require.Equal(t, want == 0, err != nil, text)
	}
}

type onlyJDK struct{ entry jdk.Entry }

func (o onlyJDK) Get(name string) (jdk.Entry, error) {
	if name != o.entry.Name {
		return jdk.Entry{}, errors.New("unknown")
	}
	return o.entry, nil
}

func (o onlyJDK) ByDigest(digest corpus.Digest) (jdk.Entry, bool) {
	return o.entry, digest == o.entry.Digest
}

type onlyWorkload struct{ entry workloads.Entry }

func (o onlyWorkload) Get(name string) (workloads.Entry, error) {
	if name != o.entry.Name {
		return workloads.Entry{}, errors.New("unknown")
	}
	return o.entry, nil
}

func (o onlyWorkload) ByDigest(digest corpus.Digest) (workloads.Entry, bool) {
	return o.entry, digest == o.entry.Digest
}

var errAway = errors.New("away")

type failing struct{}

func (failing) Missing(context.Context, []corpus.Digest) ([]corpus.Digest, error) {
	return nil, errAway
}

func (failing) Open(context.Context, corpus.Digest) (io.ReadCloser, int64, error) {
	return nil, 0, errAway
}
