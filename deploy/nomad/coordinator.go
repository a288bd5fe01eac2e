package nomad

import (
	"time"

	"github.com/hashicorp/nomad/api"
)

// lastCalls is how long a coordinator gets to answer the calls that have begun.
const lastCalls = 15 * time.Second

// coordinators is the job of the coordinators. They are found as the service of its name, which Nomad itself registers.
func (m maker) coordinators() *api.Job {
	c := m.fleet.GetCoordinators()
	id := CoordinatorJob(m.fleet)
	dir := c.GetDir()
	if dir == "" { // store and blobs are elsewhere
		dir = "${NOMAD_ALLOC_DIR}/station"
	}
	args := []string{"coordinator", "--home", "${NOMAD_ALLOC_DIR}/home", "--listen", "${NOMAD_ADDR_grpc}", "--dir", dir}
	if c.GetStore() != "" {
		args = append(args, "--store", c.GetStore())
	}
	if c.GetBlobs() != "" {
		args = append(args, "--blobs", c.GetBlobs())
	}
	if t := c.GetLeaseTime(); t != nil {
		args = append(args, "--lease-time", t.AsDuration().String())
	}
	group := &api.TaskGroup{
		Name:        new(coordinatorName),
		Constraints: append(classes(c.GetNodeClass(), ""), distinctHosts),
		Networks:    []*api.NetworkResource{{ReservedPorts: []api.Port{{Label: "grpc", Value: Port(m.fleet)}}}},
		Services: []*api.Service{{
			Name: id, Provider: "nomad", PortLabel: "grpc",
			Checks: []api.ServiceCheck{{
				Name: "grpc", Type: "tcp", Interval: 5 * time.Second, Timeout: 2 * time.Second,
			}},
		}},
		Update:           update("checks"),
		Migrate:          migrate("checks"),
		RestartPolicy:    restart(),
		ReschedulePolicy: reschedule(),
	}
	if c.GetNode() != "" {
		group.Constraints = append(group.Constraints, api.NewConstraint("${node.unique.name}", "=", c.GetNode()))
	}
	work := &api.Task{
		Config: map[string]any{"args": args}, Resources: resources(c.GetResources(), coordinatorCPU, coordinatorMemory),
		KillTimeout: new(lastCalls),
	}
	m.transport(work, id, coordinatorTLS)
	return m.job(id, api.JobTypeService, Coordinators(m.fleet), c, group, work)
}

// update replaces allocations one at a time, the next once the one before has been healthy for a while; when one does not become
// healthy, all go back to the version before.
func update(check string) *api.UpdateStrategy {
	return &api.UpdateStrategy{
		MaxParallel: new(1), HealthCheck: &check, MinHealthyTime: new(5 * time.Second), HealthyDeadline: new(5 * time.Minute),
		ProgressDeadline: new(15 * time.Minute), AutoRevert: new(true),
	}
}

// migrate moves allocations off a node that is drained, one at a time.
func migrate(check string) *api.MigrateStrategy {
	return &api.MigrateStrategy{
		MaxParallel: new(1), HealthCheck: &check, MinHealthyTime: new(5 * time.Second), HealthyDeadline: new(5 * time.Minute),
	}
}

// restart starts a task that has ended again on its node, three times in ten minutes; then reschedule places it elsewhere, for as
// long as it takes.
func restart() *api.RestartPolicy {
	return &api.RestartPolicy{Attempts: new(3), Interval: new(10 * time.Minute), Delay: new(5 * time.Second), Mode: new("fail")}
}

func reschedule() *api.ReschedulePolicy {
	return &api.ReschedulePolicy{
		Unlimited: new(true), Delay: new(10 * time.Second), DelayFunction: new("exponential"), MaxDelay: new(10 * time.Minute),
		Attempts: new(0), Interval: new(time.Duration(0)),
	}
}
