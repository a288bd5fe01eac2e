package main

import (
	"archive/tar"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
)

// maxArchive is the size that a release may have, in bytes.
const maxArchive = 80_000_000

// archive writes the folder as .tar.gz: every Debian can unpack that, while zstd is not on each machine.
func (r release) archive() error {
	file := r.folder() + ".tar.gz"
	err := write(file, func(w io.Writer) error {
		level := gzip.BestCompression
		if r.Quick {
			level = gzip.BestSpeed
		}
		z, err := gzip.NewWriterLevel(w, level)
		if err != nil {
			return err
		}
		return errors.Join(writeTar(z, r.folder(), r.name(), r.Time), z.Close())
	})
	if err != nil {
		return err
	}
	info, err := os.Stat(file)
	if err == nil && info.Size() > maxArchive && !r.Quick {
		err = fmt.Errorf("%s has %d bytes, more than %d", file, info.Size(), maxArchive)
	}
	return err
}

// writeTar writes the files below dir as below prefix: sorted, all of one time, owned by root.
func writeTar(w io.Writer, dir, prefix string, when time.Time) error {
	t := tar.NewWriter(w)
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error { // in lexical order
		if err != nil {
			return err
		}
		below, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		name := path.Join(prefix, filepath.ToSlash(below))
		if d.IsDir() {
			return t.WriteHeader(&tar.Header{
				Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o755, ModTime: when, Format: tar.FormatUSTAR,
			})
		}
		if !d.Type().IsRegular() {
			return fmt.Errorf("%s is no regular file", file)
		}
		return addFile(t, file, name, when)
	})
	return errors.Join(err, t.Close())
}

func addFile(t *tar.Writer, file, name string, when time.Time) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	err = t.WriteHeader(&tar.Header{
		Typeflag: tar.TypeReg, Name: name, Size: info.Size(), Mode: int64(mode(info.Mode())), ModTime: when,
		Format: tar.FormatUSTAR,
	})
	if err != nil {
		return err
	}
	_, err = io.Copy(t, f)
	return err
}

// sums writes the checksums of all files of dir but its own, as sha256sum --check reads them.
func sums(dir, name string) error {
	var text strings.Builder
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		below, err := filepath.Rel(dir, file)
		if err != nil || below == name {
			return err
		}
		digest, err := digestOf(file)
		fmt.Fprintf(&text, "%x  %s\n", digest, filepath.ToSlash(below))
		return err
	})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name), []byte(text.String()), 0o644)
}

func digestOf(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return h.Sum(nil), err
}

// write writes a file by fill, and leaves none that is not whole.
func write(file string, fill func(io.Writer) error) error {
	f, err := os.Create(file + ".part")
	if err != nil {
		return err
	}
	defer os.Remove(file + ".part")
	if err := errors.Join(fill(f), f.Close()); err != nil {
		return err
	}
	return os.Rename(file+".part", file)
}
