package fleet

import (
	"testing"

	"github.com/hashicorp/nomad/api"
	"github.com/stretchr/testify/require"
)

// What runs on a node that Nomad does not reach is not stopped: `down` says so, and fails unless it is to leave nodes alone.
func TestDownNamesNodesOutOfReach(t *testing.T) {
	const except = "the fleet is stopped except on beta (down): what runs there continues until the Nomad client there is back and " +
		"ends it"
	for name, c := range map[string]struct {
		beta       string
		keep       bool
		want, said string
	}{
		"reached":        {api.NodeStatusReady, false, "", ""},
		"reached, kept":  {api.NodeStatusReady, true, "", "the fleet is stopped\n"},
		"out of reach":   {api.NodeStatusDown, false, except + "; /var/tmp/misstep-small may be left on beta (down): run `misstep", ""},
		"left to itself": {api.NodeStatusDown, true, "", except + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			lost := allocation("beta", api.AllocClientStatusLost, 2)
			f := &fake{
				allocations: func() []*api.AllocationListStub {
					return []*api.AllocationListStub{lost, allocation("alpha", api.AllocClientStatusComplete, 2)}
				},
				nodes: []*api.NodeListStub{
					{ID: "alpha", Name: "alpha", Status: api.NodeStatusReady}, {ID: "beta", Name: "beta", Status: c.beta},
				},
			}
			cluster := f.open(t, small)
			f.jobs = registered(cluster, "")
			for _, job := range f.jobs {
				job.SubmitTime = new(int64(1))
				f.versions = append(f.versions, job)
			}
			err := cluster.Down(bounded(t), c.keep)
			if c.want == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.want)
			}
			require.Contains(t, f.said, c.said)
		})
	}
}
