package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// Kinds of entries.
const (
	kindCell      = "cell"
	kindAgain     = "again"     // a cell in one of several boots of the same machine
	kindRecording = "recording" // one replay of a recorded machine
	kindLog       = "log"
	kindOverhead  = "overhead"
)

// entry is one line of the store.
type entry struct {
	Kind        string    `json:"kind"`
	Fingerprint string    `json:"fingerprint"`
	Result      *result   `json:"result,omitempty"`
	Boot        int       `json:"boot,omitempty"` // of the same machine, from 1
	Same        bool      `json:"same,omitempty"` // a replay went as recorded
	Log         *logTrial `json:"log,omitempty"`
	Overhead    *load     `json:"overhead,omitempty"`
}

// store keeps what was measured in a file, a line each, so that nothing is measured twice.
type store struct {
	file    *os.File
	entries []entry
}

func openStore(path string) (*store, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the measured figures: %w", err)
	}
	s := &store{file: file}
	decoder := json.NewDecoder(bufio.NewReader(file))
	for {
		var e entry
		if err := decoder.Decode(&e); err != nil {
			if errors.Is(err, io.EOF) {
				return s, nil
			}
			return nil, errors.Join(fmt.Errorf("reading the measured figures %s: %w; remove the file to measure anew", path, err), file.Close())
		}
		s.entries = append(s.entries, e)
	}
}

func (s *store) close() { _ = s.file.Close() }

func (s *store) add(e entry) error {
	line, err := json.Marshal(e)
	if err == nil {
		_, err = s.file.Write(append(line, '\n'))
	}
	if err != nil {
		return fmt.Errorf("keeping a measured figure: %w", err)
	}
	s.entries = append(s.entries, e)
	return nil
}

// result of a cell with what it is measured on now.
func (s *store) result(l *lab, c cell) (result, bool) {
	for _, e := range s.entries {
		if e.Kind == kindCell && e.Result.cell == c && e.Fingerprint == l.fingerprint(c) {
			return *e.Result, true
		}
	}
	return result{}, false
}

// of lists the entries of a kind that were measured with the scheduler as it is now.
func (s *store) of(kind, fingerprint string) (all []entry) {
	for _, e := range s.entries {
		if e.Kind == kind && e.Fingerprint == fingerprint {
			all = append(all, e)
		}
	}
	return all
}
