// Package cireport writes what a command found in the forms that build servers read: JUnit's XML, SARIF, and the annotations of
// GitHub Actions.
package cireport

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"misstep/internal/atomicfile"
)

// State is how a case ended.
type State int

// States of a case.
const (
	_       State = iota
	Passed        // it was compared, and held
	Failed        // it makes the command fail
	Allowed       // a finding that does not make the command fail, such as a known bug
	Skipped       // nothing was compared
)

// Case is one thing that was tested: a check, a limit, or a finding.
type Case struct {
	// Group and Name identify the case from run to run: "asgct-shadow" of the group "check".
	Group, Name string
	State       State
	// Summary is one line for people; Detail has more lines, or none.
	Summary, Detail string
	// Rule is the kind of a finding, such as asgct-shadow/truncated; empty for a case that is no finding.
	Rule string
	// Artifact is the file that it was found in, a path or URI; empty where there is none.
	Artifact string
}

// Report is all cases of one run of a command.
type Report struct {
	// Command that reports, such as "misstep check", and its version.
	Command, Version string
	Time             time.Duration
	Cases            []Case
}

// Files are where a report is written; empty ones are not.
type Files struct{ JUnit, SARIF string }

// Prepare removes the reports of earlier runs, which would be taken for this one's if it fails, and returns an error if a file
// cannot be written, before the work has begun.
func (f Files) Prepare() error {
	for _, path := range []string{f.JUnit, f.SARIF} {
		if path == "" {
			continue
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("write the report for the build server: %w", err)
		}
		probe, err := os.CreateTemp(filepath.Dir(path), ".misstep-")
		if err == nil {
			err = errors.Join(probe.Close(), os.Remove(probe.Name()))
		}
		if err != nil {
			return fmt.Errorf("write the report for the build server, %s: %w", path, err)
		}
	}
	return nil
}

// Write writes the files.
func (f Files) Write(r Report) error {
	for _, of := range []struct {
		path string
		form func() ([]byte, error)
	}{{f.JUnit, r.JUnit}, {f.SARIF, r.SARIF}} {
		if of.path == "" {
			continue
		}
		text, err := of.form()
		if err != nil {
			return err
		}
		if err := atomicfile.Write(of.path, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
