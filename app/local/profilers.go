package local

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"misstep/deploy/jdk"
	"misstep/runner/provision"
	"misstep/runner/recording"
)

// ErrNoHelper is wrapped by errors about what reading recordings needs and this machine lacks.
var ErrNoHelper = errors.New("recordings cannot be read")

// minHelperFeature is the least feature version of the JDK that runs the helper.
const minHelperFeature = 17

// RecordingHelper finds the helper that reads recordings, and the JDK that runs it. The error wraps ErrNoHelper and names the
// remedy.
//
// The JDK is the catalogue's oldest of 17 and later, whatever the trial's is: what is wrong with an early-access build must not
// decide what a recording is read as. Without one in the catalogue it is that of $JAVA_HOME or of java on the PATH.
func (i Installation) RecordingHelper() (recording.Helper, error) {
	jar, err := i.artefact("recording", "misstep-recording.jar")
	if err != nil {
		return recording.Helper{}, fmt.Errorf("%w: %w (build the helper with `make recording`)", ErrNoHelper, err)
	}
	java, err := i.helperJava()
	if err != nil {
		return recording.Helper{}, err
	}
	return recording.Helper{Java: java, Jar: jar}, nil
}

// RecordingJar returns the helper's file, empty when there is none.
func (i Installation) RecordingJar() string {
	jar, err := i.artefact("recording", "misstep-recording.jar")
	if err != nil {
		return ""
	}
	return jar
}

func (i Installation) helperJava() (string, error) {
	entries, err := i.JDKs().List()
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrNoHelper, err)
	}
	entries = slices.DeleteFunc(entries, func(e jdk.Entry) bool { return e.Feature < minHelperFeature })
	if len(entries) > 0 {
		oldest := slices.MinFunc(entries, func(a, b jdk.Entry) int {
			return cmp.Or(cmp.Compare(a.Feature, b.Feature), cmp.Compare(a.Name, b.Name))
		})
		return filepath.Join(oldest.Path, "bin", "java"), nil
	}
	for _, home := range []string{os.Getenv("JAVA_HOME"), homeOnPath()} {
		if feature, err := provision.FeatureOf(home); home != "" && err == nil && feature >= minHelperFeature {
			return filepath.Join(home, "bin", "java"), nil
		}
	}
	return "", fmt.Errorf("%w: neither the catalogue in %s nor JAVA_HOME nor the PATH has a JDK of %d or later to run the helper; "+
		"add one with `misstep jdk add jdk17 SOURCE`", ErrNoHelper, i.Home, minHelperFeature)
}

// homeOnPath is the JAVA_HOME of java on the PATH; empty for none.
func homeOnPath() string {
	java, err := exec.LookPath("java")
	if err == nil {
		java, err = filepath.EvalSymlinks(java)
	}
	if err != nil {
		return ""
	}
	return filepath.Dir(filepath.Dir(java))
}

// Profilers returns the folder of the libraries of profilers that JDKs do not contain, empty when there is none: `make profilers`
// fetches them.
func (i Installation) Profilers() string {
	library, err := i.artefact("profilers", "libasyncProfiler.so")
	if err != nil {
		return ""
	}
	return filepath.Dir(library)
}

// artefact finds a file in a folder of artefacts, beside the agent's or beside the running program.
func (i Installation) artefact(folder, name string) (string, error) {
	folders, err := i.folders(folder)
	if err != nil {
		return "", err
	}
	for _, candidate := range folders {
		path := filepath.Join(candidate, name)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("no %s in %s", name, strings.Join(folders, ", nor in "))
}
