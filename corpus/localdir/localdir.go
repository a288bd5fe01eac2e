// Package localdir stores a corpus in a folder, one file per blob.
//
// Layout, also in corpus/FORMAT.md: DIR/ab/ab12… (64 digits) for each blob, fanned out by the first two digits, mode 0444;
// DIR/tmp/ for blobs that are being written. Several processes may share the folder.
package localdir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"misstep/corpus"
)

// Store is a corpus.Store in a folder. Make one with New.
type Store struct {
	dir string
}

var _ corpus.Store = (*Store)(nil)

// New opens the corpus in dir, creating it if it does not exist, and removes what dead writers left in its tmp folder.
func New(dir string) (*Store, error) {
	s := &Store{dir: dir}
	if err := os.MkdirAll(s.tmp(), 0o755); err != nil {
		return nil, fmt.Errorf("open corpus: %w", err)
	}
	if err := s.sweep(); err != nil {
		return nil, fmt.Errorf("open corpus %s: %w", dir, err)
	}
	return s, nil
}

// Reader reads the blobs of a folder that another process or machine has written. It neither creates nor locks anything; the folder
// may be absent.
func Reader(dir string) corpus.Opener { return &Store{dir: dir} }

// Missing implements corpus.Source. Sweep keeps the blobs that it found for the grace time.
func (s *Store) Missing(ctx context.Context, digests []corpus.Digest) ([]corpus.Digest, error) {
	unlock, err := s.guard(unix.LOCK_SH)
	if err != nil {
		return nil, fmt.Errorf("look up blobs: %w", err)
	}
	defer unlock()
	var missing []corpus.Digest
	for _, d := range digests {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		there, err := s.refresh(d)
		if err != nil {
			return nil, fmt.Errorf("look up blob: %w", err)
		}
		if !there {
			missing = append(missing, d)
		}
	}
	return missing, nil
}

// Open implements corpus.Source.
func (s *Store) Open(ctx context.Context, digest corpus.Digest) (io.ReadCloser, int64, error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	file, err := os.Open(s.path(digest))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, fmt.Errorf("open blob %s in %s: %w", digest, s.dir, corpus.ErrNotFound)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("open blob: %w", err)
	}
	info, err := file.Stat()
	if err != nil {
		_ = file.Close()
		return nil, 0, fmt.Errorf("open blob: %w", err)
	}
	return corpus.VerifyReader(file, digest), info.Size(), nil
}

// Put implements corpus.Store. The blob is on the disk (fsync of file and folder) when it returns. A stored blob is replaced
// by the same bytes, which repairs one that the disk has damaged.
func (s *Store) Put(ctx context.Context, r io.Reader, want corpus.Digest) (corpus.Digest, int64, error) {
	digest, size, err := s.put(ctx, r, want)
	switch {
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		return corpus.Digest{}, 0, fmt.Errorf(
			"put blob in %s: the disk or quota is full; free space there or use another folder: %w",
			s.dir,
			err,
		)
	case err != nil:
		return corpus.Digest{}, 0, fmt.Errorf("put blob in %s: %w", s.dir, err)
	}
	return digest, size, nil
}

func (s *Store) put(ctx context.Context, r io.Reader, want corpus.Digest) (corpus.Digest, int64, error) {
	file, err := s.create()
	if err != nil {
		return corpus.Digest{}, 0, err
	}
	visible := false
	defer func() {
		if !visible {
			_ = os.Remove(file.Name())
		}
		_ = file.Close() // also drops the lock
	}()
	digest, size, err := corpus.Receive(ctx, file, r, want, corpus.MaxBlob)
	if err != nil {
		return corpus.Digest{}, 0, err
	}
	if err := errors.Join(file.Chmod(0o444), file.Sync()); err != nil {
		return corpus.Digest{}, 0, err
	}
	target := s.path(digest)
	if err := os.Mkdir(filepath.Dir(target), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return corpus.Digest{}, 0, err
	}
	unlock, err := s.guard(unix.LOCK_SH)
	if err != nil {
		return corpus.Digest{}, 0, err
	}
	defer unlock()
	if err := os.Rename(file.Name(), target); err != nil {
		return corpus.Digest{}, 0, err
	}
	visible = true
	return digest, size, syncFolders(filepath.Dir(target), s.dir)
}

func (s *Store) path(d corpus.Digest) string { return filepath.Join(s.dir, Path(d)) }

// Path returns the path of a blob below the folder.
func Path(d corpus.Digest) string {
	digits := d.Hex()
	return filepath.Join(digits[:2], digits)
}

func (s *Store) tmp() string { return filepath.Join(s.dir, "tmp") }

func syncFolders(dirs ...string) error {
	for _, dir := range dirs {
		folder, err := os.Open(dir)
		if err != nil {
			return err
		}
		if err := errors.Join(folder.Sync(), folder.Close()); err != nil {
			return fmt.Errorf("sync folder: %w", err)
		}
	}
	return nil
}
