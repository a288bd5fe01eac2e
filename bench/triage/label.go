package main

import (
	"slices"

	"google.golang.org/protobuf/proto"

	"misstep/internal/faults"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/triage/triagetest"
)

// mostKept bounds the mismatches kept of a trial, the most frequent ones: a cause with a hundred places must not outweigh all
// others.
const mostKept = 6

// label reduces an outcome to what belongs to the experiment's cause: if a JVM with a planted mismatch crashed by itself, the crash
// is dropped.
func label(l triagetest.Labelled, e experiment, o *misstepv1.Outcome, log faults.Log) []triagetest.Labelled {
	switch e.kind {
	case triagetest.KindNothing:
		l.Outcome = o // all of it: anything that triage could take for a finding
		return []triagetest.Labelled{slim(l)}
	case triagetest.KindCrash:
		if o.GetCrash() != nil {
			l.Outcome = &misstepv1.Outcome{Kind: o.GetKind(), Crash: o.GetCrash()}
		}
		return []triagetest.Labelled{l}
	case triagetest.KindHang:
		if o.GetHang() != nil {
			l.Outcome = &misstepv1.Outcome{Kind: o.GetKind(), Hang: o.GetHang()}
		}
		return []triagetest.Labelled{l}
	}
	byWalk := map[uint64]*faults.Fault{}
	for _, f := range log.Faults {
		byWalk[f.Walk&^atEntry] = f // all walks are of one kind
	}
	byLabel := map[string][]*misstepv1.Mismatch{}
	for _, m := range o.GetMismatches() {
		name := e.label
		if e.faults != nil {
			f := byWalk[m.GetSequence()]
			if f == nil || f.AtEntry != (m.GetCheck() == recipe.GstAsgct) {
				continue // the JVM's own
			}
			if e.refine != nil {
				name += e.refine(f)
			}
		} else if !e.keep(m) {
			continue
		}
		if len(byLabel[name]) < mostKept {
			byLabel[name] = append(byLabel[name], m)
		}
	}
	if len(byLabel) == 0 {
		return []triagetest.Labelled{l}
	}
	var all []triagetest.Labelled
	for name, mismatches := range byLabel {
		some := l
		some.Label = name
		some.Outcome = &misstepv1.Outcome{Kind: misstepv1.OutcomeKind_OUTCOME_KIND_MISMATCHES, Mismatches: mismatches}
		all = append(all, slim(some))
	}
	return all
}

// atEntry marks the numbers of walks at method entries (kEntryWalk in agent/native/src/agent.h).
const atEntry = 1 << 63

// slim removes what differs from run to run and is unrelated to a cause. Triage never reads it.
func slim(l triagetest.Labelled) triagetest.Labelled {
	o := proto.CloneOf(l.Outcome)
	o.Started, o.Wall, o.Cpu, o.Checks, o.Signals, o.Evidence, o.Host, o.RecipeDigest = nil, nil, nil, nil, nil, nil, "", ""
	o.MaxRssBytes = 0
	for _, m := range o.GetMismatches() {
		m.Thread, m.Tid, m.Sequence, m.Sp = "", 0, 0, 0
		m.Pc = min(m.GetPc(), 1) // whether there was one
	}
	slices.SortFunc(o.GetMismatches(), func(a, b *misstepv1.Mismatch) int { return int(b.GetCount()) - int(a.GetCount()) })
	l.Outcome = o
	return l
}
