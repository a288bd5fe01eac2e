// Package nomad turns a fleet file into Nomad jobs: one for the coordinators and one for each group of runners. It talks to no
// server: Jobs is a pure function of the fleet and of the package that the nodes run.
//
// Runners are long-lived service allocations; what Nomad places is a runner, and trials remain leases between it and a coordinator.
// Whatever Nomad does to an allocation (drain, move, update, lose) is thus one of two things that a coordinator knows already: a
// runner that drains and hands its leases back, or one that falls silent and whose leases expire.
//
// The jobs use what Nomad has had since 1.4, which brought variables and checks of services that Nomad itself registers. A fleet
// without datacentres needs 1.5, the first version in which "*" means all.
package nomad
