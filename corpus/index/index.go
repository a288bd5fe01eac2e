package index

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"

	"misstep/corpus"
	"misstep/internal/atomicfile"
)

// Index lists the entries of a corpus. It is safe for concurrent use.
type Index interface {
	// Entries returns all entries, in any order.
	Entries(ctx context.Context) ([]Entry, error)
	// Add adds an entry whose blobs are stored; adding it again changes nothing.
	Add(ctx context.Context, e Entry) error
}

// Corpus is a store with its index.
type Corpus struct {
	corpus.Store
	Index
}

// RefusedError is why a corpus does not accept an entry: the entry or one of its blobs is at fault, not the corpus.
type RefusedError struct{ Err error }

// Error returns the reason.
func (r *RefusedError) Error() string { return r.Err.Error() }

// Unwrap returns the reason.
func (r *RefusedError) Unwrap() error { return r.Err }

// maxEntries bounds the index that Objects reads.
const maxEntries = 1_000_000

const indexDir = "index"

// Folder returns the index of a corpus in the folder dir: DIR/index/ holds each entry's text in a file named by the 64 digits of
// its digest.
func Folder(dir string) Index { return folder{filepath.Join(dir, indexDir)} }

// InFolder reports whether the folder dir has an index, be it empty.
func InFolder(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, indexDir))
	return err == nil && info.IsDir()
}

type folder struct{ dir string }

func (f folder) Entries(ctx context.Context) ([]Entry, error) {
	names, err := os.ReadDir(f.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read index: %w", err)
	}
	var entries []Entry
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if strings.HasPrefix(name.Name(), ".") {
			continue // being written
		}
		text, err := os.ReadFile(filepath.Join(f.dir, name.Name()))
		if err != nil {
			return nil, fmt.Errorf("read index: %w", err)
		}
		e, err := verified(text, name.Name())
		if err != nil {
			return nil, fmt.Errorf("read index: %s: %w", filepath.Join(f.dir, name.Name()), err)
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// Add syncs the entry to the disk before it becomes visible.
func (f folder) Add(_ context.Context, e Entry) error {
	if err := f.add(e); err != nil {
		return fmt.Errorf("add to index: %w", err)
	}
	return nil
}

func (f folder) add(e Entry) error {
	name := filepath.Join(f.dir, e.Digest().Hex())
	if _, err := os.Lstat(name); err == nil {
		return nil
	}
	if err := os.MkdirAll(f.dir, 0o755); err != nil {
		return err
	}
	return atomicfile.Write(name, e.Text(), 0o444)
}

// Named is an object store, as far as an index needs it.
type Named interface {
	List(ctx context.Context, dir string) ([]string, error)
	ReadName(ctx context.Context, name string, limit int64) ([]byte, error)
	WriteName(ctx context.Context, name string, data []byte) error
}

// Objects returns an index whose entries are the objects index/DIGITS.
func Objects(store Named) Index { return objects{store} }

type objects struct{ store Named }

func (o objects) Entries(ctx context.Context) ([]Entry, error) {
	names, err := o.store.List(ctx, indexDir)
	if err != nil {
		return nil, fmt.Errorf("read index: %w", err)
	}
	if len(names) > maxEntries {
		return nil, fmt.Errorf("read index: %d entries, at most %d are read", len(names), maxEntries)
	}
	entries := make([]Entry, len(names))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(16)
	for i, name := range names {
		group.Go(func() error {
			text, err := o.store.ReadName(ctx, indexDir+"/"+name, MaxEntry)
			if err == nil {
				entries[i], err = verified(text, name)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("read index: %w", err)
	}
	return entries, nil
}

func (o objects) Add(ctx context.Context, e Entry) error {
	if err := o.store.WriteName(ctx, indexDir+"/"+e.Digest().Hex(), e.Text()); err != nil {
		return fmt.Errorf("add to index: %w", err)
	}
	return nil
}

// verified parses an entry and checks that its name is its digest.
func verified(text []byte, name string) (Entry, error) {
	if got := corpus.DigestBytes(text); got.Hex() != name {
		return Entry{}, fmt.Errorf("damaged: its bytes have digest %s", got)
	}
	return ParseEntry(text)
}
