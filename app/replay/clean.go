package replay

import (
	"context"
	"fmt"
	"log/slog"

	"misstep/app"
	"misstep/app/executors"
	"misstep/app/local"
	"misstep/bundle"
	"misstep/corpus"
	misstepv1 "misstep/proto/misstep/v1"
)

// Clean repeats a bundle in a new folder, without caches or a coordinator, and with a fresh seed for each try unless the bug needs
// its own. blobs are the coordinator's: they contain the bundle's JDK if the catalogue does not.
func Clean(
	ctx context.Context, i local.Installation, blobs corpus.Source, path string, tries uint32, say app.Say, logger *slog.Logger,
) (*misstepv1.Reliability, error) {
	b, err := bundle.Open(path)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	scratch, remove, err := executors.Scratch("misstep-clean-")
	if err != nil {
		return nil, err
	}
	defer remove()
	home, err := sameBuild(ctx, i, blobs, b.Reproducer().GetRecipe().GetJdk())
	if err != nil {
		return nil, fmt.Errorf("replay %s: %w", path, err)
	}
	ready, err := Prepare(ctx, i, b, home, scratch)
	if err != nil {
		return nil, fmt.Errorf("replay %s: %w", path, err)
	}
	executor, err := executors.Route(ready.Host, i.Home, "", logger)
	if err != nil {
		return nil, err
	}
	tally, shown := Tally{Others: map[string]int{}}, Shows(b.Reproducer().GetFinding())
	for try := range tries {
		outcome, err := executor.Run(ctx, withSeed(b.Reproducer(), ready.Recipe, try), nil)
		if err != nil {
			return nil, fmt.Errorf("replay %s: try %d: %w", path, try+1, err)
		}
		tally.Count(outcome, shown)
		say("clean: %d of %d tries of the bundle showed it", tally.Hits, tally.Tries)
	}
	if tally.Tries == 0 {
		return nil, fmt.Errorf("replay %s: %w", path, tally.AllVoid())
	}
	return tally.Reliability(), nil
}

// sameBuild returns the folder of exactly this JDK from the corpus, or an empty string if the catalogue has it. A replay would
// otherwise use the JDK of the PATH, which proves nothing about the bundle.
func sameBuild(ctx context.Context, i local.Installation, blobs corpus.Source, jdk *misstepv1.Jdk) (string, error) {
	if _, here := i.JDKByDigest(jdk.GetDigest()); here {
		return "", nil
	}
	home, _, err := i.Provider(blobs).JDK(ctx, jdk)
	if err != nil {
		return "", fmt.Errorf("%w; add that build (%s, %s) with `misstep jdk add`, or skip the clean tries with --clean-tries 0",
			err, jdk.GetVersion(), jdk.GetDigest())
	}
	return home, nil
}
