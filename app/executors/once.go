package executors

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"misstep/app/local"
	"misstep/app/station"
	"misstep/corpus"
	"misstep/corpus/localdir"
	"misstep/corpus/memory"
	"misstep/internal/atomicfile"
	misstepv1 "misstep/proto/misstep/v1"
)

// Once runs a resolved recipe without a coordinator.
type Once struct {
	Recipe *misstepv1.Recipe
	// Evidence is a folder for the evidence, by name; empty keeps none.
	Evidence string
	// Record is a new folder for a recording of the recipe's virtual machine; empty records none.
	Record string
}

// Run runs the recipe once. When the workload failed by itself, stderr is the end of what it wrote there. An error means that the
// recipe could not be run.
func (o Once) Run(ctx context.Context, i local.Installation, logger *slog.Logger) (outcome *misstepv1.Outcome, stderr string,
	err error,
) {
	scratch, remove, err := Scratch("misstep-run-")
	if err != nil {
		return nil, "", err
	}
	defer remove()
	var blobs corpus.Store = memory.New()
	if o.Evidence != "" {
		if blobs, err = localdir.New(filepath.Join(scratch, "blobs")); err != nil {
			return nil, "", err
		}
	}
	executor, err := Host(i, blobs, filepath.Join(scratch, "trials"))
	if err != nil {
		return nil, "", err
	}
	routed, err := Route(executor, i.Home, o.Record, logger)
	if err != nil {
		return nil, "", err
	}
	outcome, err = routed.Run(ctx, o.Recipe, nil)
	if err != nil {
		return nil, "", err
	}
	if o.Evidence != "" {
		for _, ev := range outcome.GetEvidence() {
			if err := saveEvidence(ctx, blobs, ev, o.Evidence); err != nil {
				return nil, "", err
			}
		}
	}
	if outcome.GetKind() == misstepv1.OutcomeKind_OUTCOME_KIND_APPLICATION_FAILURE {
		if stderr, err = stderrTail(ctx, blobs, outcome); err != nil {
			return nil, "", err
		}
	}
	return outcome, stderr, nil
}

func saveEvidence(ctx context.Context, blobs corpus.Source, ev *misstepv1.Evidence, dir string) error {
	r, err := station.Evidence(ctx, blobs, ev)
	if err != nil {
		return err
	}
	defer r.Close()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make evidence folder: %w", err)
	}
	return atomicfile.WriteWith(filepath.Join(dir, filepath.Base(ev.GetName())), func(w io.Writer) error {
		_, err := io.Copy(w, r)
		return err
	})
}

// tailBytes is how much of a failed workload's stderr is shown.
const tailBytes = 2 << 10

// stderrTail is the end of a trial's stderr, from the beginning of a line on.
func stderrTail(ctx context.Context, blobs corpus.Source, outcome *misstepv1.Outcome) (string, error) {
	for _, ev := range outcome.GetEvidence() {
		if ev.GetName() != "stderr.txt" {
			continue
		}
		r, err := station.Evidence(ctx, blobs, ev)
		if err != nil {
			return "", err
		}
		defer r.Close()
		text, err := io.ReadAll(r)
		if err != nil {
			return "", fmt.Errorf("read stderr.txt: %w", err)
		}
		if len(text) > tailBytes {
			_, text, _ = bytes.Cut(text[len(text)-tailBytes:], []byte("\n"))
		}
		return string(text), nil
	}
	return "", nil
}
