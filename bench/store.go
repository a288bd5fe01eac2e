package bench

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// Store keeps measurements in a file, one line of JSON each, so that a later run can resume from there. Not safe for concurrent
// use.
type Store[E any] struct {
	file *os.File
	// Entries in the order in which they were added.
	Entries []E
}

// OpenStore reads the file at path, which is created if it does not exist. An incomplete last line, left by a killed benchmark, is
// removed.
func OpenStore[E any](path string) (*Store[E], error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the stored measurements: %w", err)
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
			return nil, errors.Join(fmt.Errorf("read the stored measurements %s: %w; remove the file to start again", path, err),
				file.Close())
		}
		whole += int64(len(line))
		s.Entries = append(s.Entries, e)
	}
}

// Add stores an entry.
func (s *Store[E]) Add(e E) error {
	line, err := json.Marshal(e)
	if err == nil {
		_, err = s.file.Write(append(line, '\n'))
	}
	if err != nil {
		return fmt.Errorf("store a measurement: %w", err)
	}
	s.Entries = append(s.Entries, e)
	return nil
}

// Close closes the file.
func (s *Store[E]) Close() error { return s.file.Close() }
