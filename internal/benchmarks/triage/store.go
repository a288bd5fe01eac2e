package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"misstep/coordinator/triage/triagetest"
)

// store keeps the labelled outcomes in a file, a line each, so that a later run goes on from there.
type store struct {
	file *os.File
	all  []triagetest.Labelled
	done map[string]bool
}

func openStore(path string) (*store, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the labelled outcomes: %w", err)
	}
	s := &store{file: file, done: map[string]bool{}}
	if s.all, err = triagetest.Read(file); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w; remove the file to run all trials anew", path, err), file.Close())
	}
	for _, l := range s.all {
		s.done[l.Trial] = true
	}
	_, err = file.Seek(0, io.SeekEnd)
	return s, err
}

func (s *store) close() { _ = s.file.Close() }

func (s *store) add(l triagetest.Labelled) error {
	line, err := json.Marshal(l)
	if err == nil {
		_, err = s.file.Write(append(line, '\n'))
	}
	if err != nil {
		return fmt.Errorf("keep a labelled outcome: %w", err)
	}
	s.all = append(s.all, l)
	s.done[l.Trial] = true
	return nil
}
