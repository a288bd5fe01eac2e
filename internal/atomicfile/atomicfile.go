// Package atomicfile replaces files as a whole: a reader at any moment, even after a crash, finds either the old bytes or the new
// ones.
package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// Write writes data to the file at path, with permissions perm regardless of the umask. The folder must exist.
func Write(path string, data []byte, perm fs.FileMode) error {
	return replace(path, renameio.WithStaticPermissions(perm), func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// WriteWith lets write produce the contents of the file at path. If write fails, the file keeps its old contents. The permissions
// are those of a new file: 0666 without the umask's bits.
func WriteWith(path string, write func(io.Writer) error) error {
	return replace(path, renameio.WithPermissions(0o666), write)
}

func replace(path string, perm renameio.Option, write func(io.Writer) error) error {
	f, err := renameio.NewPendingFile(path, renameio.WithTempDir(filepath.Dir(path)), perm)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	err = write(f)
	if err == nil {
		err = f.CloseAtomicallyReplace()
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, errors.Join(err, f.Cleanup()))
	}
	return nil
}
