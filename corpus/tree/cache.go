package tree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"misstep/corpus"
	"misstep/internal/atomicfile"
	"misstep/internal/filelock"
)

// Cache is a folder of trees, each below the digits of its digest, for all processes of this host. Its methods are safe for
// concurrent use.
//
// Beside a tree DIGITS there are its manifest, DIGITS.manifest, and a file DIGITS.lock, locked by who fetches it. DIGITS.part has
// the files of a fetch that was interrupted, which the next one verifies and keeps.
type Cache struct {
	// Dir is the folder; it is created when it is missing.
	Dir string
}

// Get returns the folder of a tree, which it fetches from source when it is not there, once for all who ask at the same time. Files
// that another tree of the cache has are taken from there. Errors are those of Fetch.
func (c Cache) Get(ctx context.Context, source corpus.Opener, digest corpus.Digest) (string, error) {
	dir := filepath.Join(c.Dir, digest.Hex())
	if isDir(dir) {
		return dir, nil
	}
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return "", fmt.Errorf("fetch tree %s: %w", digest, err)
	}
	unlock, err := lockFile(ctx, dir+".lock")
	if err != nil {
		return "", fmt.Errorf("fetch tree %s: %w", digest, err)
	}
	defer unlock()
	if isDir(dir) {
		return dir, nil // another one has fetched it meanwhile
	}
	if err := c.fetch(ctx, source, digest, dir); err != nil {
		return "", fmt.Errorf("fetch tree %s into %s: %w", digest, dir, err)
	}
	return dir, nil
}

func (c Cache) fetch(ctx context.Context, source corpus.Opener, digest corpus.Digest, dir string) error {
	m, err := Open(ctx, source, digest)
	if err != nil {
		return err
	}
	part := dir + ".part"
	if err := os.MkdirAll(part, 0o755); err != nil {
		return err
	}
	near, alike := c.near()
	if err := fill(ctx, nearFirst{near, alike, source}, m, part); err != nil {
		return explain(err, m)
	}
	if err := atomicfile.Write(dir+manifestSuffix, m.Bytes(), 0o444); err != nil {
		return err
	}
	return os.Rename(part, dir)
}

const manifestSuffix = ".manifest"

// near returns where in the cache the files of its trees are: by digest, and by path for those that may be alike.
func (c Cache) near() (found map[corpus.Digest]string, alike map[string]string) {
	found, alike = map[corpus.Digest]string{}, map[string]string{}
	names, err := os.ReadDir(c.Dir)
	if err != nil {
		return found, alike // the cache is only quicker
	}
	for _, name := range names {
		digits, ok := strings.CutSuffix(name.Name(), manifestSuffix)
		if !ok || !isDir(filepath.Join(c.Dir, digits)) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(c.Dir, name.Name()))
		if err != nil {
			continue
		}
		m, err := Parse(text)
		if err != nil {
			continue
		}
		for d, e := range m.files() {
			found[d] = filepath.Join(c.Dir, digits, filepath.FromSlash(e.Path))
			alike[e.Path] = found[d]
		}
	}
	return found, alike
}

// nearFirst opens blobs in files of this host when they are there and undamaged, and otherwise far away.
type nearFirst struct {
	near  map[corpus.Digest]string
	alike map[string]string
	far   corpus.Opener
}

// fetchAlike writes an entry's file to target with the help of a file that is alike, if there is one.
func (n nearFirst) fetchAlike(ctx context.Context, e Entry, target io.Writer) (done bool, err error) {
	far, ok := n.far.(Ranger)
	path := n.alike[e.Path]
	if _, here := n.near[e.Digest]; !ok || path == "" || here || e.Size < minAlike {
		return false, nil
	}
	return fetchAlike(ctx, far, path, e, target)
}

// Open implements corpus.Opener.
func (n nearFirst) Open(ctx context.Context, digest corpus.Digest) (io.ReadCloser, int64, error) {
	if path, ok := n.near[digest]; ok {
		if file, size, err := openVerified(ctx, path, digest); err == nil {
			return file, size, nil
		}
	}
	return n.far.Open(ctx, digest)
}

// openVerified opens a file that has a digest. It reads it twice: a damaged one must not fail the fetch.
func openVerified(ctx context.Context, path string, digest corpus.Digest) (io.ReadCloser, int64, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	_, size, err := corpus.Receive(ctx, io.Discard, file, digest, 0)
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	return file, size, nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// lockFile locks a file, which it creates, until unlock is called or the process ends.
func lockFile(ctx context.Context, path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	return filelock.Wait(ctx, file, nil)
}

// explain adds how much space a tree needs to an error of a full disk.
func explain(err error, m Manifest) error {
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		return fmt.Errorf("the disk or quota is full; free space there (%d MiB needed): %w", m.Size()>>20+1, err)
	}
	return err
}

// keep reports whether an interrupted fetch has left a file whole, and removes it otherwise.
func keep(ctx context.Context, root *os.Root, e Entry) (bool, error) {
	file, err := root.Open(e.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err == nil && info.Size() == e.Size && info.Mode().IsRegular() {
		_, _, err := corpus.Receive(ctx, io.Discard, file, e.Digest, 0)
		if err == nil {
			return true, file.Chmod(e.mode())
		}
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
	}
	return false, root.Remove(e.Path)
}

func (e Entry) mode() fs.FileMode {
	if e.Kind == KindExecutable {
		return 0o555
	}
	return 0o444
}
