// Package notify tells people what happens to findings, by webhook and by mail: a new finding, a JDK that shows a finding for the
// first time, a known bug that became quiet or came back, a reproduction that is done; and that an owner of runners is set aside.
//
// A Notifier compares, round by round, what a view of the store shows with what it noticed before, which the store keeps; so it
// misses nothing that happens while no coordinator runs, and repeats nothing after a restart. Events wait in the store until they
// are delivered. What one target gets is bounded: at most one message per interval, with at most 50 events and the number of those
// left out.
package notify

import (
	"context"
	"slices"
	"time"

	misstepv1 "misstep/proto/misstep/v1"
)

// Kinds of events.
const (
	// NewFinding is a finding that no trial had shown before.
	NewFinding = "new-finding"
	// NewOnJDK is a JDK that shows a finding for the first time, after another one did.
	NewOnJDK = "new-on-jdk"
	// Quiet is a finding that was not seen for so many trials that its rate makes that improbable (package watch).
	Quiet = misstepv1.StateQuiet
	// Back is a finding that was seen on a build that has the fix of its known bug.
	Back = misstepv1.StateBack
	// ReproductionDone is a reproduction that ended, whatever its result.
	ReproductionDone = "reproduction-done"
	// OwnerSetAside is an owner of runners whose results differ from the others' beyond chance, so that its runners get no leases
	// (package trust). It concerns admins.
	OwnerSetAside = "owner-set-aside"
)

// Kinds lists the kinds of events in the order in which a message lists them.
func Kinds() []string {
	return []string{NewFinding, NewOnJDK, Back, Quiet, ReproductionDone, OwnerSetAside}
}

// Sender delivers messages to one target.
type Sender interface {
	// Send delivers a message. It may deliver the same message again, which then has the same id. The error says what to fix; a
	// *LaterError gives the time to wait.
	Send(ctx context.Context, n *misstepv1.Notification) error
}

// LaterError is the refusal of a receiver that says when it may be tried again.
type LaterError struct {
	// After is the time to wait.
	After time.Duration
	Err   error
}

// Error implements error.
func (e *LaterError) Error() string { return e.Err.Error() }

// Unwrap returns the refusal.
func (e *LaterError) Unwrap() error { return e.Err }

// Target is a receiver of messages.
type Target struct {
	// Name is unique among the targets of a store.
	Name string
	// Project whose findings it gets; "" is projects.Default.
	Project string
	// Kinds that it gets; none means all.
	Kinds []string
	// Known is true for a target that also gets new findings and new JDKs of known bugs. The other kinds always concern all.
	Known bool
	// Every is the minimum time between two messages; 0 is DefaultEvery.
	Every  time.Duration
	Sender Sender
}

// DefaultEvery is the minimum time between two messages to a target that sets none.
const DefaultEvery = time.Minute

func (t Target) every() time.Duration {
	if t.Every > 0 {
		return t.Every
	}
	return DefaultEvery
}

func (t Target) wants(e *misstepv1.Event) bool {
	if len(t.Kinds) > 0 && !slices.Contains(t.Kinds, e.GetKind()) {
		return false
	}
	arrival := e.GetKind() == NewFinding || e.GetKind() == NewOnJDK
	return t.Known || !arrival || e.GetKnownAs() == ""
}
