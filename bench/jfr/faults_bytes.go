package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"misstep/bench/trial"
	"misstep/recipe"
	"misstep/runner/judge"
	"misstep/runner/judge/altered"
	"misstep/runner/judge/chunks"
	"misstep/runner/recording"
)

// constantTries is the number of times that a change of constants is made, each time of others; headers are changed once.
const constantTries = 5

// bytes changes the bytes of the recording, and judges the changed one by itself.
func (s *sensitivity) bytes(ctx context.Context, bed *trial.Bed, reader recording.Helper, m *material, random *rand.Rand,
	until time.Time,
) error {
	file := m.files[0]
	data, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the recording: %w", err)
	}
	clean, err := judgeChunks(ctx, reader, file)
	if err != nil {
		return err
	}
	for _, change := range altered.OfBytes {
		tries := 1
		if change.Type == "jdk.types.Symbol" || change.Kind == "" {
			tries = constantTries
		}
		for range tries {
			if ctx.Err() != nil || !time.Now().Before(until) {
				return nil
			}
			split, err := altered.Split(slices.Clone(data))
			if err != nil {
				return err
			}
			if len(split) < 2 {
				return fmt.Errorf("it has %d chunk: expected two at least", len(split))
			}
			if split, err = change.Apply(random, split); err != nil {
				return err
			}
			path := filepath.Join(bed.Dir, "changed.jfr")
			if err := os.WriteFile(path, bytes.Join(split, nil), 0o600); err != nil {
				return fmt.Errorf("write the changed recording: %w", err)
			}
			after, err := judgeChunks(ctx, reader, path)
			if err != nil {
				return err
			}
			blind := ""
			if change.Kind == "" {
				blind = blindIDs
			}
			noticed := foundMore(clean, after, change)
			s.cell(change.Class, recipe.JfrChunks).count(blind, noticed, false, "not noticed")
		}
	}
	return nil
}

// foundMore reports whether there are more mismatches of the kind that says what was changed; of any kind where there is none.
func foundMore(clean, after judge.Verdicts, change altered.Bytes) bool {
	count := func(v judge.Verdicts) (n uint64) {
		for _, m := range v.Mismatches {
			if change.Kind == "" || m.GetKind() == change.Kind && m.GetRecordingFault().GetType() == change.Type {
				n += m.GetCount()
			}
		}
		return n
	}
	return count(after) > count(clean)
}

func judgeChunks(ctx context.Context, reader recording.Helper, file string) (judge.Verdicts, error) {
	j := chunks.New(1000, recipe.ProfilerJFR)
	_, _, err := reader.Read(ctx, file, recording.Limits{}, j.Visit)
	return j.Verdicts(), err
}
