package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"misstep/coordinator/store/stores"
	"misstep/corpus"
	"misstep/corpus/index"
)

// checkTarget returns an error unless a folder is new, empty, or has a backup or a part of one, and nothing else.
func checkTarget(to string) error {
	names, err := os.ReadDir(to)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w; give a folder for backups", err)
	}
	for _, name := range names {
		n := name.Name()
		if n != manifestName && n != "blobs" && !strings.HasPrefix(n, "store-") && !strings.HasPrefix(n, "store.new") {
			return fmt.Errorf("%s has %s, which no backup has; give a folder for backups", to, n)
		}
	}
	return nil
}

// checkNew returns an error unless a folder is new or empty, or was being restored from the same backup when that broke off.
func checkNew(dir, from string) error {
	switch earlier, err := stores.Restoring(dir); {
	case err != nil:
		return err
	case earlier == from:
		return nil
	case earlier != "":
		return fmt.Errorf("it has a part of the backup %s: restore that again, which continues, or give a new folder", earlier)
	}
	names, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("%w; give a new folder", err)
	case stores.InFolder(dir) == nil:
		return errors.New("it has a store already: give a new folder")
	case len(names) > 0:
		return fmt.Errorf("it is not empty, it has %s: give a new folder", names[0].Name())
	}
	return nil
}

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
