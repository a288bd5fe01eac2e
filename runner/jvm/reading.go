package jvm

import (
	"context"
	"errors"

	"misstep/recipe"
	"misstep/runner/recording"
)

// maxEvents bounds the events of a recording that are judged, since judges keep them. The tap notes fewer calls (maxTap).
const maxEvents = 2 << 20

var errEnough = errors.New("the recording has more events than are judged")

// reading passes the records of a recording on to the judges, and notes what prevented it from being read whole.
type reading struct {
	list           []consumer
	chunks, events int
	// refused is the error of a judge.
	refused error
	// places are the chunks that could not be read on, by the reason for which checks are void; place is the last of them.
	places map[string]uint64
	place  int
	// ended is why there is nothing after what was read, "" if all was.
	ended string
}

func (r *reading) visit(record recording.Record) error {
	switch record := record.(type) {
	case *recording.Problem:
		r.problem(record)
	case *recording.Chunk:
		r.chunks++
	case *recording.Event:
		if r.events++; r.events > maxEvents {
			return errEnough
		}
	}
	for _, c := range r.list {
		if r.refused = c.Visit(record); r.refused != nil {
			return r.refused
		}
	}
	return nil
}

// problem notes a place. Others of the same chunk follow from the first one: what the recorder had not finished cannot be whole.
func (r *reading) problem(p *recording.Problem) {
	switch {
	case r.places == nil:
		r.places = map[string]uint64{}
	case p.Chunk == r.place:
		return
	}
	r.place = p.Chunk
	r.places[problemReasons[p.Kind]]++
}

var problemReasons = map[recording.ProblemKind]string{
	recording.UnspecifiedProblem: recipe.BrokenRecording,
	recording.CutFile:            recipe.CutRecording,
	recording.Unfinished:         recipe.CutRecording,
	recording.Limit:              recipe.ReadingLimit,
	recording.Layout:             recipe.BrokenRecording,
	recording.Parser:             recipe.BrokenRecording,
}

// finish takes what the helper returned. An error is an infrastructure failure.
func (r *reading) finish(summary recording.Summary, err error) error {
	switch {
	case r.refused != nil:
		return r.refused
	case errors.Is(err, errEnough), errors.Is(err, context.DeadlineExceeded), errors.Is(err, recording.ErrMemory),
		errors.Is(err, recording.ErrNoEnd) && r.chunks > 0, err == nil && !summary.Complete:
		r.ended = recipe.ReadingLimit
	case err != nil:
		return err
	case r.chunks == 0 && len(r.places) == 0:
		r.ended = recipe.EmptyRecording
	}
	return nil
}

// void returns the reasons for which a check is void, with their numbers. The check jfr-chunks judges the places itself.
func (r *reading) void(check string) map[string]uint64 {
	reasons := map[string]uint64{}
	if check != recipe.JfrChunks {
		for reason, n := range r.places {
			reasons[reason] += n
		}
	}
	if r.ended != "" {
		reasons[r.ended]++
	}
	return reasons
}
