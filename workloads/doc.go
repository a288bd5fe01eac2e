// Package workloads describes the programs that a trial runs: what they need, how they are started, and how their result is judged.
//
// A workload is a folder with a workload.yaml (see [Manifest]) and the jars that it names. A [Catalogue] stores copies of such
// folders under names; Renaissance's benchmarks are in it as "renaissance/NAME", all of them sharing one jar.
package workloads
