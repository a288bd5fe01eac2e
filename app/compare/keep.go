package compare

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"misstep/internal/atomicfile"
)

// Files that a comparison keeps: the counts of each trial, one JSON object on each line; the report; the report as a page.
const (
	TrialsFile = "trials.jsonl"
	ReportFile = "compare.json"
	PageFile   = "compare.html"
)

// keeper writes into the folder of a comparison; without a folder it keeps nothing.
type keeper struct {
	dir  string
	file *os.File
}

func newKeeper(dir string) (*keeper, error) {
	if dir == "" {
		return &keeper{}, nil
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("find folder %s: %w", dir, err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make folder of the comparison: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, TrialsFile), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("%s holds another comparison: choose another --dir, since more pairs until one likes the result "+
			"prove nothing", dir)
	}
	if err != nil {
		return nil, fmt.Errorf("keep trials: %w", err)
	}
	return &keeper{dir, f}, nil
}

func (k *keeper) keep(pair [2]Trial) error {
	if k.file == nil {
		return nil
	}
	for _, t := range pair {
		line, err := json.Marshal(t)
		if err == nil {
			_, err = k.file.Write(append(line, '\n'))
		}
		if err != nil {
			return fmt.Errorf("keep trials: %w", err)
		}
	}
	return nil
}

func (k *keeper) close() error {
	if k.file == nil {
		return nil
	}
	return k.file.Close()
}

// report writes the report and its page.
func (k *keeper) report(r *Report) error {
	if k.dir == "" {
		return nil
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	if err := atomicfile.Write(filepath.Join(k.dir, ReportFile), append(text, '\n'), 0o644); err != nil {
		return err
	}
	return WriteHTML(filepath.Join(k.dir, PageFile), r)
}

// ReadTrials reads what a TrialsFile holds.
func ReadTrials(r io.Reader) ([]Trial, error) {
	var all []Trial
	for decoder := json.NewDecoder(bufio.NewReader(r)); decoder.More(); {
		var t Trial
		if err := decoder.Decode(&t); err != nil {
			return nil, fmt.Errorf("read trials: %w", err)
		}
		all = append(all, t)
	}
	return all, nil
}
