package workloads

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// ManifestFile is the name of the manifest in a workload's folder.
const ManifestFile = "workload.yaml"

// Bounds of a manifest: far above the needs of a real one, and low enough that a malicious one does no harm.
const (
	maxManifestBytes = 64 << 10
	maxItems         = 256     // of a list
	maxText          = 4 << 10 // bytes of one value
	maxRepetitions   = 1 << 20 // of the unit in one JVM
	maxFeature       = 1 << 10 // a JDK feature version
	maxNameBytes     = 64      // of a name
	defaultFeature   = 8       // the oldest JDK that Misstep runs on
)

// Harness is the protocol by which a workload reports its result.
type Harness string

// The harnesses.
const (
	// HarnessPlain ends with the line "misstep: NAME verified N repetitions" and exit code 0, or with a reason and another code.
	HarnessPlain Harness = "plain"
	// HarnessRenaissance is the launcher of the Renaissance suite.
	HarnessRenaissance Harness = "renaissance"
	// HarnessProgram is somebody's program as it is: it ends with the manifest's exit code.
	HarnessProgram Harness = "program"
)

// Manifest is the validated content of a workload.yaml. Only Load and Parse return valid ones.
type Manifest struct {
	// Name of the workload: lowercase letters, digits, dot, dash and underscore, at most 64.
	Name string
	// Description in one line.
	Description string
	// Main class; empty when Jar is set.
	Main string
	// Jar started with -jar, relative to the folder; empty when Main is set.
	Jar string
	// Classpath entries relative to the folder; one that ends in "/*" stands for all jars of that folder, sorted. A program of
	// HarnessProgram may have none: its files are not in the folder, and it cannot be started.
	Classpath []string
	// Arguments of the program.
	Arguments []string
	// Repetitions of the workload's unit inside one JVM.
	Repetitions uint32
	// JVMFlags that the workload needs to work at all (its heap); a recipe's flags follow and take precedence.
	JVMFlags []string
	// MinFeature is the oldest JDK feature version it runs on.
	MinFeature int
	// Harness whose protocol it follows.
	Harness Harness
	// ExitCode of a program of HarnessProgram.
	ExitCode int
	// NeedsCompiler reports whether it needs the JDK's javac (module jdk.compiler).
	NeedsCompiler bool
	// Calibration names the known bug that the workload is designed to show, empty for an ordinary one.
	Calibration string
}

// ManifestError reports an invalid manifest. Error names file, line, field, the problem and the remedy.
type ManifestError struct {
	// File as passed to Load, or ManifestFile.
	File string
	// Line, starting at 1; 0 for the whole file.
	Line int
	// Field, empty for the whole file.
	Field string
	// Problem and its remedy, one line.
	Problem string
}

// Error returns "FILE:LINE: field F: PROBLEM".
func (e *ManifestError) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	b.WriteString(": ")
	if e.Field != "" {
		fmt.Fprintf(&b, "field %s: ", e.Field)
	}
	b.WriteString(e.Problem)
	return b.String()
}

// Load reads and validates dir/workload.yaml and checks that the files that it names exist.
func Load(dir string) (Manifest, error) {
	path := filepath.Join(dir, ManifestFile)
	data, err := readBounded(path, maxManifestBytes)
	if errors.Is(err, os.ErrNotExist) {
		return Manifest{}, fmt.Errorf("load workload: %s has no %s; give the folder of one built workload: %w", dir, ManifestFile,
			err)
	}
	if err != nil {
		return Manifest{}, fmt.Errorf("load workload: %w", err)
	}
	m, err := Parse(data, path)
	if err != nil {
		return Manifest{}, err
	}
	if _, err := m.files(dir); err != nil {
		return Manifest{}, &ManifestError{File: path, Problem: err.Error()}
	}
	return m, nil
}

// files returns the paths of the jar, or of the class path's entries in order, and an error that names the first missing one.
func (m Manifest) files(dir string) ([]string, error) {
	var found []string
	entries := m.Classpath
	if m.Jar != "" {
		entries = []string{m.Jar}
	}
	for _, entry := range entries {
		if folder, all := strings.CutSuffix(entry, "/*"); all {
			jars, err := filepath.Glob(filepath.Join(escapeGlob(dir), folder, "*.jar"))
			if err != nil {
				return nil, fmt.Errorf("list the jars of %s: %w", entry, err)
			}
			if len(jars) == 0 {
				return nil, fmt.Errorf("there is no jar in %s; build the workload first", filepath.Join(dir, folder))
			}
			found = append(found, jars...) // Glob sorts
			continue
		}
		path := filepath.Join(dir, entry)
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("%s does not exist; build the workload first: %w", path, err)
		}
		found = append(found, path)
	}
	return found, nil
}

// escapeGlob escapes dir so that it matches literally.
func escapeGlob(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

var (
	namePattern  = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]*$`)
	classPattern = regexp.MustCompile(`^[\pL_$][\pL\pN_$]*(\.[\pL_$][\pL\pN_$]*)*$`)
	flagPattern  = regexp.MustCompile(`^-[!-~][ -~]*$`)
)

// CheckName returns what is wrong with a workload's name, nil if it is valid.
func CheckName(name string) error {
	if len(name) > maxNameBytes || !namePattern.MatchString(name) {
		return fmt.Errorf("want 1 to %d characters of a-z, 0-9, dot, dash and underscore, the first a letter or digit; got %q",
			maxNameBytes, clip(name, 80))
	}
	return nil
}

// checkRelative returns what is wrong with a path inside the workload's folder, nil if it is valid.
func checkRelative(path string) error {
	switch {
	case path == "" || !filepath.IsLocal(path) || strings.ContainsAny(path, "\\\x00"):
		return fmt.Errorf("want a path inside the workload's folder without \"..\"; got %q", clip(path, 80))
	case strings.Contains(path, ":"):
		return fmt.Errorf("want a path without \":\", which separates class path entries; got %q", clip(path, 80))
	case strings.Contains(strings.TrimSuffix(path, "/*"), "*"):
		return fmt.Errorf("\"*\" is allowed only at the end, after a slash; got %q", clip(path, 80))
	}
	return nil
}
