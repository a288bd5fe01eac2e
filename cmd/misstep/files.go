package main

import (
	"io"

	"misstep/internal/atomicfile"
)

// writeFile copies r into a new file at path, replacing what is there only when all bytes are written.
func writeFile(path string, r io.Reader) error {
	return atomicfile.WriteWith(path, func(w io.Writer) error {
		_, err := io.Copy(w, r)
		return err
	})
}
