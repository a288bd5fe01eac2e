package retest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// recordFile keeps the results in a hunt's folder, one JSON object on each line.
const recordFile = "retests.jsonl"

// Keep appends a result to the record in a hunt's folder.
func Keep(dir string, r Result) error {
	line, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("keep result: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, recordFile), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("keep result: %w", err)
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

// Of reads the results about a finding that has or had these ids in a hunt's folder, oldest first; a hunt without retests has none.
func Of(dir string, ids ...string) ([]Result, error) {
	all, err := read(dir)
	return slices.DeleteFunc(all, func(r Result) bool { return !slices.Contains(ids, r.Finding) }), err
}

// read reads the results in a hunt's folder, oldest first.
func read(dir string) ([]Result, error) {
	f, err := os.Open(filepath.Join(dir, recordFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read retests: %w", err)
	}
	defer f.Close()
	var all []Result
	for decoder := json.NewDecoder(f); decoder.More(); {
		var r Result
		if err := decoder.Decode(&r); err != nil {
			return nil, fmt.Errorf("read %s: %w", f.Name(), err)
		}
		all = append(all, r)
	}
	return all, nil
}
