// Package schedule holds what perturbing the order of threads means, apart from who carries it out: the strategies and their
// parameters, the configuration that they come to, the log of decisions, and what is read from a log.
//
// Its C headers are the only definition of the decisions (policy.h) and of what kernel, agent and Go share (intf.h): the
// scheduler in the kernel (bpf) and the agent (agent/native) include them.
package schedule
