package notify

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	misstepv1 "misstep/proto/misstep/v1"
)

func event(kind, id string) *misstepv1.Event {
	return &misstepv1.Event{Kind: kind, FindingId: id, Title: "title of " + id, Time: timestamppb.New(now)}
}

func numbered() func() string {
	n := 0
	return func() string { n++; return fmt.Sprint("N", n) }
}

// One bad build makes a thousand findings: they are one message that counts what it leaves out.
func TestAMessageIsBounded(t *testing.T) {
	state := &misstepv1.TargetState{}
	for i := range 1000 {
		add(state, event(NewFinding, fmt.Sprint("F", i)))
	}
	add(state, event(ReproductionDone, "F1"))
	m := due(state, now, false, numbered())
	require.Len(t, m.GetEvents(), 50)
	assert.Equal(t, map[string]uint64{NewFinding: 950, ReproductionDone: 1}, m.GetOmitted())
	assert.Equal(t, "1000 new findings, 1 reproduction done", Subject(m))
}

func TestATargetGetsOneMessagePerInterval(t *testing.T) {
	state, newID := &misstepv1.TargetState{}, numbered()
	require.Nil(t, due(state, now, true, newID), "nothing waits")
	add(state, event(NewFinding, "F1"))
	first := due(state, now, false, newID)
	require.Equal(t, "N1", first.GetId(), "the first one does not wait")
	require.Nil(t, due(state, now.Add(claim/2), true, newID), "it is being sent")
	require.False(t, sent(state, "N1", nil, 0, time.Minute, now))
	add(state, event(NewFinding, "F2"))
	require.Nil(t, due(state, now.Add(59*time.Second), false, newID))
	require.Equal(t, "N2", due(state, now.Add(time.Second), true, newID).GetId(), "at the end nothing waits")
}

func TestAFailedMessageIsRepeatedUnchangedWithGrowingWaits(t *testing.T) {
	state, newID, at := &misstepv1.TargetState{}, numbered(), now
	add(state, event(NewFinding, "F1"))
	var waits []time.Duration
	givenUp := false
	for range 100 {
		m := due(state, at, false, newID)
		require.Equal(t, "N1", m.GetId())
		require.Len(t, m.GetEvents(), 1)
		if givenUp = sent(state, "N1", errors.New("refused"), 0, time.Minute, at); givenUp {
			break
		}
		add(state, event(NewOnJDK, "F1"))
		waits = append(waits, state.GetNext().AsTime().Sub(at))
		at = state.GetNext().AsTime()
	}
	require.True(t, givenUp)
	assert.Equal(t, []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second}, waits[:3])
	assert.Equal(t, time.Hour, waits[len(waits)-1])
	assert.InDelta(t, patience.Hours(), at.Sub(now).Hours(), 1)
	assert.EqualValues(t, 1, state.GetWaiting().GetOmitted()[NewFinding], "the receiver learns that something is missing")
	assert.Nil(t, state.GetSending())
}

func TestAReceiverThatAsksForTimeGetsIt(t *testing.T) {
	state := &misstepv1.TargetState{}
	add(state, event(NewFinding, "F1"))
	m := due(state, now, false, numbered())
	sent(state, m.GetId(), errors.New("busy"), 5*time.Minute, time.Minute, now)
	assert.Equal(t, now.Add(5*time.Minute), state.GetNext().AsTime())
}

func TestTargetsChooseTheirEvents(t *testing.T) {
	known := event(NewFinding, "F1")
	known.KnownAs = "JDK-1"
	done := event(ReproductionDone, "F1")
	done.KnownAs = "JDK-1"
	for _, c := range []struct {
		target Target
		event  *misstepv1.Event
		want   bool
	}{
		{Target{}, event(NewFinding, "F1"), true},
		{Target{}, known, false},
		{Target{Known: true}, known, true},
		{Target{}, done, true},
		{Target{Kinds: []string{NewFinding}}, done, false},
	} {
		assert.Equalf(t, c.want, c.target.wants(c.event), "%+v %v", c.target, c.event)
	}
}

func TestText(t *testing.T) {
	known := event(NewOnJDK, "F2")
	known.KnownAs, known.Jdks = "JDK-1", []string{"jdk25"}
	assert.Equal(t, `1 new finding, 1 finding on a further JDK, 7 reproductions done
- new finding: F1 title of F1
- finding on a further JDK: F2 title of F2 [jdk25] (known: JDK-1)
- and 7 more: reproductions done
More: misstep findings list; misstep findings show ID
`, Text(&misstepv1.Notification{
		Events: []*misstepv1.Event{event(NewFinding, "F1"), known}, Omitted: map[string]uint64{ReproductionDone: 7},
	}))
	assert.Equal(t, `loom: 1 new finding
- new finding: F1 title of F1
More: misstep findings list --project loom; misstep findings show ID --project loom
`, Text(&misstepv1.Notification{Project: "loom", Events: []*misstepv1.Event{event(NewFinding, "F1")}}))
}
