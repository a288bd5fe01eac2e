package check

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"

	"misstep/agent"
	"misstep/app/local"
	"misstep/internal/regular"
	"misstep/known"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner/jvm"
	"misstep/runner/process"
	"misstep/runner/provision"
)

// FileRecipe is the name of what was checked, as canonical JSON, in the folder Options.Out.
const FileRecipe = "recipe.json"

// maxRecipe bounds what is read of it, in bytes: it has the options of a JVM.
const maxRecipe = 4 << 20

// maxJVMs bounds the JVMs of one folder that are examined.
const maxJVMs = 4096

// Left judges what the agent left in a folder: in dir/agent, or of several JVMs in dir/NAME/agent.
func Left(ctx context.Context, i local.Installation, dir string, logger *slog.Logger) (*Report, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("find folder %s: %w", dir, err)
	}
	dir = abs
	e, err := executor(i, dir, logger)
	if err != nil {
		return nil, err
	}
	x := examiner{Executor: e}
	unknown := process.Result{ExitCode: -1}
	side, about, err := sideOf(dir)
	switch {
	case err == nil:
		one, err := x.examine(ctx, side, about, unknown)
		return one.report, err
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	list, lost, err := x.examineAll(ctx, dir, maxJVMs)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 && len(lost) == 0 {
		return nil, fmt.Errorf("%s has no %s/%s of the agent, nor has a folder in it: name the folder above that of its option out",
			dir, jvm.AgentDir, agent.FileAbout)
	}
	return merged(list, lost, unknown, x.own), nil
}

// examiner judges what JVMs left.
type examiner struct {
	*jvm.Executor
	own known.Catalogue // the caller's known bugs
}

// examined is one JVM with what it did.
type examined struct {
	report  *Report
	outcome *misstepv1.Outcome
	side    jvm.Alongside
}

// examineAll judges the JVMs that left something in a folder of dir, at most so many, in the order of their processes. What
// prevents one from being examined is among the notes lost, and the others are examined all the same.
func (x examiner) examineAll(ctx context.Context, dir string, most int) (list []examined, lost []string, err error) {
	names, err := jvmsIn(dir)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range names[:min(len(names), most)] {
		of := filepath.Dir(filepath.Dir(name))
		one, err := x.examineIn(ctx, of)
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		if err != nil {
			lost = append(lost, fmt.Sprintf("JVM %s could not be examined: %v", filepath.Base(of), err))
			continue
		}
		list = append(list, one)
	}
	if n := len(names) - most; n > 0 {
		lost = append(lost, fmt.Sprintf("%d further JVMs were not examined: at most %d are", n, most))
	}
	slices.SortStableFunc(list, func(a, b examined) int { return a.report.PID - b.report.PID })
	return list, lost, nil
}

// jvmsIn returns the files that say which JVMs left something in folders of dir.
func jvmsIn(dir string) ([]string, error) {
	names, err := fs.Glob(os.DirFS(dir), "*/"+jvm.AgentDir+"/"+agent.FileAbout)
	if err != nil {
		return nil, fmt.Errorf("find JVMs in %s: %w", dir, err)
	}
	for i, name := range names {
		names[i] = filepath.Join(dir, name)
	}
	return names, nil
}

// examineIn judges what one JVM left in a folder.
func (x examiner) examineIn(ctx context.Context, dir string) (examined, error) {
	side, about, err := sideOf(dir)
	if err != nil {
		return examined{}, err
	}
	return x.examine(ctx, side, about, process.Result{ExitCode: -1})
}

func (x examiner) examine(ctx context.Context, side jvm.Alongside, about agent.About, ended process.Result) (examined, error) {
	outcome, err := x.Examine(ctx, side, ended)
	if err != nil {
		return examined{}, err
	}
	settle(outcome)
	r := report(strings.Fields(about.Command), about.PID, side, outcome, x.own)
	status, err := agent.ReadStatus(filepath.Join(side.Dir, jvm.AgentDir, jvm.StatusFile))
	if err == nil {
		r.observe(status)
	}
	r.observeFolder(filepath.Join(side.Dir, jvm.AgentDir))
	if err == nil && status.Started && !status.Ended && outcome.GetCrash() == nil {
		r.Notes = append(r.Notes, fmt.Sprintf("JVM %[1]d has not shut down in order: it runs still, was killed, or crashed "+
			"and left its error file hs_err_pid%[1]d.log in another folder: copied beside the folder agent of --out as %[2]s, "+
			"misstep outcome reads it",
			about.PID, jvm.CrashFile))
	}
	return examined{r, outcome, side}, nil
}

// sideOf reads what was checked in a JVM. For a folder that the agent did not write it wraps fs.ErrNotExist.
func sideOf(dir string) (jvm.Alongside, agent.About, error) {
	about, err := agent.ReadAbout(filepath.Join(dir, jvm.AgentDir, agent.FileAbout))
	if err != nil {
		return jvm.Alongside{}, about, err
	}
	side := jvm.Alongside{Home: about.Home, Dir: dir, Recipe: &misstepv1.Recipe{}}
	side.Feature, err = provision.FeatureOf(about.Home)
	if err != nil {
		side.Feature = 0 // only recordings are judged by it, and those are beside a recipe
	}
	file, err := regular.Open(filepath.Join(dir, FileRecipe))
	switch {
	case err == nil:
		defer file.Close()
		text, err := io.ReadAll(io.LimitReader(file, maxRecipe))
		if err == nil {
			err = protojson.Unmarshal(text, side.Recipe)
		}
		if err != nil {
			return side, about, fmt.Errorf("read %s: %w", file.Name(), err)
		}
	case errors.Is(err, fs.ErrNotExist):
		for _, name := range about.Checks() {
			side.Recipe.Checks = append(side.Recipe.Checks, &misstepv1.Check{Name: name})
		}
		side.Recipe.Jdk = &misstepv1.Jdk{Version: about.Version}
	default:
		return side, about, fmt.Errorf("read what was checked: %w", err)
	}
	return side, about, nil
}
