package notify

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/coordinator/watch"
	misstepv1 "misstep/proto/misstep/v1"
)

// Snapshot is what a round sees.
type Snapshot struct {
	// Findings after merges, with their labels.
	Findings []*misstepv1.Finding
	// Done are the reproductions that no longer run.
	Done []*misstepv1.Reproduction
	// Aside are the owners of runners that are set aside.
	Aside map[string]*misstepv1.OwnerSetAside
}

// Observe returns the events by which a snapshot differs from what was noticed before, in the order of Kinds, then by id, and notes
// them in the state. The first observation of a store notes what is there and returns nothing.
func Observe(state *misstepv1.NotifierState, seen Snapshot, now time.Time) []*misstepv1.Event {
	first := state.GetStarted() == nil
	if first {
		state.Started = timestamppb.New(now)
	}
	if state.Findings == nil {
		state.Findings = map[string]*misstepv1.NoticedFinding{}
	}
	var events []*misstepv1.Event
	for _, f := range seen.Findings {
		before, known := noticed(state, f)
		after := &misstepv1.NoticedFinding{Jdks: before.GetJdks()}
		for _, jdk := range jdks(f) {
			if !slices.Contains(after.GetJdks(), jdk) {
				after.Jdks = append(after.Jdks, jdk)
			}
		}
		event := func(kind, detail string, jdks ...string) {
			events = append(events, &misstepv1.Event{
				Kind: kind, FindingId: f.GetId(), Title: f.GetTitle(), KnownAs: f.GetKnownAs(), Hits: f.GetHits(),
				Jdks: jdks, Detail: detail,
			})
		}
		for _, s := range watch.Changes(before.GetStates(), f.GetStates()) {
			event(s.GetKind(), watch.Text(s), s.GetJdk())
		}
		for _, s := range f.GetStates() {
			after.States = append(after.States, &misstepv1.FindingState{Kind: s.GetKind(), Jdk: s.GetJdk(), Bug: s.GetBug()})
		}
		if !known {
			event(NewFinding, "", after.GetJdks()...)
		} else {
			for _, jdk := range after.GetJdks()[len(before.GetJdks()):] {
				event(NewOnJDK, "", jdk)
			}
		}
		state.Findings[f.GetId()] = after
	}
	titles := map[string]string{}
	for _, f := range seen.Findings {
		titles[f.GetId()] = f.GetTitle()
	}
	for _, r := range seen.Done {
		if slices.Contains(state.GetReproductions(), r.GetId()) {
			continue
		}
		state.Reproductions = append(state.Reproductions, r.GetId())
		events = append(events, &misstepv1.Event{
			Kind: ReproductionDone, FindingId: r.GetSpec().GetFindingId(), Title: titles[r.GetSpec().GetFindingId()],
			ReproductionId: r.GetId(), Detail: ending(r),
		})
	}
	events = append(events, observeAside(state, seen.Aside)...)
	if first {
		return nil
	}
	for _, e := range events {
		e.Time = timestamppb.New(now)
	}
	order := Kinds()
	slices.SortStableFunc(events, func(a, b *misstepv1.Event) int {
		return slices.Index(order, a.GetKind()) - slices.Index(order, b.GetKind())
	})
	return events
}

// observeAside returns an event for each owner that was set aside since the last round.
func observeAside(state *misstepv1.NotifierState, aside map[string]*misstepv1.OwnerSetAside) (events []*misstepv1.Event) {
	before := state.GetAside()
	state.Aside = map[string]*timestamppb.Timestamp{}
	for _, owner := range slices.Sorted(maps.Keys(aside)) {
		one := aside[owner]
		state.Aside[owner] = one.GetAt()
		if at, known := before[owner]; !known || !at.AsTime().Equal(one.GetAt().AsTime()) {
			events = append(events, &misstepv1.Event{Kind: OwnerSetAside, Owner: owner, Detail: one.GetReason()})
		}
	}
	return events
}

// noticed returns what was noticed of a finding or of any that was merged into it; known is false when nothing was.
func noticed(state *misstepv1.NotifierState, f *misstepv1.Finding) (before *misstepv1.NoticedFinding, known bool) {
	before = &misstepv1.NoticedFinding{}
	for _, id := range append([]string{f.GetId()}, f.GetAliases()...) {
		n := state.GetFindings()[id]
		known = known || n != nil
		before.States = append(before.States, n.GetStates()...)
		for _, jdk := range n.GetJdks() {
			if !slices.Contains(before.GetJdks(), jdk) {
				before.Jdks = append(before.Jdks, jdk)
			}
		}
	}
	return before, known
}

// jdks returns the names of the JDKs that showed a finding, sorted.
func jdks(f *misstepv1.Finding) []string {
	var names []string
	for _, k := range f.GetKnownOn() {
		names = append(names, k.GetJdk().GetName())
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// ending says in one line how a reproduction ended.
func ending(r *misstepv1.Reproduction) string {
	switch r.GetState() {
	case misstepv1.ReproductionState_REPRODUCTION_STATE_CANCELLED:
		return "cancelled"
	case misstepv1.ReproductionState_REPRODUCTION_STATE_FAILED:
		return "failed: " + r.GetFailure()
	}
	if c := r.GetReproducer().GetReliability(); c.GetTries() > 0 {
		return fmt.Sprintf("shown in %d of %d tries (95 %% interval %.0f to %.0f %%)",
			c.GetHits(), c.GetTries(), 100*c.GetLow(), 100*c.GetHigh())
	}
	return "no reproducer"
}
