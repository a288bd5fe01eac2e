// Package chunks judges JFR recordings by themselves: each chunk has what its events refer to, says one thing under one id, and is
// in order. The units that it counts are the references (a field of a type and an id), the ids that are defined, the times of the
// events (one unit per type) and the chunks.
package chunks

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/runner/judge"
	"misstep/runner/recording"
)

// AsyncWriter stands before the referrers in async-profiler's recordings, whose faults are not JFR's.
const AsyncWriter = recipe.ProfilerAsync + "'s "

// EmergencyDump stands before those that refer to constants of types that a flush leaves out, in the chunk that a JVM flushes when
// it crashes or has no memory left.
const EmergencyDump = "an emergency dump's "

// notFlushed are the types of constants that a flush writes for classes only (HotSpot jfrTypeSet.cpp).
var notFlushed = []string{"jdk.types.Package", "jdk.types.Module", "jdk.types.ClassLoader"}

// dumpReason is the event that only an emergency dump has, in its last chunk (HotSpot jfrEmergencyDump.cpp, post_events).
const dumpReason = "jdk.DumpReason"

// ByAsync reports whether a setting is one that only async-profiler, and what is made of it, writes.
func ByAsync(s *recording.Setting) bool {
	return strings.HasPrefix(s.Type, "profiler.") || s.Type == "jdk.ActiveRecording" && s.Name == "version"
}

// Judge is fed with all records of all recordings of a trial, one recording after the other.
type Judge struct {
	limit     int
	count     *misstepv1.CheckCount
	found     map[place]*misstepv1.Mismatch
	recording int
	chunk     *recording.Chunk
	// previous chunk of the same recording, nil for the first one.
	previous *recording.Chunk
	// unfinished reports that the recorder had not finished the chunk.
	unfinished bool
	// broken reports that the chunk cannot be read on.
	broken bool
	// early is of the current chunk.
	early early
	// late are the windows of the current chunk that end after it by its header.
	late []*recording.Window
	// writer stands before the referrers: AsyncWriter or nothing.
	writer string
	// links lack constants, lacking are examples of these; who wrote the chunk is known at its end.
	links   []*recording.Link
	lacking []*recording.Fault
	dump    bool
	// by wrote the chunk, before the previous one; jump is judged at the chunk's end.
	by, before recorder
	jump       jump
}

// place is what the mismatches have in common that are one entry: nothing of it belongs to the run only.
type place struct{ kind, typeName, referrer, field string }

// New returns a judge of the recordings of a profiler (recipe.ProfilerJFR, recipe.ProfilerAsync), which keeps at most limit
// mismatches.
func New(limit int, profiler string) *Judge {
	writer := ""
	if profiler == recipe.ProfilerAsync {
		writer = AsyncWriter
	}
	return &Judge{
		early: newEarly(), writer: writer, limit: limit, count: &misstepv1.CheckCount{
			Check: recipe.JfrChunks, Tolerated: map[string]uint64{}, Void: map[string]uint64{},
		},
		found: map[place]*misstepv1.Mismatch{}, recording: -1,
	}
}

// Visit takes the next record. It returns no error: whatever a recording contains is a verdict.
func (j *Judge) Visit(r recording.Record) error {
	switch r := r.(type) {
	case *recording.Chunk:
		j.begin(r)
	case *recording.Link:
		j.pass(r.Referenced)
		if r.Lacking > 0 {
			j.links = append(j.links, r)
		}
	case *recording.Pool:
		j.pass(r.Defined)
	case *recording.Differing:
		j.differing(r)
	case *recording.Fault:
		j.example(r)
	case *recording.Window:
		j.window(r)
	case *recording.Setting:
		j.by.note(r)
	case *recording.Problem:
		j.problem(r)
	case *recording.Event:
		j.early.event(j.chunk, r)
	}
	return nil
}

// Verdicts returns the counts and the most frequent mismatches. It is called after the last record.
func (j *Judge) Verdicts() judge.Verdicts {
	j.settle(nil)
	mismatches := make([]*misstepv1.Mismatch, 0, len(j.found))
	for _, m := range j.found {
		if m.GetCount() > 0 {
			mismatches = append(mismatches, m)
		}
	}
	slices.SortFunc(mismatches, func(a, b *misstepv1.Mismatch) int {
		return cmp.Or(cmp.Compare(b.GetCount(), a.GetCount()), cmp.Compare(name(a), name(b)))
	})
	return judge.Verdicts{Count: j.count, Mismatches: mismatches[:min(len(mismatches), j.limit)]}
}

func name(m *misstepv1.Mismatch) string {
	f := m.GetRecordingFault()
	return m.GetKind() + " " + f.GetType() + " " + f.GetReferrer() + "." + f.GetField()
}

// pass counts units that are in order unless something else follows about them.
func (j *Judge) pass(units int) {
	j.count.Total += uint64(units)
	j.count.Match += uint64(units)
}

// tolerate takes units from those that passed.
func (j *Judge) tolerate(units int, rule string) {
	j.count.Match -= uint64(units)
	j.count.Tolerated[rule] += uint64(units)
}

// mismatch takes units from those that passed.
func (j *Judge) mismatch(units int, p place, detail string) {
	j.count.Match -= uint64(units)
	j.count.Mismatch += uint64(units)
	m := j.entry(p)
	m.Count += uint64(units)
	if m.RecordingFault.Detail == "" {
		m.RecordingFault.Detail = detail
	}
}

// entry returns the entry for a place, with the chunk that is read if it is new.
func (j *Judge) entry(p place) *misstepv1.Mismatch {
	m := j.found[p]
	if m == nil {
		m = &misstepv1.Mismatch{Check: recipe.JfrChunks, Kind: p.kind, RecordingFault: &misstepv1.RecordingFault{
			Type: p.typeName, Referrer: p.referrer, Field: p.field,
			Recording: uint32(max(j.recording, 0)), Chunk: uint32(j.index()),
		}}
		j.found[p] = m
	}
	return m
}

func (j *Judge) index() int {
	if j.chunk == nil {
		return 0
	}
	return j.chunk.Index
}

// undefined judges what the chunk lacks, when all of it was read.
func (j *Judge) undefined() {
	writer := j.writer
	if j.by.async {
		writer = AsyncWriter
	}
	at := func(typeName, from, field string) place {
		if j.dump && slices.Contains(notFlushed, typeName) {
			from = EmergencyDump + from
		}
		return place{recipe.KindUndefinedConstant, typeName, writer + from, field}
	}
	for _, l := range j.links {
		if j.unfinished {
			j.tolerate(l.Lacking, recipe.RuleUnfinishedChunk)
			continue
		}
		j.mismatch(l.Lacking, at(l.Type, l.From, l.Field),
			fmt.Sprintf("%d of the %d ids that the chunk refers to", l.Lacking, l.Referenced))
	}
	for _, f := range j.lacking {
		if !j.unfinished {
			j.exemplify(at(f.Type, f.From, f.Field), f)
		}
	}
	j.links, j.lacking, j.dump = nil, nil, false
}

func (j *Judge) differing(d *recording.Differing) {
	if rule := differenceRule(d); rule != "" {
		j.tolerate(d.IDs, rule)
		return
	}
	j.mismatch(d.IDs, place{recipe.KindDuplicateID, d.Type, "", d.Fields}, fmt.Sprintf("%d ids of the chunk", d.IDs))
}

// example takes a fault. It comes before or after the count.
func (j *Judge) example(f *recording.Fault) {
	switch {
	case f.Kind != recording.Twice:
		j.lacking = append(j.lacking, f)
	case differenceRule(&recording.Differing{Type: f.Type, Fields: f.Field}) == "":
		j.exemplify(place{recipe.KindDuplicateID, f.Type, "", f.Field}, f)
	}
}

// exemplify names an id and a place of the first fault of its kind.
func (j *Judge) exemplify(p place, f *recording.Fault) {
	fault := j.entry(p).RecordingFault
	if fault.Position == 0 && fault.Id == 0 {
		fault.Id, fault.Position = f.ID, uint64(f.Position)
	}
}
