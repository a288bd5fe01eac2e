package nomad

import (
	"cmp"
	"time"

	misstepv1 "misstep/proto/misstep/v1"
)

// Values of fields that are left out.
const (
	defaultPort     = 7867
	defaultPriority = 50
	defaultDrain    = 20 * time.Second
	defaultDisk     = 1024

	coordinatorCPU    = 500
	coordinatorMemory = 512
	runnerCPU         = 1000 // a slot
	runnerMemory      = 1024 // a slot

	// afterDrain is how long a runner gets beyond its drain time to end its JVMs, hand leases back and exit.
	afterDrain = 10 * time.Second
	// MaxKillTimeout is the longest kill_timeout that Nomad's clients grant unless their configuration has another
	// max_kill_timeout.
	MaxKillTimeout = 30 * time.Second
)

// Drivers of Nomad that jobs can use.
const (
	RawExec = "raw_exec"
	Exec    = "exec"
)

// Capabilities of a group of runners.
const (
	Plain    = "plain"
	SchedExt = "sched_ext"
	VM       = "vm"
)

// CoordinatorJob is the id of the job of a fleet's coordinators, and the name of the service under which they are found.
func CoordinatorJob(f *misstepv1.Fleet) string { return f.GetName() + "-" + coordinatorName }

const coordinatorName = "coordinator"

// RunnerJob is the id of the job of a group of runners.
func RunnerJob(f *misstepv1.Fleet, group string) string { return f.GetName() + "-" + group }

// VariablePath is the path of the Nomad variable that a job may read without a policy.
func VariablePath(job string) string { return "nomad/jobs/" + job }

// Work is the folder on the nodes for what outlives an allocation.
func Work(f *misstepv1.Fleet) string { return cmp.Or(f.GetWork(), "/var/tmp/misstep-"+f.GetName()) }

// Port is the one that coordinators listen on.
func Port(f *misstepv1.Fleet) int { return cmp.Or(int(f.GetCoordinators().GetPort()), defaultPort) }

// Coordinators is how many there are.
func Coordinators(f *misstepv1.Fleet) int { return max(1, int(f.GetCoordinators().GetCount())) }

// Count is how many runners of a group there are to begin with.
func Count(g *misstepv1.FleetRunners) int { return int(cmp.Or(g.GetCount(), g.GetMin())) }

// Slots is how many trials a runner of the group runs at a time.
func Slots(g *misstepv1.FleetRunners) int { return max(1, int(g.GetSlots())) }

// Drain is how long running trials get when a runner of the group stops.
func Drain(g *misstepv1.FleetRunners) time.Duration {
	if g.GetDrain() == nil {
		return defaultDrain
	}
	return g.GetDrain().AsDuration()
}

// KillTimeout is how long after its signal Nomad kills a runner of the group.
func KillTimeout(g *misstepv1.FleetRunners) time.Duration { return Drain(g) + afterDrain }

// Capability of the group.
func Capability(g *misstepv1.FleetRunners) string { return cmp.Or(g.GetCapability(), Plain) }
