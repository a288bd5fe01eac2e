package report

import (
	"bytes"
	"regexp"
	"strings"
)

var (
	// buildRE matches the build's version in an error file's line with the release; up to JDK 8 it is that of java -version.
	buildRE = regexp.MustCompile(`\bbuild ([^\s)]+)\)`)
	// vmRE matches name and version of the VM in the head of a printed dump.
	vmRE = regexp.MustCompile(`(?m)^Full thread dump (.*?) \(([^\s)]+)`)
	// hotSpot8RE matches HotSpot's own version, which it had up to JDK 8: 25.442-b06 is that of 8u442.
	hotSpot8RE = regexp.MustCompile(`^25\.(\d+)-b\d+`)
	// agentVMRE matches what the serviceability agent says of the VM.
	agentVMRE = regexp.MustCompile(`(?m)^JVM version is (\S+)`)
	// processRE matches the pid in JSON of Thread.dump_to_file.
	processRE = regexp.MustCompile(`"processId"\s*:\s*"?(\d+)`)
	runtimeRE = regexp.MustCompile(`"runtimeVersion"\s*:\s*"([^"]*)"`)
	versionRE = regexp.MustCompile(`^\d+(\.\d+)*([-+]\S*)?$`)
)

// jvm is the JVM that wrote a report; its fields are empty when the report does not say it.
type jvm struct {
	// name for people.
	name string
	// version in a form that known.ParseVersion reads.
	version string
}

// jreOf returns the JVM of an error file by the line with the release.
func jreOf(line string) jvm {
	if build := buildRE.FindStringSubmatch(line); build != nil {
		return jvm{line, build[1]}
	}
	return jvm{line, line}
}

// pidOf returns the pid of the JVM of a thread dump, empty if the dump lacks it, as jstack's does.
func pidOf(s section) string {
	if m := processRE.FindSubmatch(s.text[:min(len(s.text), peeked)]); m != nil && s.form == dumped {
		return string(m[1])
	}
	return s.pid
}

// dumperOf returns the JVM of a thread dump.
func dumperOf(s section) jvm {
	head := s.text[:min(len(s.text), peeked)]
	switch s.form {
	case printed:
		name, version := "HotSpot", ""
		if m := vmRE.FindSubmatch(head); m != nil {
			name, version = string(m[1]), string(m[2])
		} else if m := agentVMRE.FindSubmatch(head); m != nil {
			version = string(m[1])
		} else {
			return jvm{}
		}
		if of8 := hotSpot8RE.FindStringSubmatch(version); of8 != nil {
			return jvm{name + " 8u" + of8[1], "1.8.0_" + of8[1]}
		}
		return jvm{name + " " + version, version}
	case dumped:
		if m := runtimeRE.FindSubmatch(head); m != nil {
			return jvm{string(m[1]), string(m[1])}
		}
		first, _, _ := bytes.Cut(head, []byte("\n"))
		if line := strings.TrimSpace(string(first)); versionRE.MatchString(line) {
			return jvm{line, line}
		}
	}
	return jvm{}
}
