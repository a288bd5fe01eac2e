// Package bpf runs a program under a sched_ext scheduler that perturbs the order of its threads from a seed, and replays what it
// did. What a perturbation is, and the log, is in package schedule.
package bpf
