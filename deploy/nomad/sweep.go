package nomad

import (
	"slices"

	"github.com/hashicorp/nomad/api"

	misstepv1 "misstep/proto/misstep/v1"
)

// sweepName is the end of the id of the job that removes what a fleet has left.
const sweepName = "sweep"

// Sweep returns the job that runs once on every node and removes the fleet's folder there, after it has ended what a killed runner
// has left. It is nil if no runner uses that folder.
func Sweep(f *misstepv1.Fleet, digest string) *api.Job {
	uses := func(g *misstepv1.FleetRunners) bool { return g.GetDriver() != Exec }
	if !slices.ContainsFunc(f.GetRunners(), uses) {
		return nil
	}
	m := maker{f, digest}
	id := RunnerJob(f, sweepName)
	group := &api.TaskGroup{Name: new(sweepName), RestartPolicy: &api.RestartPolicy{Attempts: new(0), Mode: new("fail")}}
	work := &api.Task{
		Config: map[string]any{"args": []string{"sweep", Work(f)}}, Resources: &api.Resources{CPU: new(100), MemoryMB: new(128)},
		KillTimeout: new(afterDrain),
	}
	return m.job(id, api.JobTypeSysbatch, 1, &misstepv1.FleetRunners{}, group, work)
}
