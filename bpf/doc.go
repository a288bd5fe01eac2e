// Package bpf runs a program under a sched_ext scheduler that perturbs the order of its threads from a seed, and replays logs of
// its decisions. Package schedule defines perturbations and the log.
package bpf
