// Package schedule defines how the order of threads is perturbed, independently of the mechanism that carries it out: the
// strategies and their parameters, the resulting configuration, the log of decisions, and what is derived from a log.
//
// Its C headers are the only definition of the decisions (policy.h) and of what kernel, agent and Go share (intf.h): the
// scheduler in the kernel (bpf) and the agent (agent/native) include them.
package schedule
