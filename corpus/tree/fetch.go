package tree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"misstep/corpus"
	"misstep/internal/filelock"
)

const fetchers = 4 // concurrent downloads

// Fetch copies the tree with the given digest from source to the new folder dst. The folder appears whole, verified and
// on the disk, or not at all. The error wraps fs.ErrExist when dst exists already, and corpus.ErrNotFound when source
// lacks the manifest or a file. Files are read-only, folders are not.
func Fetch(ctx context.Context, source corpus.Opener, digest corpus.Digest, dst string) error {
	if err := fetch(ctx, source, digest, dst); err != nil {
		return fmt.Errorf("fetch tree %s into %s: %w", digest, dst, err)
	}
	return nil
}

func fetch(ctx context.Context, source corpus.Opener, digest corpus.Digest, dst string) error {
	if _, err := os.Lstat(dst); err == nil {
		return fs.ErrExist
	}
	m, err := Open(ctx, source, digest)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(dst), 0o755); err != nil {
		return err
	}
	Sweep(filepath.Dir(dst))
	temporary, unlock, err := filelock.Folder(filepath.Dir(dst), workPattern)
	if err != nil {
		return err
	}
	defer unlock()
	defer os.RemoveAll(temporary)
	if err := fill(ctx, source, m, temporary); err != nil {
		return explain(err, m)
	}
	if err := os.Chmod(temporary, 0o755); err != nil {
		return err
	}
	if err := os.Rename(temporary, dst); err != nil {
		if _, there := os.Lstat(dst); there == nil {
			return fs.ErrExist // another process has fetched it meanwhile
		}
		return err
	}
	return nil
}

// Open reads and checks the manifest with the given digest.
func Open(ctx context.Context, source corpus.Opener, digest corpus.Digest) (Manifest, error) {
	text, err := corpus.ReadAll(ctx, source, digest, MaxText)
	if err != nil {
		return Manifest{}, fmt.Errorf("manifest: %w", err)
	}
	if got := corpus.DigestBytes(text); got != digest {
		return Manifest{}, fmt.Errorf("manifest: %w", &corpus.MismatchError{Want: digest, Got: got})
	}
	return Parse(text)
}

// fill creates m's entries in dir, which may have some of them already. os.Root ensures once more that nothing is written outside.
func fill(ctx context.Context, source corpus.Opener, m Manifest, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(fetchers)
	for e := range m.Entries() {
		switch {
		case ctx.Err() != nil:
		case e.Kind == KindDir:
			if err := root.Mkdir(e.Path, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
				return errors.Join(err, group.Wait())
			}
		case e.isFile():
			group.Go(func() error { return fetchFile(ctx, source, root, e) })
		}
	}
	if err := group.Wait(); err != nil {
		return err
	}
	// Links come last: no file is written through one.
	for e := range m.Entries() {
		if e.Kind == KindLink {
			if err := root.Symlink(e.Target, e.Path); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
		}
	}
	return syncAll(dir)
}

func fetchFile(ctx context.Context, source corpus.Opener, root *os.Root, e Entry) (err error) {
	if there, err := keep(ctx, root, e); err != nil || there {
		return err
	}
	file, err := root.OpenFile(e.Path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if near, ok := source.(nearFirst); ok {
		done, err := near.fetchAlike(ctx, e, file)
		if err == nil && done {
			if _, err = file.Seek(0, io.SeekStart); err == nil {
				_, _, err = corpus.Receive(ctx, io.Discard, file, e.Digest, 0)
			}
		}
		if err == nil && done {
			return file.Chmod(e.mode())
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := restart(file); err != nil { // in the ordinary way, which also says what is wrong
			return err
		}
	}
	blob, _, err := source.Open(ctx, e.Digest)
	if err != nil {
		return fmt.Errorf("%s: %w", e.Path, err)
	}
	defer blob.Close()
	_, size, err := corpus.Receive(ctx, file, io.LimitReader(blob, e.Size+1), e.Digest, 0)
	if err != nil {
		return fmt.Errorf("%s: %w", e.Path, err)
	}
	if size != e.Size {
		return fmt.Errorf("%s: blob %s does not have the %d bytes that the manifest lists", e.Path, e.Digest, e.Size)
	}
	return file.Chmod(e.mode())
}

// restart empties a file.
func restart(file *os.File) error {
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err := file.Seek(0, io.SeekStart)
	return err
}

// syncAll syncs the file system that holds dir: one call instead of one fsync for each of a JDK's files.
func syncAll(dir string) error {
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer folder.Close()
	if err := unix.Syncfs(int(folder.Fd())); err != nil {
		return fmt.Errorf("sync %s: %w", dir, err)
	}
	return nil
}
