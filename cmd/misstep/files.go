package main

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// writeFile copies r into a new file at path, replacing what is there only when all bytes are written.
func writeFile(path string, r io.Reader) error {
	return writeWith(path, func(w io.Writer) error {
		_, err := io.Copy(w, r)
		return err
	})
}

// writeWith writes a file through write, replacing what is at path only when that succeeds.
func writeWith(path string, write func(io.Writer) error) error {
	temp := path + ".part"
	f, err := os.Create(temp)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, errors.Join(err, os.Remove(temp)))
	}
	return os.Rename(temp, path)
}
