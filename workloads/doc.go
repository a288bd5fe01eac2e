// Package workloads knows the programs that a trial runs: what they need, how they are started, and what their end means.
//
// A workload is a folder with a workload.yaml (see [Manifest]) and the jars it names. A [Catalogue] keeps copies of such
// folders under names; Renaissance's benchmarks are in it as "renaissance/NAME", all of them sharing one jar.
package workloads
