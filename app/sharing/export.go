package sharing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"misstep/bundle"
	"misstep/corpus"
	"misstep/corpus/index"
	"misstep/corpus/localdir"
	"misstep/internal/atomicfile"
)

// Export writes the bundles of a corpus as files below dir, with their signatures, and their shared files below bundle.SharedDir in
// it; findings are ids or prefixes of ids, none means all. It calls written with each path. An existing file must hold the same
// bytes.
func Export(ctx context.Context, from index.Corpus, dir string, findings []string, written func(path string)) error {
	entries, err := Entries(ctx, from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	found := map[string]bool{"": false} // by prefix; "" for all
	for _, entry := range entries {
		wanted := len(findings) == 0
		for _, id := range findings {
			if strings.HasPrefix(entry.Finding, id) {
				wanted, found[id] = true, true
			}
		}
		if !wanted {
			continue
		}
		found[""] = true
		// One finding may have several bundles: the digest tells them apart.
		name := filepath.Join(dir, entry.Finding+"-"+entry.Bundle.Digest.Hex()[:12]+".zip")
		if err := exportBlob(ctx, from, entry.Bundle, name); err != nil {
			return err
		}
		if !entry.Signature.Digest.IsZero() {
			if err := exportBlob(ctx, from, entry.Signature, name+bundle.SignatureSuffix); err != nil {
				return err
			}
		}
		if err := exportShared(ctx, from, entry.Shared, filepath.Join(dir, bundle.SharedDir)); err != nil {
			return err
		}
		written(name)
	}
	var missing []string
	for _, id := range findings {
		if !found[id] {
			missing = append(missing, id)
		}
	}
	if len(missing) > 0 || !found[""] {
		return fmt.Errorf("the corpus has no such bundle: %s; `misstep corpus list` shows what it has",
			cmp.Or(strings.Join(missing, ", "), "it is empty"))
	}
	return nil
}

// exportShared puts blobs into the folder of shared files dir, which is made for the first.
func exportShared(ctx context.Context, from corpus.Source, blobs []index.Blob, dir string) error {
	if len(blobs) == 0 {
		return nil
	}
	to, err := localdir.New(dir)
	if err != nil {
		return err
	}
	var digests []corpus.Digest
	for _, b := range blobs {
		digests = append(digests, b.Digest)
	}
	missing, err := to.Missing(ctx, digests)
	if err != nil {
		return err
	}
	for _, d := range missing {
		r, _, err := from.Open(ctx, d)
		if err != nil {
			return err
		}
		_, _, err = to.Put(ctx, r, d)
		if err := errors.Join(err, r.Close()); err != nil {
			return err
		}
	}
	return nil
}

// exportBlob writes a blob to a new file; an existing file must hold the same bytes.
func exportBlob(ctx context.Context, from corpus.Source, b index.Blob, path string) error {
	if f, err := os.Open(path); err == nil {
		defer f.Close()
		if _, _, err := corpus.Receive(ctx, io.Discard, f, b.Digest, 0); err != nil {
			return fmt.Errorf("%s exists and holds something else: move it away: %w", path, err)
		}
		return nil
	}
	r, _, err := from.Open(ctx, b.Digest)
	if err != nil {
		return err
	}
	defer r.Close()
	return atomicfile.WriteWith(path, func(w io.Writer) error {
		_, err := io.Copy(w, r)
		return err
	})
}
