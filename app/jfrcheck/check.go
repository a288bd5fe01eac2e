package jfrcheck

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/runner/judge/chunks"
	"misstep/runner/judge/classes"
	"misstep/runner/recording"
)

// Reader reads a recording; recording.Parse is one.
type Reader func(
	ctx context.Context, file string, limits recording.Limits, visit func(recording.Record) error,
) (recording.Summary, error)

// Options of a check.
type Options struct {
	// Files are the recordings, Stdin ("-") among them.
	Files []string
	Stdin io.Reader
	// ClassPath and JDK are where class files are; both may be empty.
	ClassPath, JDK string
	// TempDir has packed recordings unpacked; empty for the system's.
	TempDir string
	// MaxBytes is the size of the largest recording that is read, unpacked.
	MaxBytes int64
	// For is the time after which what has come of a stream or packed recording is its input; 0 for none.
	For time.Duration
	// Salvage is where the chunks of the one recording that are whole are written; empty for nowhere.
	Salvage string
	// Top is the number of threads and methods that the report has.
	Top int
	// foreign inputs, which are no recordings, are opened, too.
	foreign bool
}

// Limits of one reading: chunks of 128 MiB, since async-profiler's have 100 MB by default.
var limits = recording.Limits{ChunkBytes: 128 << 20, Bytes: math.MaxInt64, Time: 6 * time.Hour}

// consumer is given all records of all recordings, the end of each, and fills its part of the report at the end.
type consumer interface {
	Visit(r recording.Record) error
	ends(r *Recording)
	report(r *Report)
}

// A collector that seldom runs takes less CPU time: chunks leave much behind. From softMemory on it runs often.
const (
	growth     = 400 // percent, as of GOGC
	softMemory = 384 << 20
)

// Run checks recordings. What prevents a file from being checked is returned in failed, and the others are checked all the same;
// err is what prevents any check. Once the context is done, the report has what was read before; if that is nothing, err is the
// context's.
func Run(ctx context.Context, reader Reader, o Options) (report *Report, failed []error, err error) {
	defer debug.SetGCPercent(debug.SetGCPercent(growth))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(softMemory))
	path, err := classes.Open(o.ClassPath, o.JDK)
	if err != nil {
		return nil, nil, err
	}
	defer path.Close()
	report = &Report{Recordings: []Recording{}, Faults: []Fault{}, Doubts: []Fault{}, Samplers: []Sampler{}}
	list := []consumer{newChunkOrder(), newFrames(), newSites()}
	if !path.Empty() {
		list = append(list, newCodeEdges(path, o.JDK))
	}
	list = append(list, &topped{newSamples(), o.Top})
	if o.Salvage != "" {
		if len(o.Files) != 1 {
			return nil, nil, errors.New("one recording at a time can be salvaged: name one")
		}
		if err := canSalvage(o.Salvage); err != nil {
			return nil, nil, err
		}
	}
	for _, name := range o.Files {
		r, err := check(ctx, reader, name, o, list)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", name, err))
			continue
		}
		report.Recordings = append(report.Recordings, *r)
	}
	if ctx.Err() != nil && len(report.Recordings) == 0 {
		return nil, nil, ctx.Err()
	}
	for _, c := range list {
		c.report(report)
	}
	report.weigh()
	if path.Empty() {
		report.Checks = append(report.Checks, Check{
			Name: recipe.EventEdges, What: "the instruction of each frame can call the frame above it", Unit: "edges",
			Skipped: "needs class files: give --jdk and --classpath",
		})
	}
	byCount := func(a, b Fault) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Place, b.Place)) }
	slices.SortFunc(report.Faults, byCount)
	slices.SortFunc(report.Doubts, byCount)
	return report, failed, nil
}

// check reads one recording. One of which nothing could be read ends as well, as far as consumers are concerned.
func check(ctx context.Context, reader Reader, name string, o Options, list []consumer) (*Recording, error) {
	in, err := openInput(ctx, name, o)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return checkInput(ctx, reader, name, in, o.Salvage, list)
}

func checkInput(ctx context.Context, reader Reader, name string, in *input, salvage string, list []consumer) (*Recording, error) {
	if ctx.Err() != nil { // that ended the input, of which the rest is read
		ctx = context.WithoutCancel(ctx)
	}
	r := &Recording{File: name, Form: in.form, Bytes: in.bytes, Profiler: recipe.ProfilerJFR}
	p := progress{}
	summary, err := reader(ctx, in.path, limits, func(record recording.Record) error {
		r.note(record)
		p.note(record)
		for _, c := range list {
			if err := c.Visit(record); err != nil {
				return err
			}
		}
		return nil
	})
	r.Writers = r.writers.of(r, summary.Types)
	for _, c := range list {
		c.ends(r)
	}
	r.Events, r.LostBytes = summary.Events, summary.LostBytes
	if failed := r.finish(ctx, in, p, salvage); failed != nil && ctx.Err() == nil {
		if err != nil { // what was read until then and what was not written are both told
			failed = fmt.Errorf("%w; %w", err, failed)
		}
		err = failed
	}
	switch {
	case err != nil && r.Chunks == 0 && len(r.Problems) == 0:
		return nil, err
	case ctx.Err() != nil:
		r.Incomplete = "the reading was ended: " + context.Cause(ctx).Error()
	case err != nil:
		r.Incomplete = err.Error()
	case in.cut != nil:
		r.Incomplete = in.cut.Error()
	}
	if r.Chunks == 0 { // nothing could be read
		return nil, r.unreadable()
	}
	return r, nil
}

// mostProblems and mostVersions of a recording are kept.
const (
	mostProblems = 100
	mostVersions = 16
)

// note takes what a record says of the recording as a whole.
func (r *Recording) note(record recording.Record) {
	r.writers.note(record)
	switch record := record.(type) {
	case *recording.Chunk:
		r.Chunks++
		begin := time.Unix(0, record.StartNanos).UTC()
		if r.Begin.IsZero() || begin.Before(r.Begin) {
			r.Begin = begin
		}
		if end := begin.Add(time.Duration(record.DurationNanos)); end.After(r.End) {
			r.End = end
		}
	case *recording.Problem:
		if len(r.Problems) < mostProblems {
			r.Problems = append(r.Problems, Problem{record.Chunk, record.Offset, record.Message})
		}
	case *recording.Setting:
		if version := jvmVersion(record); version != "" {
			r.JVM = version
			if !slices.Contains(r.versions, version) && len(r.versions) < mostVersions {
				r.versions = append(r.versions, version)
			}
		}
		if chunks.ByAsync(record) {
			r.Profiler = recipe.ProfilerAsync
		}
	case *recording.Event:
		if strings.HasPrefix(record.Type, "profiler.") || strings.HasPrefix(record.Type, "datadog.") {
			r.Profiler = recipe.ProfilerAsync
		}
	}
}

func (r *Recording) unreadable() error {
	if len(r.Problems) == 0 {
		return ErrUnreadable
	}
	p := r.Problems[0]
	damage := ""
	if r.Damage != nil {
		damage = "; it looks as if " + r.Damage.What
	}
	if r.Salvaged > 0 {
		damage += fmt.Sprintf("; %d chunks that are whole were written", r.Salvaged)
	}
	return fmt.Errorf("%w: offset %d: %s%s", ErrUnreadable, p.Offset, p.Message, damage)
}

// topped reports the most frequent groups.
type topped struct {
	*samples
	top int
}

func (t *topped) report(r *Report) { t.samples.report(r, t.top) }

// chunkOrder is the check of chunks, with a judge for each recording: in which JVM it was made is known at its end.
type chunkOrder struct {
	*chunks.Judge
	severity *severity
	check    Check
	found    faults
	touched  uint64
}

func newChunkOrder() *chunkOrder {
	return &chunkOrder{
		Judge: chunks.New(mostFaults, recipe.ProfilerJFR), severity: newSeverity(), found: faults{},
		check: Check{
			Name: recipe.JfrChunks, What: "each chunk defines what its events refer to, once, and is in order", Unit: "references",
		},
	}
}

// Visit takes a record.
func (c *chunkOrder) Visit(r recording.Record) error {
	c.severity.Visit(r)
	return c.Judge.Visit(r)
}

func (c *chunkOrder) ends(r *Recording) {
	v := c.Verdicts()
	c.touched = saturated(c.touched, c.severity.spoilt(v.Mismatches))
	defer func() { c.Judge, c.severity = chunks.New(mostFaults, recipe.ProfilerJFR), newSeverity() }()
	c.check.add(v.Count)
	for _, m := range v.Mismatches {
		f := m.GetRecordingFault()
		touched := c.severity.of(m)
		c.found.add(Fault{
			Touches: touched.class(), Samples: touched.samples, Events: touched.events,
			Check: recipe.JfrChunks, Kind: m.GetKind(), Count: m.GetCount(), Place: placeOf(f),
			Detail: fmt.Sprintf("%s; %s, chunk %d, position %d", f.GetDetail(), r.File, f.GetChunk(), f.GetPosition()),
			Known:  r.knownAs(m), Profiler: r.blamed(),
		})
	}
}

func (c *chunkOrder) report(r *Report) {
	r.Checks = append(r.Checks, c.check)
	r.Faults = append(r.Faults, c.found.list()...)
	r.Touched = saturated(r.Touched, c.touched)
}

// placeOf names what a fault of a chunk is about: constants and who refers to them, events beside their chunk, or the chunk.
func placeOf(f *misstepv1.RecordingFault) string {
	from := strings.Trim(f.GetReferrer()+"."+f.GetField(), ".")
	switch {
	case f.GetType() == "":
		return from
	case f.GetReferrer() == "" && (from == "before" || from == "after"):
		return f.GetType() + " " + from + " its chunk"
	case from == "":
		return f.GetType()
	}
	return f.GetType() + " in " + from
}
