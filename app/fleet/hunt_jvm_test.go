package fleet_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"misstep/internal/testenv"
	"misstep/internal/testenv/nomad"
)

// trials of the hunt, as many as take longer than everything that is done to it.
const trials = 48

// A hunt with real JVMs on three nodes continues while one is drained, a runner and its client are killed, a node is cut off, and
// all get another version. Every trial is recorded once, and nothing is left at the end.
func TestHuntOnAFleet(t *testing.T) {
	home := testenv.Home(t)
	s := newSite(t, parts{coordinators: "  count: 2\n", runners: "  - {name: plain, count: 3, drain: 10s}\n"})
	s.env = append(s.env, "MISSTEP_HOME="+home)
	s.run("fleet", "package", "-o", s.packages)
	s.run("fleet", "up", s.file, "--put-secrets")
	spec := filepath.Join(s.dir, "hunt.yaml")
	require.NoError(t, os.WriteFile(spec, []byte(`
name: fleet
jdks: [jdk17]
workloads:
  - {name: clinit, flag_sets: [c1]}
  - {name: still, repetitions: 6, flag_sets: [default]}
flag_sets:
  - {name: default}
  - {name: c1, flags: ["-XX:TieredStopAtLevel=1", -Xcomp]}
checks: [{name: gst-asgct}]
budget: {trials: 48}
`), 0o600))
	id := s.run("campaign", "submit", spec, "--coordinator", s.addresses())
	s.finished(id, 3)

	t.Log("drain a node")
	node := s.nodeOf("test-plain")
	s.run("fleet", "drain", s.file, node.Name)
	require.NotContains(t, s.nodes("test-plain"), node.Name)
	s.run("fleet", "drain", s.file, node.Name, "--undo")

	t.Log("kill a client and its runner")
	node = s.nodeOf("test-plain")
	s.finished(id, 6)
	node.Kill()
	orphans := s.kill(node, "runner\x00")
	require.NoError(t, node.Start())
	require.Eventually(t, func() bool { return len(s.processes(node, "runner\x00")) > 0 }, waiting, polling, "it is started again")
	require.Eventually(t, func() bool {
		return !slices.ContainsFunc(orphans, alive)
	}, waiting, polling, "nothing that the killed one started lives on")

	t.Log("cut a node off for longer than a lease lasts")
	node = s.nodeOf("test-plain")
	require.NoError(t, node.Cut())
	time.Sleep(12 * time.Second)
	require.NoError(t, node.Restore())

	t.Log("upgrade")
	s.binary = s.build(t, "second")
	digest := s.run("fleet", "package", "-o", s.packages)
	require.Less(t, s.done(id), trials, "the hunt continues")
	s.run("fleet", "upgrade", s.file)
	for _, j := range s.status().Jobs {
		require.Equal(t, digest, j.Package)
		require.Equal(t, j.Wanted, j.Running)
	}

	s.finished(id, trials)
	var recorded []struct {
		Recipe struct{ Seed string }
	}
	require.NoError(t, json.Unmarshal([]byte(s.run("campaign", "trials", id, "--coordinator", s.addresses(), "--json")), &recorded))
	seeds := map[string]bool{}
	for _, r := range recorded {
		seeds[r.Recipe.Seed] = true
	}
	require.Len(t, recorded, trials, "no trial is lost")
	require.Len(t, seeds, trials, "none is recorded twice")
	require.Contains(t, s.run("findings", "list", "--coordinator", s.addresses()), "JDK-8303444")

	require.Greater(t, len(s.runners), 6, "each was replaced, some more than once")
	s.run("fleet", "down", s.file)
	s.nothingLeft()
}

// addresses of the coordinators at this moment.
func (s *site) addresses() string { return strings.Join(s.status().Coordinators, ",") }

// done is how many trials of a campaign have finished; 0 if no coordinator says so just now.
func (s *site) done(id string) (n int) {
	s.t.Helper()
	var status struct{ Outcomes map[string]json.Number }
	out, err := s.try("campaign", "show", id, "--coordinator", s.addresses(), "--json")
	if err != nil {
		return 0
	}
	require.NoError(s.t, json.Unmarshal([]byte(out), &status))
	for _, count := range status.Outcomes {
		one, err := count.Int64()
		require.NoError(s.t, err)
		n += int(one)
	}
	return n
}

// finished waits until so many trials of a campaign have finished.
func (s *site) finished(id string, n int) {
	s.t.Helper()
	began := time.Now()
	for s.done(id) < n {
		if time.Since(began) > 3*waiting {
			s.t.Fatalf("fewer than %d trials: %s", n, s.run("fleet", "status", s.file))
		}
		time.Sleep(polling)
	}
	s.t.Logf("%d trials after %.1fs", n, time.Since(began).Seconds())
}

// kill kills the processes of a node whose command line has the text, and returns the JVMs that they leave.
func (s *site) kill(node *nomad.Client, text string) (left []int) {
	s.t.Helper()
	for _, pid := range s.processes(node, text) {
		require.NoError(s.t, syscall.Kill(pid, syscall.SIGKILL))
	}
	return s.processes(node, "/bin/java")
}
