package fleet_test

import (
	"encoding/json"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"misstep/app/fleet"
)

func (s *site) status() (out fleet.Status) {
	s.t.Helper()
	require.NoError(s.t, json.Unmarshal([]byte(s.run("fleet", "status", s.file, "--json")), &out))
	return out
}

// A fleet is planned, started, looked at and removed; nothing of it is left.
func TestUpAndDown(t *testing.T) {
	s := newSite(t, "  - {name: plain, count: 3, resources: {disk: 200}}\n"+
		"  - {name: perturbed, min: 0, max: 2, capability: sched_ext, node_class: none}\n")
	digest := s.run("fleet", "package", "-o", s.web)
	plan := s.run("fleet", "plan", s.file)
	require.Contains(t, plan, "+ job test-coordinator: new")
	require.Contains(t, plan, "+ group plain: 3 create")

	_, err := s.try("fleet", "up", s.file)
	require.ErrorContains(t, err, "variable nomad/jobs/test-coordinator has no AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY")
	addresses := strings.Split(s.run("fleet", "up", s.file, "--put-secrets"), ",")
	require.Len(t, addresses, 2)
	one, _, err := net.SplitHostPort(addresses[0])
	require.NoError(t, err)
	other, _, err := net.SplitHostPort(addresses[1])
	require.NoError(t, err)
	require.NotEqual(t, one, other, "one a node")

	status := s.status()
	require.Equal(t, addresses, status.Coordinators)
	nodes := map[string]bool{}
	for _, j := range status.Jobs {
		require.Equal(t, digest, j.Package)
		require.Equal(t, j.Wanted, j.Running)
		for _, a := range j.Allocations {
			if j.ID == "test-plain" {
				nodes[a.Node] = true
			}
		}
	}
	require.Len(t, nodes, 3, "spread over the nodes")
	require.Contains(t, s.run("fleet", "status", s.file), "test-perturbed")
	require.Contains(t, s.run("fleet", "plan", s.file), "= job test-plain: unchanged")
	var runners []any
	require.Eventually(t, func() bool {
		list := s.run("runners", "--coordinator", strings.Join(addresses, ","), "--json")
		require.NoError(t, json.Unmarshal([]byte(list), &runners))
		return len(runners) == 3
	}, waiting, polling)

	s.run("fleet", "down", s.file)
	s.nothingLeft()
	s.run("fleet", "down", s.file) // again
}
