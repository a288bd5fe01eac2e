package fleet_test

import (
	"encoding/json"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A fleet is planned, started, looked at, scaled within its bounds, drained off a node and everywhere, and removed; nothing of it
// is left. Its runners run no trials here.
func TestLifeOfAFleet(t *testing.T) {
	s := newSite(t, parts{
		coordinators: "  count: 2\n",
		runners: "  - {name: plain, min: 1, max: 3, drain: 5s, resources: {disk: 200}}\n" +
			"  - {name: perturbed, min: 0, max: 2, capability: sched_ext, node_class: none}\n",
	})
	_, err := s.try("fleet", "up", s.file)
	require.ErrorContains(t, err, "`misstep fleet package -o DIR` makes it")
	digest := s.run("fleet", "package", "-o", s.packages)
	plan := s.run("fleet", "plan", s.file)
	require.Contains(t, plan, "+ job test-coordinator: new")
	require.Contains(t, plan, "+ group plain: 1 create")

	_, err = s.try("fleet", "up", s.file)
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
	for _, j := range status.Jobs {
		require.Equal(t, digest, j.Package)
		require.Equal(t, j.Wanted, j.Running)
	}
	require.Contains(t, s.run("fleet", "status", s.file), "test-perturbed")
	require.Contains(t, s.run("fleet", "plan", s.file), "= job test-plain: unchanged")

	_, err = s.try("fleet", "scale", s.file, "4", "--group", "plain")
	require.ErrorContains(t, err, "group plain: expected 1 to 3 runners")
	s.run("fleet", "scale", s.file, "3", "--group", "plain")
	require.ElementsMatch(t, []string{"node1", "node2", "node3"}, s.nodes("test-plain"), "spread over the nodes")
	require.Contains(t, s.run("fleet", "plan", s.file), "= job test-plain: unchanged")
	s.run("fleet", "up", s.file)
	require.Len(t, s.nodes("test-plain"), 3, "what scaling chose stays")
	elsewhere := s.changed("{name: plain,", "{name: plain, node_class: none,")
	require.Contains(t, s.run("fleet", "plan", elsewhere), "! group plain: no node for it: of 3, 3 do not meet ${node.class}")
	_, err = s.try("fleet", "scale", s.file, "2", "--group", "perturbed", "--wait", "10s")
	require.ErrorContains(t, err, "gave up waiting after 10s (--wait)")
	require.ErrorContains(t, err, "no node for it: of 3, 3 do not meet ${node.class} = none", "a scheduler needs its own nodes")
	s.run("fleet", "scale", s.file, "0", "--group", "perturbed", "--wait", "1m")
	require.Zero(t, s.status().Jobs[2].Wanted)
	var runners []any
	require.Eventually(t, func() bool {
		list := s.run("runners", "--coordinator", strings.Join(addresses, ","), "--json")
		require.NoError(t, json.Unmarshal([]byte(list), &runners))
		return len(runners) == 3
	}, waiting, polling)

	node := s.nodeOf("test-plain")
	_, err = s.try("fleet", "drain", s.file, "nowhere")
	require.ErrorContains(t, err, `0 nodes are called "nowhere": expected one of node1, node2, node3`)
	s.run("fleet", "drain", s.file, node.Name)
	require.NotContains(t, s.nodes("test-plain"), node.Name)
	require.Empty(t, s.processes(node, "misstep\x00runner"))
	s.run("fleet", "drain", s.file, node.Name, "--undo")

	s.run("fleet", "drain", s.file)
	require.Empty(t, s.nodes("test-plain"))
	require.Len(t, s.status().Coordinators, 2)
	s.run("fleet", "up", s.file)
	require.Len(t, s.nodes("test-plain"), 1, "the minimum")
	s.run("fleet", "down", s.file)
	s.nothingLeft()
	s.run("fleet", "down", s.file) // again
}
