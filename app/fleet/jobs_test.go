package fleet

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hashicorp/nomad/api"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/deploy/nomad"
	misstepv1 "misstep/proto/misstep/v1"
)

func TestKept(t *testing.T) {
	bounded := &misstepv1.FleetRunners{Min: 1, Max: 3, Count: 2}
	for now, want := range map[int]int{0: 1, 1: 1, 2: 2, 3: 3, 4: 3} {
		require.Equal(t, want, kept(bounded, now), "%d runners of 1 to 3", now)
	}
	require.Equal(t, 2, kept(&misstepv1.FleetRunners{Count: 2}, 5), "a fixed number is the file's")
	require.Zero(t, kept(&misstepv1.FleetRunners{Max: 3, Count: 2}, 0), "drained, and nothing asks for more")
}

// Of a job whose registered version Nomad has given up, `up` makes another version; of one that runs it makes the same, also when
// it had been given up once.
func TestAFailedJobIsStartedAgain(t *testing.T) {
	f, err := Parse([]byte(small), "f.yaml")
	require.NoError(t, err)
	for name, c := range map[string]struct {
		marked     string // before
		deployment *api.Deployment
		stop       bool
		want       string
	}{
		"runs":                {"", &api.Deployment{ID: "d1", JobVersion: 3, Status: api.DeploymentStatusSuccessful}, false, ""},
		"failed":              {"", &api.Deployment{ID: "d1", JobVersion: 3, Status: api.DeploymentStatusFailed}, false, "d1"},
		"a version before":    {"", &api.Deployment{ID: "d1", JobVersion: 2, Status: api.DeploymentStatusFailed}, false, ""},
		"runs again":          {"d0", &api.Deployment{ID: "d1", JobVersion: 3, Status: api.DeploymentStatusSuccessful}, false, "d0"},
		"failed again":        {"d0", &api.Deployment{ID: "d1", JobVersion: 3, Status: api.DeploymentStatusFailed}, false, "d1"},
		"without deployments": {"", nil, false, ""},
		"stopped":             {"d0", &api.Deployment{ID: "d1", JobVersion: 3, Status: api.DeploymentStatusFailed}, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			registered := nomad.Jobs(f, "")[1]
			registered.Version, registered.Stop = new(uint64(3)), &c.stop
			if c.marked != "" {
				registered.Meta[nomad.MetaAgain] = c.marked
			}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var answer any = registered
				if strings.HasSuffix(r.URL.Path, "/deployment") {
					answer = c.deployment
				}
				assert.NoError(t, json.NewEncoder(w).Encode(answer))
			}))
			defer server.Close()
			cluster, err := Open(f, server.URL, func(string, ...any) {})
			require.NoError(t, err)
			defer cluster.Close()
			jobs, _, err := cluster.renewed(t.Context(), "")
			require.NoError(t, err)
			for _, job := range jobs {
				require.Equal(t, c.want, job.Meta[nomad.MetaAgain])
			}
		})
	}
}
