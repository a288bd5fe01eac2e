package backup

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"misstep/corpus"
	"misstep/corpus/index"
)

// copyIndex adds the entries of an index to that of a folder.
func copyIndex(ctx context.Context, from index.Index, dir string) error {
	entries, err := from.Entries(ctx)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := index.Folder(dir).Add(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

func digestOf(ctx context.Context, path string) (corpus.Digest, error) {
	file, err := os.Open(path)
	if err != nil {
		return corpus.Digest{}, err
	}
	defer file.Close()
	d, _, err := corpus.Receive(ctx, io.Discard, file, corpus.Digest{}, 0)
	return d, err
}

// removeStore removes a database file with the files beside it, which need not be there.
func removeStore(path string) error {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// removeOthers removes the files with rows of earlier backups.
func removeOthers(dir, name string) error {
	names, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, other := range names {
		if strings.HasPrefix(other.Name(), "store-") && !strings.HasPrefix(other.Name(), name) {
			if err := os.Remove(filepath.Join(dir, other.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}
