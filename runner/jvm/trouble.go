package jvm

import (
	"misstep/recipe"
	"misstep/runner/recording"
)

// trouble is what prevented a recording from being read whole.
type trouble struct {
	// places are the chunks that could not be read on, by the reason for which checks are void; chunk is the last of them.
	places map[string]uint64
	chunk  int
	// ended is why there is nothing after what was read, "" if all was.
	ended string
}

// problem adds a problem. Others of the same chunk follow from the first one: what the recorder had not finished cannot be whole.
func (t *trouble) problem(p *recording.Problem) {
	switch {
	case t.places == nil:
		t.places = map[string]uint64{}
	case p.Chunk == t.chunk:
		return
	}
	t.chunk = p.Chunk
	t.places[problemReasons[p.Kind]]++
}

var problemReasons = map[recording.ProblemKind]string{
	recording.CutFile:    recipe.CutRecording,
	recording.Unfinished: recipe.CutRecording,
	recording.Limit:      recipe.ReadingLimit,
	recording.Layout:     recipe.BrokenRecording,
	recording.Parser:     recipe.BrokenRecording,
	// A helper that says no more than that there is one.
	recording.UnspecifiedProblem: recipe.BrokenRecording,
}

// of returns the reasons for which a check is void, with their numbers. The check jfr-chunks judges the places itself.
func (t *trouble) of(check string) map[string]uint64 {
	reasons := map[string]uint64{}
	if check != recipe.JfrChunks {
		for reason, n := range t.places {
			reasons[reason] += n
		}
	}
	if t.ended != "" {
		reasons[t.ended]++
	}
	return reasons
}
