package jfrcheck

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"

	"misstep/coordinator/triage"
	"misstep/known"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner/recording"
)

// jvmVersion returns what the JVM of a recording calls itself, as -Xinternalversion does, if a setting is that; empty otherwise.
// async-profiler writes the property java.vm.version.
func jvmVersion(s *recording.Setting) string {
	if s.Type != "jdk.JVMInformation" || s.Name != "jvmVersion" {
		return ""
	}
	return s.Value
}

// version returns the JVM of all recordings; empty if they are of several, or do not say.
func (r *Report) version() string {
	version := ""
	for i, each := range r.Recordings {
		if i > 0 && each.JVM != version {
			return ""
		}
		version = each.JVM
	}
	return version
}

// knownAs returns the known bug that a mismatch has in the JVM of the recordings; that of any JVM where they do not say which.
func (r *Report) knownAs(m *misstepv1.Mismatch) string {
	s, _ := triage.Mismatch(m)
	return known.Default().Label(s, r.version())
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
