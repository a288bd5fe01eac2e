package fleet_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"
	"github.com/stretchr/testify/require"

	jobs "misstep/deploy/nomad"
)

// A package that is damaged changes nothing. One that does not run is replaced by the one before, and does not keep `down` from
// leaving nothing. The only coordinator, which cannot move, is drained after the runners beside it, if at all.
func TestMishaps(t *testing.T) {
	s := newSite(t, parts{
		coordinators: "  node: node1\n",
		runners:      "  - {name: plain, count: 1, drain: 5s, node_class: node1, resources: {disk: 200}}\n",
	})
	good := s.run("fleet", "package", "-o", s.packages)
	s.run("fleet", "up", s.file, "--put-secrets")
	packages := func() (all []string) {
		for _, j := range s.status().Jobs {
			all = append(all, j.Package)
		}
		return all
	}

	bad := s.broken()
	file := filepath.Join(s.packages, jobs.PackageName(bad))
	whole, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, whole[1:], 0o600))
	_, err = s.try("fleet", "upgrade", s.file, "--package", bad)
	require.ErrorContains(t, err, "is damaged: its digest is sha256:")
	require.NotContains(t, err.Error(), "->", "nothing changes")
	require.NoError(t, os.WriteFile(file, whole, 0o600))

	_, err = s.try("fleet", "upgrade", s.file, "--package", bad)
	require.ErrorContains(t, err, "test-coordinator on node1: Terminated: Exit Code: 3")
	require.ErrorContains(t, err, "the new version fails: on node1: Terminated: Exit Code: 3; see `nomad alloc logs -stderr ")
	require.ErrorContains(t, err, "the version before runs again")
	require.Equal(t, []string{good, good}, packages())
	require.Len(t, s.status().Coordinators, 1)

	_, err = s.try("fleet", "drain", s.file, "node1")
	require.ErrorContains(t, err, "node node1 has the fleet's only coordinator")
	require.Len(t, s.nodes("test-plain"), 1)
	s.run("fleet", "drain", s.file, "node1", "--stop-coordinator")
	require.Empty(t, s.nodes("test-plain"))
	require.True(t, s.ended("test-plain").Before(s.ended("test-coordinator")), "a runner hands its leases back")
	s.run("fleet", "drain", s.file, "node1", "--undo")
	require.Eventually(t, func() bool { return len(s.status().Coordinators) == 1 }, waiting, polling)

	began := time.Now()
	_, err = s.try("fleet", "upgrade", s.file, "--package", bad, "--wait", "4s")
	require.ErrorContains(t, err, "gave up waiting after 4s (--wait)")
	require.ErrorContains(t, err, "Nomad tries until")
	require.Less(t, time.Since(began), time.Minute)
	require.Equal(t, []string{bad, good}, packages())
	file = filepath.Join(s.packages, jobs.PackageName(good))
	require.NoError(t, os.Rename(file, file+".away"))
	_, err = s.try("fleet", "down", s.file)
	require.ErrorContains(t, err, s.work+" may be left on node1, node2, node3 (Failed Artifact Download: ")
	require.NoError(t, os.Rename(file+".away", file))
	s.run("fleet", "down", s.file)
	s.nothingLeft()
}

// broken writes a package whose program fails, and returns its digest.
func (s *site) broken() string {
	s.t.Helper()
	var text bytes.Buffer
	compressed := gzip.NewWriter(&text)
	out := tar.NewWriter(compressed)
	program := "#!/bin/sh\nexit 3\n"
	require.NoError(s.t, out.WriteHeader(&tar.Header{Name: "misstep", Mode: 0o755, Size: int64(len(program))}))
	_, err := out.Write([]byte(program))
	require.NoError(s.t, err)
	require.NoError(s.t, out.Close())
	require.NoError(s.t, compressed.Close())
	sum := sha256.Sum256(text.Bytes())
	digest := "sha256:" + hex.EncodeToString(sum[:])
	require.NoError(s.t, os.WriteFile(filepath.Join(s.packages, jobs.PackageName(digest)), text.Bytes(), 0o600))
	return digest
}

// ended is when the task of a job ended last.
func (s *site) ended(job string) (last time.Time) {
	s.t.Helper()
	client, err := s.cluster.Client()
	require.NoError(s.t, err)
	defer client.Close()
	all, _, err := client.Jobs().Allocations(job, true, nil)
	require.NoError(s.t, err)
	for _, a := range all {
		if state := a.TaskStates[jobs.TaskName]; a.ClientStatus == api.AllocClientStatusComplete && state.FinishedAt.After(last) {
			last = state.FinishedAt
		}
	}
	require.NotZero(s.t, last, "nothing of %s has ended", job)
	return last
}
