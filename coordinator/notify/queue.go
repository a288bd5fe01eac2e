package notify

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	misstepv1 "misstep/proto/misstep/v1"
)

const (
	// maxEvents bounds the events of a message.
	maxEvents = 50
	// patience is how long the delivery of one message is tried.
	patience = 24 * time.Hour
	// firstWait is the time after the first failed attempt; each further failure doubles it, up to longestWait.
	firstWait   = 10 * time.Second
	longestWait = time.Hour
	// claim is how long a message counts as being sent, so that another coordinator on the same store does not send it as well.
	claim = 2 * sendTimeout
	// sendTimeout bounds one attempt.
	sendTimeout = 10 * time.Second
)

// add appends an event to what waits for a target.
func add(t *misstepv1.TargetState, e *misstepv1.Event) {
	if t.Waiting == nil {
		t.Waiting = &misstepv1.Notification{Created: e.GetTime()}
	}
	if len(t.GetWaiting().GetEvents()) < maxEvents {
		t.Waiting.Events = append(t.Waiting.Events, e)
		return
	}
	omit(t.Waiting, e.GetKind(), 1)
}

func omit(n *misstepv1.Notification, kind string, count uint64) {
	if n.Omitted == nil {
		n.Omitted = map[string]uint64{}
	}
	n.Omitted[kind] += count
}

// due returns the message to send to a target now and claims it; nil when there is none. With hurry the minimum time between two
// messages is not waited for. newID makes the id of a message that is new.
func due(t *misstepv1.TargetState, now time.Time, hurry bool, newID func() string) *misstepv1.Notification {
	waits := t.GetNext() != nil && now.Before(t.GetNext().AsTime())
	if waits && (!hurry || t.GetSending() != nil) {
		return nil
	}
	if t.GetSending() == nil {
		if t.GetWaiting() == nil {
			return nil
		}
		t.Sending, t.Waiting = t.GetWaiting(), nil
		t.Sending.Id = newID()
	}
	t.Next = timestamppb.New(now.Add(claim))
	return t.GetSending()
}

// sent notes the end of an attempt. It returns true when the message was given up; its events are counted among those that the next
// message omits, so that the receiver learns that something is missing.
func sent(t *misstepv1.TargetState, id string, failure error, wait, every time.Duration, now time.Time) (givenUp bool) {
	if t.GetSending().GetId() != id {
		return false // another coordinator was done before
	}
	if failure == nil {
		t.Sending, t.Attempts, t.Next = nil, 0, timestamppb.New(now.Add(every))
		return false
	}
	t.Attempts++
	t.Next = timestamppb.New(now.Add(max(wait, min(firstWait<<min(t.GetAttempts()-1, 16), longestWait))))
	lost := t.GetSending()
	if now.Sub(lost.GetCreated().AsTime()) < patience {
		return false
	}
	t.Sending, t.Attempts = nil, 0
	if t.Waiting == nil {
		t.Waiting = &misstepv1.Notification{Created: timestamppb.New(now)}
	}
	for _, e := range lost.GetEvents() {
		omit(t.Waiting, e.GetKind(), 1)
	}
	for kind, n := range lost.GetOmitted() {
		omit(t.Waiting, kind, n)
	}
	return true
}
