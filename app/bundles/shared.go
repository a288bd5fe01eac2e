package bundles

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"misstep/app/local"
	"misstep/app/sharing"
	"misstep/bundle"
	"misstep/corpus"
	"misstep/corpus/localdir"
)

// beside is the folder of shared files beside bundles. It is made for the first of them: most workloads have none.
type beside struct{ dir string }

// Open implements corpus.Opener.
func (b beside) Open(ctx context.Context, d corpus.Digest) (io.ReadCloser, int64, error) {
	return localdir.Reader(b.dir).Open(ctx, d)
}

// Missing implements corpus.Source.
func (b beside) Missing(ctx context.Context, digests []corpus.Digest) ([]corpus.Digest, error) {
	store, err := localdir.New(b.dir)
	if err != nil {
		return nil, err
	}
	return store.Missing(ctx, digests)
}

// Put implements corpus.Store.
func (b beside) Put(ctx context.Context, r io.Reader, want corpus.Digest) (corpus.Digest, int64, error) {
	store, err := localdir.New(b.dir)
	if err != nil {
		return corpus.Digest{}, 0, err
	}
	return store.Put(ctx, r, want)
}

// Opened is an open bundle with the places of its shared files.
type Opened struct {
	*bundle.Bundle
	done func()
}

// Close releases the file and ends the connection to a corpus.
func (o *Opened) Close() error {
	o.done()
	return o.Bundle.Close()
}

// Open opens the bundle at path. Its shared files are looked for beside it, then in the workload of the same digest in the
// catalogue, then in the corpus at location (see sharing.Open), which is opened only where files are still missing; they may be
// missing there, too.
func Open(ctx context.Context, i local.Installation, path string, location sharing.Location) (*Opened, error) {
	b, err := bundle.Open(path)
	if err != nil {
		return nil, err
	}
	o := &Opened{Bundle: b, done: func() {}}
	if err := o.look(ctx, i, location); err != nil {
		return nil, errors.Join(fmt.Errorf("shared files of %s: %w", path, err), o.Close())
	}
	return o, nil
}

// look adds places where shared files may be. One that cannot be read is reported where it is used.
func (o *Opened) look(ctx context.Context, i local.Installation, location sharing.Location) error {
	if missing, err := o.Missing(ctx); err != nil || len(missing) == 0 {
		return nil //nolint:nilerr // see above
	}
	if d, err := corpus.ParseDigest(o.Reproducer().GetRecipe().GetWorkload().GetDigest()); err == nil {
		if entry, here := i.Workloads().ByDigest(d); here {
			o.Look("workload "+entry.Name+" of the catalogue", catalogued{dir: entry.Path, files: o.Shared()})
		}
	}
	if missing, err := o.Missing(ctx); err != nil || len(missing) == 0 {
		return nil //nolint:nilerr // see above
	}
	if !strings.Contains(location.Text, "://") {
		if _, err := os.Stat(location.Text); errors.Is(err, fs.ErrNotExist) {
			return nil // opening would create it
		}
	}
	c, done, err := sharing.Open(ctx, location)
	if err != nil {
		return err
	}
	o.Look("corpus "+location.Text, c)
	o.done = done
	return nil
}

// catalogued gives the shared files of a bundle from the folder of its workload in the catalogue.
type catalogued struct {
	dir   string
	files []bundle.File
}

// Open implements corpus.Opener.
func (c catalogued) Open(_ context.Context, d corpus.Digest) (io.ReadCloser, int64, error) {
	for _, f := range c.files {
		if f.Digest != d {
			continue
		}
		file, err := os.Open(filepath.Join(c.dir, filepath.FromSlash(f.InWorkload())))
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return nil, 0, err
		}
		info, err := file.Stat()
		if err != nil {
			return nil, 0, errors.Join(err, file.Close())
		}
		return corpus.VerifyReader(file, d), info.Size(), nil
	}
	return nil, 0, corpus.ErrNotFound
}
