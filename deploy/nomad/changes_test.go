package nomad_test

import (
	"testing"

	"github.com/hashicorp/nomad/api"
	"github.com/stretchr/testify/require"

	"misstep/deploy/nomad"
)

func TestChanges(t *testing.T) {
	priority := []*api.FieldDiff{{Type: "Edited", Name: "Priority", Old: "50", New: "60"}}
	group := func(kind string) []*api.TaskGroupDiff {
		return []*api.TaskGroupDiff{{
			Type: kind, Name: "plain", Updates: map[string]uint64{"create": 2, "ignore": 1},
			Fields: []*api.FieldDiff{{Type: kind, Name: "Count", New: "2"}},
		}}
	}
	for _, c := range []struct {
		plan api.JobPlanResponse
		want string
	}{
		{api.JobPlanResponse{
			Diff: &api.JobDiff{
				Type: "Added", ID: "a", TaskGroups: group("Added"), Fields: []*api.FieldDiff{{Type: "Added", Name: "Priority", New: "50"}},
			},
			FailedTGAllocs: map[string]*api.AllocationMetric{"plain": {
				NodesEvaluated: 3, ConstraintFiltered: map[string]int{"computed class ineligible": 2},
				DimensionExhausted: map[string]int{"memory": 1},
			}},
			Warnings: "careful\n",
		}, `+ job a: new
  + group plain: 2 create
  ! group plain: no node for it: of 3, 2 are like nodes that do not meet a constraint, 1 have too little memory
  ! careful
`},
		{api.JobPlanResponse{Diff: &api.JobDiff{Type: "Edited", ID: "a", Fields: priority, TaskGroups: group("Added")}}, `~ job a: changed
  ~ Priority: "50" -> "60"
  + group plain: 2 create
`},
		{api.JobPlanResponse{Diff: &api.JobDiff{Type: "None", ID: "a", TaskGroups: []*api.TaskGroupDiff{
			{Type: "None", Name: "same", Updates: map[string]uint64{"in-place update": 2}},
			{Type: "None", Name: "lost", Updates: map[string]uint64{"create": 1}},
		}}}, "= job a: unchanged\n  = group lost: 1 create\n"},
		{api.JobPlanResponse{Diff: &api.JobDiff{Type: "Edited", ID: "a", TaskGroups: group("Edited")}}, `~ job a: changed
  ~ group plain: 2 create
    ~ Count: "" -> "2"
`},
	} {
		require.Equal(t, c.want, nomad.Changes(&c.plan))
	}
}

func TestUnnamed(t *testing.T) {
	for _, c := range []struct {
		filtered map[string]int
		want     bool
	}{
		{nil, false},
		{map[string]int{"computed class ineligible": 3}, true},
		{map[string]int{"computed class ineligible": 2, "${node.class} = a": 1}, false},
	} {
		p := &api.JobPlanResponse{FailedTGAllocs: map[string]*api.AllocationMetric{"plain": {ConstraintFiltered: c.filtered}}}
		require.Equal(t, c.want, nomad.Unnamed(p), "%v", c.filtered)
	}
	require.False(t, nomad.Unnamed(&api.JobPlanResponse{}), "everything has a place")
}
