package hunt_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"misstep/app/executors"
	"misstep/app/local"
	"misstep/app/submission"
	"misstep/coordinator/campaign"
	"misstep/corpus/memory"
	"misstep/deploy/jdk"
	"misstep/internal/faults"
	"misstep/internal/testenv"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/triage"
	"misstep/workloads"
)

// TestHangCampaignFindsAPlantedHang runs a trial of campaigns/hangs.yaml with each of its JDKs and perturbations; the one that is
// called jdk25 here is the other one with walks that hang now and then.
func TestHangCampaignFindsAPlantedHang(t *testing.T) {
	library := filepath.Join(testenv.Root(), "build", "agent-injector", faults.LibraryName)
	if _, err := os.Stat(library); err != nil {
		t.Skipf("no injector, run `make agent`: %v", err)
	}
	workload := filepath.Join(testenv.Root(), "build", "workloads", "hangs")
	if _, err := os.Stat(workload); err != nil {
		t.Skipf("the workload is not built: %v; run make workloads", err)
	}
	plain := testenv.Catalogued(t, "jdk17")
	scratch, remove, err := executors.Scratch("misstep-hangs-")
	require.NoError(t, err)
	t.Cleanup(remove)
	wrapped := filepath.Join(scratch, "wrapped")
	require.NoError(t, faults.Wrap(wrapped, plain.Path, library, faults.Plan{
		Classes: []string{faults.Hang}, Rate: 0.2, Where: "signal", Trials: 1, // all of them, each with a log beside its own files
	}))

	i := local.Installation{Home: filepath.Join(scratch, "home"), AgentDir: testenv.Agent(t)}
	for name, path := range map[string]string{"jdk17": plain.Path, "jdk25": wrapped} { // the campaign's names
		_, err := i.JDKs().Add(t.Context(), name, path, jdk.AddOptions{})
		require.NoError(t, err)
	}
	_, err = i.Workloads().Add(t.Context(), workload, workloads.AddOptions{})
	require.NoError(t, err)
	request, _, err := submission.Load(t.Context(), i, filepath.Join(testenv.Root(), "campaigns", "hangs.yaml"))
	require.NoError(t, err)
	executor, err := executors.Host(i, memory.New(), filepath.Join(scratch, "trials"))
	require.NoError(t, err)
	executor.Sandbox, err = faults.Unconfined()
	require.NoError(t, err)

	for name, recipe := range firstOfEach(t, request) {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // a hang is mostly waited for
			outcome, err := executor.Run(t.Context(), recipe, nil)
			require.NoError(t, err)
			if recipe.GetJdk().GetName() == "jdk17" {
				require.Nil(t, outcome.GetHang(), outcome.GetReason())
				return
			}
			require.Equal(t, misstepv1.OutcomeKind_OUTCOME_KIND_HANG, outcome.GetKind(), outcome.GetReason())
			require.Equal(t, "in-walk", outcome.GetHang().GetCause())
			require.NotEmpty(t, triage.Triage(outcome), "which is a finding")
		})
	}
}

// firstOfEach returns the first recipe of a campaign for each JDK and perturbation whose workload is the part "exits".
func firstOfEach(t *testing.T, request *misstepv1.SubmitCampaignRequest) map[string]*misstepv1.Recipe {
	t.Helper()
	expansion, err := campaign.NewExpansion(request)
	require.NoError(t, err)
	first := map[string]*misstepv1.Recipe{}
	for i := range expansion.Size() {
		r := expansion.Recipe(i, i)
		name := r.GetJdk().GetName() + "/" + r.GetPerturbation().GetStrategy()
		if _, known := first[name]; !known && r.GetWorkload().GetArguments()[0] == "exits" {
			first[name] = proto.CloneOf(r)
		}
	}
	require.Len(t, first, 4)
	return first
}
