// Package view makes what a page or --json shows: the state of campaigns and reproductions, findings with their rates and labels.
//
// It reads the rows of one transaction, which may be a View, and writes none: what only the passing of time has changed is
// computed, or is shown as it was stored last until the coordinator stores it (see coordinator.Server.Tick).
package view

import (
	"misstep/coordinator/queue"
	"misstep/corpus/known"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

// Reader makes what is shown from the rows of one transaction. Its fields do not change; it is safe for concurrent use.
type Reader struct {
	// Queue tells what is due.
	Queue *queue.Queue
	// Fleet tells what runners do right now.
	Fleet Fleet
	// Known bugs that findings are labelled with.
	Known known.Catalogue
}

// Fleet is what is known of the runners and is not stored. It is safe for concurrent use.
type Fleet interface {
	// Runners that called lately, in any order, without what they run. The list is the caller's, their introductions are not
	// changed.
	Runners() []*misstepv1.RunnerStatus
	// Capable reports whether a runner that called lately has a capability.
	Capable(capability recipe.Capability) bool
	// Progress of a running trial by its lease; nil when nothing was reported yet. The message is not changed afterwards.
	Progress(lease string) *misstepv1.Progress
}
