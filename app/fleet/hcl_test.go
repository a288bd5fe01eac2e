package fleet_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/hashicorp/nomad/api"
	"github.com/stretchr/testify/require"

	"misstep/app/fleet"
	nomadjobs "misstep/deploy/nomad"
)

// What Nomad reads in the HCL of a job is the job.
func TestNomadReadsTheHCL(t *testing.T) {
	client, err := stand(t).cluster.Client()
	require.NoError(t, err)
	defer client.Close()
	f, err := fleet.Load("../../deploy/nomad/testdata/large.yaml")
	require.NoError(t, err)
	_, err = client.Namespaces().Register(&api.Namespace{Name: f.GetNamespace()}, nil)
	require.NoError(t, err)
	for _, job := range nomadjobs.Jobs(f, "sha256:"+strings.Repeat("5", 64)) {
		text, err := nomadjobs.HCL(job)
		require.NoError(t, err)
		read, err := client.Jobs().ParseHCL(text, false)
		require.NoError(t, err, text)
		read.Canonicalize() // here, as servers of other versions fill in other fields
		job.Canonicalize()
		want, err := json.Marshal(job)
		require.NoError(t, err)
		got, err := json.Marshal(read)
		require.NoError(t, err)
		require.JSONEq(t, string(want), string(got))
		validated, _, err := client.Jobs().Validate(job, nil)
		require.NoError(t, err)
		require.Empty(t, validated.ValidationErrors)
	}
}
