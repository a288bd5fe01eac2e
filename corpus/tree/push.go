package tree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"misstep/corpus"
)

// Push stores the blobs of the tree m in the folder dir that store lacks: first the files, then the manifest, so that whoever
// finds the manifest finds the whole tree.
func Push(ctx context.Context, store corpus.Store, dir string, m Manifest) error {
	files := m.files()
	digests := make([]corpus.Digest, 0, len(files))
	for e := range m.Entries() { // not the map: a stable order
		if _, first := files[e.Digest]; first && files[e.Digest].Path == e.Path {
			digests = append(digests, e.Digest)
		}
	}
	missing, err := store.Missing(ctx, digests)
	if err != nil {
		return fmt.Errorf("push tree %s: %w", dir, err)
	}
	for _, d := range missing {
		if err := pushFile(ctx, store, filepath.Join(dir, filepath.FromSlash(files[d].Path)), d); err != nil {
			return fmt.Errorf("push tree %s: %w", dir, err)
		}
	}
	if _, _, err := store.Put(ctx, bytes.NewReader(m.Bytes()), m.Digest()); err != nil {
		return fmt.Errorf("push tree %s: manifest: %w", dir, err)
	}
	return nil
}

func pushFile(ctx context.Context, store corpus.Store, name string, want corpus.Digest) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	_, _, err = store.Put(ctx, file, want)
	if _, changed := errors.AsType[*corpus.MismatchError](err); changed {
		return fmt.Errorf("%s has changed since the tree was scanned: %w", name, err)
	}
	return err
}

// files maps each digest to the first entry that has it.
func (m Manifest) files() map[corpus.Digest]Entry {
	files := make(map[corpus.Digest]Entry, len(m.entries))
	for _, e := range m.entries {
		if _, known := files[e.Digest]; e.isFile() && !known {
			files[e.Digest] = e
		}
	}
	return files
}

type source struct {
	dir      string
	manifest []byte
	digest   corpus.Digest
	files    map[corpus.Digest]Entry
}

// Source serves the files and the manifest of the tree m from the folder dir, read-only. Reading a file that has changed since
// m was scanned fails with a *corpus.MismatchError.
func Source(dir string, m Manifest) corpus.Source {
	text := m.Bytes()
	return &source{dir: dir, manifest: text, digest: corpus.DigestBytes(text), files: m.files()}
}

func (s *source) Missing(ctx context.Context, digests []corpus.Digest) ([]corpus.Digest, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var missing []corpus.Digest
	for _, d := range digests {
		if _, ok := s.files[d]; !ok && d != s.digest {
			missing = append(missing, d)
		}
	}
	return missing, nil
}

func (s *source) Open(ctx context.Context, digest corpus.Digest) (io.ReadCloser, int64, error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	if digest == s.digest {
		return io.NopCloser(bytes.NewReader(s.manifest)), int64(len(s.manifest)), nil
	}
	entry, ok := s.files[digest]
	if !ok {
		return nil, 0, fmt.Errorf("open blob %s in tree %s: %w", digest, s.dir, corpus.ErrNotFound)
	}
	file, err := os.Open(filepath.Join(s.dir, filepath.FromSlash(entry.Path)))
	if err != nil {
		return nil, 0, fmt.Errorf("open blob %s: %w", digest, err)
	}
	return corpus.VerifyReader(file, digest), entry.Size, nil
}
