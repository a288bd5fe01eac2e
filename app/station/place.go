package station

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"misstep/corpus"
	"misstep/internal/atomicfile"
)

// place is where blobs are, as far as the note about them is concerned.
type place interface {
	// note returns the text of the note; empty when there is none.
	note(ctx context.Context) (string, error)
	// write replaces the note, or, unless replace, writes it when there is none.
	write(ctx context.Context, text string, replace bool) error
	// empty reports whether there are no blobs.
	empty(ctx context.Context) (bool, error)
	String() string
}

// folderPlace is a folder with blobs.
type folderPlace string

func (f folderPlace) String() string { return string(f) }

func (f folderPlace) note(context.Context) (string, error) {
	text, err := os.ReadFile(filepath.Join(string(f), ownerName))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(text), err
}

func (f folderPlace) write(_ context.Context, text string, replace bool) error {
	path := filepath.Join(string(f), ownerName)
	if replace {
		return atomicfile.Write(path, []byte(text), 0o644)
	}
	temporary, err := os.CreateTemp(string(f), ".owner-*")
	if err != nil {
		return err
	}
	defer os.Remove(temporary.Name())
	_, err = temporary.WriteString(text)
	if err := errors.Join(err, temporary.Chmod(0o644), temporary.Sync(), temporary.Close()); err != nil {
		return err
	}
	return os.Link(temporary.Name(), path) // which fails when the file is there
}

func (f folderPlace) empty(context.Context) (bool, error) {
	names, err := os.ReadDir(string(f))
	for _, name := range names {
		if len(name.Name()) != 2 { // the folders of blobs are named by two digits
			continue
		}
		blobs, err := os.ReadDir(filepath.Join(string(f), name.Name()))
		if err != nil || len(blobs) > 0 {
			return false, err
		}
	}
	return true, err
}

// namedObjects are the small objects of a bucket.
type namedObjects interface {
	ReadName(ctx context.Context, name string, limit int64) ([]byte, error)
	WriteName(ctx context.Context, name string, data []byte) error
	AddName(ctx context.Context, name string, data []byte) error
	Empty(ctx context.Context) (bool, error)
	Location() string
}

// bucketPlace is a bucket with blobs.
type bucketPlace struct{ bucket namedObjects }

func (b bucketPlace) String() string { return b.bucket.Location() }

// ownerLimit is more than a note has.
const ownerLimit = 4 << 10

func (b bucketPlace) note(ctx context.Context) (string, error) {
	text, err := b.bucket.ReadName(ctx, ownerName, ownerLimit)
	if errors.Is(err, corpus.ErrNotFound) {
		return "", nil
	}
	return string(text), err
}

func (b bucketPlace) write(ctx context.Context, text string, replace bool) error {
	if replace {
		return b.bucket.WriteName(ctx, ownerName, []byte(text))
	}
	return b.bucket.AddName(ctx, ownerName, []byte(text))
}

func (b bucketPlace) empty(ctx context.Context) (bool, error) { return b.bucket.Empty(ctx) }
