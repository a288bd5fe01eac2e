package notify

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	misstepv1 "misstep/proto/misstep/v1"
)

var now = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

func finding(id string, jdks ...string) *misstepv1.Finding {
	f := &misstepv1.Finding{Id: id, Title: "title of " + id, Hits: 3}
	for _, j := range jdks {
		f.KnownOn = append(f.KnownOn, &misstepv1.KnownOn{Jdk: &misstepv1.Jdk{Name: j}})
	}
	return f
}

func inState(f *misstepv1.Finding, kind, jdk string) *misstepv1.Finding {
	f.States = append(f.States, &misstepv1.FindingState{Kind: kind, Jdk: jdk, Trials: f.GetHits()})
	return f
}

func merged(f *misstepv1.Finding, aliases ...string) *misstepv1.Finding {
	f.Aliases = aliases
	return f
}

// kinds returns what happened as "kind finding jdks".
func kinds(events []*misstepv1.Event) []string {
	out := []string{}
	for _, e := range events {
		line := e.GetKind() + " " + e.GetFindingId()
		for _, j := range e.GetJdks() {
			line += " " + j
		}
		out = append(out, line)
	}
	return out
}

func TestObserve(t *testing.T) {
	state := &misstepv1.NotifierState{}
	reproduction := &misstepv1.Reproduction{
		Id: "R1", Spec: &misstepv1.ReproductionSpec{FindingId: "F1"}, State: misstepv1.ReproductionState_REPRODUCTION_STATE_FAILED,
		Failure: "it did not appear again",
	}
	for _, step := range []struct {
		name string
		seen Snapshot
		want []string
	}{
		{"what there is at first is no news", Snapshot{Findings: []*misstepv1.Finding{finding("F1", "jdk17")}}, []string{}},
		{"nothing happened", Snapshot{Findings: []*misstepv1.Finding{finding("F1", "jdk17")}}, []string{}},
		{
			"a new finding names its JDKs, a further JDK is news of its own",
			Snapshot{Findings: []*misstepv1.Finding{finding("F1", "jdk25", "jdk17"), finding("F2", "jdk21", "jdk11")}},
			[]string{"new-finding F2 jdk11 jdk21", "new-on-jdk F1 jdk25"},
		},
		{
			"a state is news until it ends",
			Snapshot{Findings: []*misstepv1.Finding{inState(finding("F1", "jdk25", "jdk17"), "quiet", "jdk17")}},
			[]string{"quiet F1 jdk17"},
		},
		{
			"whatever its figures",
			Snapshot{Findings: []*misstepv1.Finding{inState(finding("F1", "jdk25", "jdk17"), "quiet", "jdk17")}},
			[]string{},
		},
		{"its end is not", Snapshot{Findings: []*misstepv1.Finding{finding("F1", "jdk25", "jdk17")}}, []string{}},
		{
			"when it begins again, it is",
			Snapshot{Findings: []*misstepv1.Finding{inState(inState(finding("F1", "jdk25", "jdk17"), "quiet", "jdk17"), "back", "jdk25")}},
			[]string{"back F1 jdk25", "quiet F1 jdk17"},
		},
		{
			"a merge is no news",
			Snapshot{Findings: []*misstepv1.Finding{merged(finding("F2", "jdk11", "jdk17", "jdk21", "jdk25"), "F1")}},
			[]string{},
		},
		{
			"nor is its undoing",
			Snapshot{Findings: []*misstepv1.Finding{finding("F1", "jdk25", "jdk17"), finding("F2", "jdk21", "jdk11")}},
			[]string{},
		},
		{
			"a reproduction is done", Snapshot{
				Findings: []*misstepv1.Finding{finding("F1", "jdk25", "jdk17")}, Done: []*misstepv1.Reproduction{reproduction},
			}, []string{"reproduction-done F1"},
		},
		{"once", Snapshot{Done: []*misstepv1.Reproduction{reproduction}}, []string{}},
	} {
		require.Equal(t, step.want, kinds(Observe(state, step.seen, now)), step.name)
	}
}

func TestObserveSaysHowAReproductionEnded(t *testing.T) {
	state := &misstepv1.NotifierState{}
	Observe(state, Snapshot{}, now)
	events := Observe(state, Snapshot{Done: []*misstepv1.Reproduction{
		{
			Id: "R1", Spec: &misstepv1.ReproductionSpec{FindingId: "F1"}, State: misstepv1.ReproductionState_REPRODUCTION_STATE_DONE,
			Reproducer: &misstepv1.Reproducer{Reliability: &misstepv1.Reliability{Hits: 9, Tries: 10, Low: 0.596, High: 0.982}},
		},
		{
			Id: "R2", Spec: &misstepv1.ReproductionSpec{FindingId: "F2"}, State: misstepv1.ReproductionState_REPRODUCTION_STATE_FAILED,
			Failure: "it did not appear again",
		},
		{Id: "R3", Spec: &misstepv1.ReproductionSpec{FindingId: "F3"}, State: misstepv1.ReproductionState_REPRODUCTION_STATE_CANCELLED},
	}}, now)
	var details []string
	for _, e := range events {
		details = append(details, e.GetDetail())
	}
	assert.Equal(t, []string{
		"shown in 9 of 10 tries (95 % interval 60 to 98 %)", "failed: it did not appear again", "cancelled",
	}, details)
}

// An owner of runners that is set aside is told once, and again when it is set aside again.
func TestOwnersThatAreSetAside(t *testing.T) {
	state := &misstepv1.NotifierState{}
	seen := func(by map[string]*misstepv1.OwnerSetAside) []*misstepv1.Event {
		return Observe(state, Snapshot{Aside: by}, time.Unix(100, 0))
	}
	aside := func(at int64) *misstepv1.OwnerSetAside {
		return &misstepv1.OwnerSetAside{Reason: "of 512 trials 0 showed findings", At: &timestamppb.Timestamp{Seconds: at}}
	}
	assert.Empty(t, seen(map[string]*misstepv1.OwnerSetAside{"runner a": aside(1)}), "what was there before")
	events := seen(map[string]*misstepv1.OwnerSetAside{"runner a": aside(1), "runner b": aside(2)})
	require.Len(t, events, 1)
	assert.Equal(t, OwnerSetAside, events[0].GetKind())
	assert.Equal(t, "runner b", events[0].GetOwner())
	assert.Equal(t, "1 owner of runners set aside\n- owner of runners set aside: runner b: of 512 trials 0 showed findings; "+
		"misstep runners trust lets it back\nMore: misstep findings list; misstep findings show ID\n",
		Text(&misstepv1.Notification{Events: events}))
	assert.Empty(t, seen(map[string]*misstepv1.OwnerSetAside{"runner b": aside(2)}))
	assert.Empty(t, seen(nil))
	assert.Len(t, seen(map[string]*misstepv1.OwnerSetAside{"runner b": aside(3)}), 1)
}
