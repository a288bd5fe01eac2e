package executors

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"misstep/corpus/tree"
	"misstep/deploy/vm"
	"misstep/runner/process"
	"misstep/runner/scratch"
)

// Folders in the folder of a fleet on a node.
const (
	// WorkHome is the --home of its runners there.
	WorkHome = "home"
	// WorkTrials is their --scratch.
	WorkTrials = "trials"
)

// SweepWork ends what killed runners have left on this machine and removes the folder of a fleet with everything in it. A folder
// that holds anything else, or that a living runner uses, is left as it is, with an error; one that is missing is none.
func SweepWork(work string) error {
	entries, err := os.ReadDir(work)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("sweep %s: %w", work, err)
	}
	for _, e := range entries {
		if e.Name() != WorkHome && e.Name() != WorkTrials && !scratch.MovedUp(e.Name()) {
			return fmt.Errorf("sweep %s: it holds %s, which no runner has made: remove what you know yourself", work, e.Name())
		}
	}
	trials, groups := filepath.Join(work, WorkTrials), process.DetectCgroups()
	vm.Sweep()
	tree.Sweep(filepath.Join(work, WorkHome, "cache", "trees"))
	for _, area := range []string{trials, machines(trials)} {
		if err := scratch.Reap(area, groups, nil); err != nil {
			return err
		}
		left, err := os.ReadDir(area)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("sweep %s: %w", work, err)
		}
		for _, e := range left {
			if strings.HasPrefix(e.Name(), "trial-") {
				return fmt.Errorf("sweep %s: a runner still uses %s: stop it first", work, filepath.Join(area, e.Name()))
			}
		}
	}
	return scratch.RemoveAll(work)
}
