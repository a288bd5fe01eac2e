package localdir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"misstep/corpus"
)

// MinGrace is the minimum time for which Sweep keeps a blob after somebody put it or asked about it: ten times the age at which
// Missing renews a blob's time.
const MinGrace = 10 * refreshAge

// refreshAge is the age from which Missing renews a blob's time; it leaves younger ones alone, to write less.
const refreshAge = 10 * time.Minute

// Sweep removes the blobs for which keep is false and that nobody has put or asked about since before; without remove it only
// counts them. before must be at least MinGrace ago.
//
// Writers may work at the same time. A writer that refers to a blob has put it, or Missing has reported it as present. Both renew
// the blob's time under a lock that Sweep takes as well. So nobody has asked since before for a blob that is old when it is
// removed, and for blobs that were referred to earlier keep is true.
func (s *Store) Sweep(ctx context.Context, keep func(corpus.Digest) bool, before time.Time, remove bool) (corpus.Swept, error) {
	var swept corpus.Swept
	err := s.walk(ctx, func(d corpus.Digest, info fs.FileInfo) error {
		switch {
		case keep(d):
			swept.Kept++
			return nil
		case !info.ModTime().Before(before):
			swept.Spared++
			return nil
		}
		if remove {
			removed, err := s.removeOld(d, before)
			if err != nil {
				return err
			}
			if !removed {
				swept.Spared++
				return nil
			}
		}
		swept.Removed++
		swept.Bytes += info.Size()
		return nil
	})
	if err != nil {
		return swept, fmt.Errorf("sweep corpus %s: %w", s.dir, err)
	}
	return swept, nil
}

// walk visits all blobs and ignores other files.
func (s *Store) walk(ctx context.Context, visit func(corpus.Digest, fs.FileInfo) error) error {
	folders, err := filepath.Glob(filepath.Join(escape(s.dir), "[0-9a-f][0-9a-f]"))
	if err != nil {
		return err
	}
	for _, folder := range folders {
		names, err := os.ReadDir(folder)
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := ctx.Err(); err != nil {
				return err
			}
			d, err := corpus.ParseDigest("sha256:" + name.Name())
			if err != nil || !name.Type().IsRegular() || name.Name()[:2] != filepath.Base(folder) {
				continue
			}
			info, err := name.Info()
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return err
			}
			if err := visit(d, info); err != nil {
				return err
			}
		}
	}
	return nil
}

// escape quotes a folder's name for filepath.Glob.
func escape(dir string) string {
	var b []rune
	for _, c := range dir {
		if c == '[' || c == '*' || c == '?' || c == '\\' {
			b = append(b, '\\')
		}
		b = append(b, c)
	}
	return string(b)
}

// removeOld removes a blob unless its time was renewed meanwhile.
func (s *Store) removeOld(d corpus.Digest, before time.Time) (removed bool, err error) {
	unlock, err := s.guard(unix.LOCK_EX)
	if err != nil {
		return false, err
	}
	defer unlock()
	info, err := os.Stat(s.path(d))
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil || !info.ModTime().Before(before) {
		return false, err
	}
	return true, os.Remove(s.path(d))
}

// guard locks the folder of temporary files. By this lock a sweep, while it removes a blob, excludes those who put one or report
// that it is present.
func (s *Store) guard(how int) (unlock func(), err error) {
	file, err := os.Open(s.tmp())
	if err != nil {
		return nil, err
	}
	if err := lock(file, how); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() { _ = file.Close() }, nil
}

// refresh reports whether a blob is present and renews its time, so that no sweep removes it from under the caller.
func (s *Store) refresh(d corpus.Digest) (there bool, err error) {
	info, err := os.Stat(s.path(d))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil || time.Since(info.ModTime()) < refreshAge {
		return err == nil, err
	}
	now := time.Now()
	err = os.Chtimes(s.path(d), now, now)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.EROFS) {
		err = nil // a process that cannot write here does not add references here either
	}
	return true, err
}
