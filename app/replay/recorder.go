package replay

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"misstep/app"
	"misstep/app/executors"
	"misstep/runner"
	"misstep/runner/jvm"
)

// recorder runs tries of a recipe, each with a recording of its machine, until one is worth keeping.
type recorder struct {
	host    *jvm.Executor
	home    string // folder of the machines' kernels
	say     app.Say
	logger  *slog.Logger
	scratch string
	keep    string // folder for the recording to keep; empty records nothing
	last    string
}

// next is the executor for the next try.
func (r *recorder) next() (runner.Executor, error) {
	if r.keep == "" {
		return executors.Route(r.host, r.home, "", r.logger)
	}
	if err := r.drop(); err != nil {
		return nil, err
	}
	r.last = filepath.Join(r.scratch, "recording")
	return executors.Route(r.host, r.home, r.last, r.logger)
}

func (r *recorder) drop() error {
	if r.last == "" {
		return nil
	}
	if err := os.RemoveAll(r.last); err != nil {
		return fmt.Errorf("drop a recording: %w", err)
	}
	return nil
}

// hit keeps the last try's recording; later tries are not recorded.
func (r *recorder) hit() error {
	if r.keep == "" {
		return nil
	}
	if err := os.Mkdir(r.keep, 0o755); err != nil { // it must be new
		return fmt.Errorf("keep the recording: %w", err)
	}
	if err := os.CopyFS(r.keep, os.DirFS(r.last)); err != nil {
		return fmt.Errorf("keep the recording: %w", err)
	}
	r.say("recorded in %s: repeat it with misstep vm replay %s, or include it in a bundle with misstep findings bundle --recording",
		r.keep, r.keep)
	r.keep = ""
	return r.drop()
}
