package fleet

import (
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"
	"github.com/stretchr/testify/require"

	"misstep/deploy/nomad"
)

func event(at int64, kind, message string) *api.TaskEvent {
	return &api.TaskEvent{Time: at, Type: kind, DisplayMessage: message}
}

func allocation(node, status string, version uint64, events ...*api.TaskEvent) *api.AllocationListStub {
	return &api.AllocationListStub{
		ID: "0123456789abcdef", JobID: "f-plain", NodeID: node, NodeName: node, ClientStatus: status, JobVersion: version,
		TaskStates: map[string]*api.TaskState{nomad.TaskName: {Events: events, Failed: status == api.AllocClientStatusFailed}},
	}
}

// Each reason of a node is said once, that of the version that is rolled out only.
func TestFailures(t *testing.T) {
	end := event(6, api.TaskNotRestarting, "Policy allows no restarts")
	end.FailsTask = true
	all := []*api.AllocationListStub{
		allocation("b", api.AllocClientStatusPending, 2, event(1, api.TaskReceived, "Task received by client"),
			event(5, api.TaskArtifactDownloadFailed, "404")),
		allocation("a", api.AllocClientStatusFailed, 2, event(2, api.TaskTerminated, "Exit Code: 1"),
			event(4, api.TaskTerminated, "Exit Code: 1"), end),
		allocation("a", api.AllocClientStatusComplete, 1, event(3, api.TaskTerminated, "Exit Code: 0")),
		{JobVersion: 2},
	}
	lines := func(before map[string]int64) (lines []string) {
		for _, f := range failures(all, 2, before) {
			require.Equal(t, strings.Contains(f.line, "Terminated"), f.ended)
			lines = append(lines, f.line)
		}
		return lines
	}
	require.Equal(t, []string{
		"f-plain on a: Terminated: Exit Code: 1", "f-plain on b: Failed Artifact Download: 404",
	}, lines(nil))
	all[0].ID, all[0].CreateIndex, all[1].CreateIndex = "kept", 7, 9
	require.Equal(t, []string{"f-plain on a: Terminated: Exit Code: 1"}, lines(lastEvents(all, 8)), "b: earlier")
	require.Equal(t, "on a: Terminated: Exit Code: 1", givenUp(all, 2), "nothing ran whose log could be seen")
	all[1].TaskStates[nomad.TaskName].StartedAt = time.Unix(1, 0)
	require.Equal(t, "on a: Terminated: Exit Code: 1; see `nomad alloc logs -stderr 01234567`", givenUp(all, 2))
	require.Empty(t, givenUp(all, 1))
	require.Empty(t, givenUp(all[:1], 2), "it is being tried again")
	late := allocation("c", api.AllocClientStatusRunning, 3, event(7, api.TaskStarted, "Task started by client"))
	late.DeploymentStatus = &api.AllocDeploymentStatus{Healthy: new(false)}
	require.Contains(t, givenUp([]*api.AllocationListStub{late}, 3), "on c: Task started", "not healthy in time")
}

func TestProven(t *testing.T) {
	version := func(at int64, stable bool, digest string) *api.Job {
		return &api.Job{SubmitTime: &at, Stable: &stable, Meta: map[string]string{nomad.MetaPackage: digest}}
	}
	require.Equal(t, "b", proven([]*api.Job{version(1, true, "a"), version(3, false, "c"), version(2, true, "b")}))
	require.Equal(t, "c", proven([]*api.Job{version(1, false, "a"), version(3, false, "c")}), "none is better known")
}

func TestOnlyThere(t *testing.T) {
	there, elsewhere := allocation("a", api.AllocClientStatusRunning, 1), allocation("b", api.AllocClientStatusRunning, 1)
	ended := allocation("b", api.AllocClientStatusComplete, 1)
	require.True(t, onlyThere([]*api.AllocationListStub{ended, there}, "a"))
	require.False(t, onlyThere([]*api.AllocationListStub{there, elsewhere}, "a"))
	require.False(t, onlyThere([]*api.AllocationListStub{elsewhere}, "a"))
	require.False(t, onlyThere([]*api.AllocationListStub{ended}, "b"))
}
