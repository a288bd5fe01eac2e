package recipe

import (
	"slices"

	misstepv1 "misstep/proto/misstep/v1"
)

// Executors that recipes may name; "" is ExecutorHost.
const (
	ExecutorHost            = "host"
	ExecutorVM              = "vm"
	ExecutorVMDeterministic = "vm-deterministic"
)

var executors = []string{ExecutorHost, ExecutorVM, ExecutorVMDeterministic}

// Executors lists the executors that recipes may name.
func Executors() []string { return slices.Clone(executors) }

// Capability is what a runner can do beyond running JVMs; recipes may need one. Runner.capabilities holds them as strings.
type Capability string

// Capabilities.
const (
	// NoCapability is the need of a recipe that any runner can run.
	NoCapability Capability = ""
	// SchedExt is a kernel with sched_ext and the right to load a scheduler.
	SchedExt Capability = misstepv1.MechanismScheduler
	// VM and VMDeterministic are the ability to run trials with the executors of these names.
	VM              Capability = ExecutorVM
	VMDeterministic Capability = ExecutorVMDeterministic
	// Cgroup is a cgroup for each trial. No recipe needs it: without it limits are polled.
	Cgroup Capability = "cgroup"
)

// NeededCapability returns the capability that a runner must have for recipes of this executor and perturbation.
func NeededCapability(executor string, p *misstepv1.Perturbation) Capability {
	switch {
	case executor != "" && executor != ExecutorHost:
		return Capability(executor) // a virtual machine has a kernel with sched_ext
	case misstepv1.Disturbs(p.GetStrategy()) && (p.GetMechanism() == "" || p.GetMechanism() == misstepv1.MechanismScheduler):
		return SchedExt
	}
	return NoCapability
}

// MetBy reports whether a runner that reports these capabilities has this one.
func (c Capability) MetBy(capabilities []string) bool {
	return c == NoCapability || slices.Contains(capabilities, string(c))
}
