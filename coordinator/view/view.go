// Package view prepares what pages and --json show: the state of campaigns and reproductions, findings with their rates and labels.
//
// It reads the rows of one transaction, which may be a View, and writes none: changes by the passing of time alone are either
// computed here, or not shown until the coordinator stores them (see coordinator.Server.Tick).
package view

import (
	"misstep/coordinator/queue"
	"misstep/known"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

// Reader reads what is shown from the rows of one transaction. Its fields do not change; it is safe for concurrent use.
type Reader struct {
	// Queue computes what is due.
	Queue *queue.Queue
	// Fleet knows what the runners do right now.
	Fleet Fleet
	// Known holds the known bugs that findings are labelled with.
	Known known.Catalogue
	// Memory keeps for the next call what is costly to make; nil keeps nothing.
	Memory *Memory
	// Aside reports whether an owner of runners is set aside; nil when none is.
	Aside func(owner string) bool
}

// Memory is what a Reader keeps between two calls. Nothing that it has changes what they return. Its zero value is empty, and it is
// safe for concurrent use.
type Memory struct {
	labels   labels
	features features
}

// Fleet is the unstored knowledge about runners. It is safe for concurrent use.
type Fleet interface {
	// Runners returns the runners that called recently, in any order, without the number of running trials. The caller may change
	// the list and its elements, but not the Runner messages in them.
	Runners() []*misstepv1.RunnerStatus
	// Capable reports whether a runner that called recently has a capability.
	Capable(capability recipe.Capability) bool
	// Progress returns the progress of a running trial by its lease; nil when none was reported yet. The message must not be
	// changed.
	Progress(lease string) *misstepv1.Progress
}
