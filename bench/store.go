package bench

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// Store keeps what was measured in a file, a line of JSON each, so that a later run goes on from there. It is used by one goroutine.
type Store[E any] struct {
	file *os.File
	// Entries in the order in which they were added.
	Entries []E
}

// OpenStore reads the file at path, which is made when it is not there. A last line that a killed benchmark did not finish is taken away.
func OpenStore[E any](path string) (*Store[E], error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the measured figures: %w", err)
	}
	s := &Store[E]{file: file}
	reader := bufio.NewReader(file)
	for whole := int64(0); ; {
		line, err := reader.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			if err = file.Truncate(whole); err == nil {
				_, err = file.Seek(whole, io.SeekStart)
			}
			if err == nil {
				return s, nil
			}
		}
		var e E
		if err == nil {
			err = json.Unmarshal(line, &e)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("read the measured figures %s: %w; remove the file to measure anew", path, err), file.Close())
		}
		whole += int64(len(line))
		s.Entries = append(s.Entries, e)
	}
}

// Add keeps an entry.
func (s *Store[E]) Add(e E) error {
	line, err := json.Marshal(e)
	if err == nil {
		_, err = s.file.Write(append(line, '\n'))
	}
	if err != nil {
		return fmt.Errorf("keep a measured figure: %w", err)
	}
	s.Entries = append(s.Entries, e)
	return nil
}

// Close closes the file.
func (s *Store[E]) Close() error { return s.file.Close() }
