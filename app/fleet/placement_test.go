package fleet_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/nomad/api"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"misstep/app/fleet"
	jobs "misstep/deploy/nomad"
)

// Nomad's scheduler follows the rules of placement that jobs are made with: one coordinator a node, one runner with sched_ext a
// node of its class if the kernel is new enough, virtual machines where there is memory for them. Nothing is started.
func TestPlacement(t *testing.T) {
	s := newSite(t, parts{
		coordinators: "  count: 4\n",
		runners: "  - {name: perturbed, count: 2, capability: sched_ext, node_class: node1}\n" +
			"  - {name: machines, count: 3, capability: vm, node_class: node2, resources: {memory: 6000}}\n",
	})
	plan := s.run("fleet", "plan", s.file)
	require.Contains(t, plan, "! group coordinator: no node for it: of 3, 3 do not meet distinct_hosts")
	require.Contains(t, plan, "! group machines: no node for it: of 3, 2 are like nodes that do not meet a constraint, "+
		"1 have too little memory")

	f, err := fleet.Load(s.file)
	require.NoError(t, err)
	perturbed := jobs.Jobs(f, "sha256:"+strings.Repeat("0", 64))[1]
	group := perturbed.TaskGroups[0]
	kernel := func(c *api.Constraint) bool { return c.LTarget == "${attr.kernel.version}" }
	i := slices.IndexFunc(group.Constraints, kernel)
	require.GreaterOrEqual(t, i, 0)
	release := group.Constraints[i].RTarget
	var uname unix.Utsname
	require.NoError(t, unix.Uname(&uname))
	if !regexp.MustCompile(release).MatchString(unix.ByteSliceToString(uname.Release[:])) {
		require.Contains(t, plan, "! group perturbed: no node for it: of 3, 1 do not meet ${attr.kernel.version} regexp "+
			release+", 2 do not meet ${node.class} = node1")
	}
	group.Constraints = slices.Delete(group.Constraints, i, i+1)
	client, err := s.cluster.Client()
	require.NoError(t, err)
	defer client.Close()
	answer, _, err := client.Jobs().Plan(perturbed, true, nil)
	require.NoError(t, err)
	require.Contains(t, jobs.Changes(answer),
		"! group perturbed: no node for it: of 3, 2 are like nodes that do not meet a constraint, 1 do not meet distinct_hosts")
	require.Zero(t, answer.FailedTGAllocs["perturbed"].CoalescedFailures, "one of two has a place")
}
