package jfrcheck

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"

	"misstep/known"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner/recording"
	"misstep/triage"
)

// jvmVersion returns what the JVM of a recording calls itself, as -Xinternalversion does, if a setting is that; empty otherwise.
// async-profiler writes the property java.vm.version.
func jvmVersion(s *recording.Setting) string {
	if s.Type != "jdk.JVMInformation" || s.Name != "jvmVersion" {
		return ""
	}
	return s.Value
}

// knownAs returns the known bug that a mismatch has in the JVM of the recording: in all of them where its chunks are of several, in
// any where it does not say which.
func (r *Recording) knownAs(m *misstepv1.Mismatch) string {
	s, _ := triage.Mismatch(m)
	label := known.Default().Label(s, r.JVM)
	for _, version := range r.versions {
		if known.Default().Label(s, version) != label {
			return ""
		}
	}
	return label
}

// releaseOf returns the version of a JDK by its file release; false where it has none that can be read.
func releaseOf(jdk string) (known.Version, bool) {
	file, err := os.Open(filepath.Join(jdk, "release"))
	if err != nil {
		return known.Version{}, false
	}
	defer file.Close()
	const mostLines = 1000
	lines := bufio.NewScanner(file)
	for i := 0; i < mostLines && lines.Scan(); i++ {
		if version, found := strings.CutPrefix(lines.Text(), "JAVA_VERSION="); found {
			return known.ParseVersion(strings.Trim(version, `"`))
		}
	}
	return known.Version{}, false
}
