package retention

import (
	"context"
	"errors"
	"io"

	"misstep/corpus"
	"misstep/corpus/tree"
)

// filesOfTrees marks the files of every marked blob that is the manifest of a tree.
func (m *Marks) filesOfTrees(ctx context.Context, source corpus.Opener) error {
	for d := range m.trees {
		manifest, ok, err := manifestOf(ctx, source, d)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		for entry := range manifest.Entries() {
			if !entry.Digest.IsZero() {
				m.add(entry.Digest, true)
			}
		}
	}
	return nil
}

// manifestOf reads a blob when it is the manifest of a tree. Digests that are not those of a blob here (an agent's, a signature's)
// are ignored.
func manifestOf(ctx context.Context, source corpus.Opener, d corpus.Digest) (m tree.Manifest, ok bool, err error) {
	r, size, err := source.Open(ctx, d)
	if errors.Is(err, corpus.ErrNotFound) {
		return tree.Manifest{}, false, nil
	}
	if err != nil {
		return tree.Manifest{}, false, err
	}
	defer r.Close()
	start := make([]byte, len(treeLine))
	if _, err := io.ReadFull(r, start); size > tree.MaxText || err != nil || string(start) != treeLine {
		return tree.Manifest{}, false, nil
	}
	rest, err := io.ReadAll(r)
	if err != nil {
		return tree.Manifest{}, false, err
	}
	m, err = tree.Parse(append(start, rest...))
	return m, err == nil, nil //nolint:nilerr // text that only begins like a manifest refers to nothing
}

// treeLine begins each manifest, as corpus/FORMAT.md has it.
const treeLine = "misstep-tree "
