package jfrcheck

import (
	"context"
	"errors"
	"strings"

	"misstep/runner/recording"
)

// progress is how far a recording was read.
type progress struct {
	chunk    *recording.Chunk
	starts   []int64
	problems []recording.Problem
	read     int64
	// bare samples have no stack, in a chunk whose constants may be in a part that is missing.
	bare       uint64
	unfinished bool
	nothing    bool // of the chunk at hand was judged
}

// note takes a record. The bytes of a chunk are read unless a problem says up to where.
func (p *progress) note(r recording.Record) {
	switch r := r.(type) {
	case *recording.Chunk:
		p.chunk, p.unfinished, p.nothing = r, false, false
		p.starts = append(p.starts, r.Offset)
		p.read += r.Bytes
	case *recording.Problem:
		if len(p.problems) < mostProblems {
			p.problems = append(p.problems, *r)
		}
		p.problem(r)
	case *recording.Event:
		if p.unfinished && samplerTypes[r.Type] && r.Stack == nil {
			p.bare++
		}
	}
}

func (p *progress) problem(r *recording.Problem) {
	switch {
	case p.chunk == nil || r.Chunk != p.chunk.Index:
	case r.Kind == recording.CutFile || r.Kind == recording.Unfinished:
		p.unfinished = true
	case !p.nothing:
		p.nothing = true
		p.read -= p.chunk.Bytes
		if !strings.HasPrefix(r.Message, "constants:") {
			p.read += max(r.Offset-p.chunk.Offset, 0)
		}
	}
}

// short is the number of bytes that the last chunk lacks by what a problem says of it.
func (p *progress) short() int64 {
	for _, problem := range p.problems {
		if problem.Missing > 0 {
			return problem.Missing
		}
	}
	return 0
}

// finish says how much of a recording was read and what damage it has, and writes what is whole of it.
func (r *Recording) finish(ctx context.Context, in *input, p progress, out string) error {
	r.ReadBytes = min(p.read, r.Bytes)
	damage, err := damageOf(in.path, p.problems, p.starts, p.short())
	if err != nil {
		return err
	}
	if damage != nil && damage.Kind == DamageUnfinished {
		damage.Lost = p.bare > 0 || r.ReadBytes < r.Bytes
	}
	r.Damage, r.MissingBytes = damage, p.short()
	if out == "" {
		return nil
	}
	r.Salvaged, err = salvage(ctx, in.path, out)
	if errors.Is(err, ErrNoWholeChunk) {
		return nil
	}
	return err
}
