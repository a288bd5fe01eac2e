package triage

import (
	"regexp"
	"strings"

	"misstep/known"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/signature"
)

// Assorted reports whether outcomes with a signature have nothing in common that points at one bug, and why. Such a finding is a
// bucket of assorted failures: it is never labelled as a known bug, merged, reproduced, or offered as like another finding. A
// mismatch is never assorted, since its place is known.
func Assorted(s *misstepv1.Signature) (reason string, assorted bool) {
	read, err := signature.Read(s)
	if err != nil {
		return "", false // written by a newer Misstep
	}
	switch s := read.(type) {
	case signature.Crash:
		reason = assortedCrash(s)
	case signature.Hang:
		reason = assortedHang(s)
	case signature.Failure:
		reason = assortedFailure(s)
	}
	return reason, reason != ""
}

var (
	// outOfMemoryRE matches the errors of a VM that got no memory (HotSpot: share/utilities/vmError.cpp and, for
	// -XX:+CrashOnOutOfMemoryError, share/utilities/debug.cpp): where that happens is chance.
	outOfMemoryRE = regexp.MustCompile(`^Out of Memory Error|fatal error: OutOfMemory encountered`)
	// namelessRE matches a frame that has neither a function nor an offset in a library: "(unknown)", "C ADDR", "V libjvm.so",
	// "C unknown", "C libc.so called by (unknown)".
	namelessRE = regexp.MustCompile(`^(\((unknown|none)\)|unknown|[VC]( (ADDR|unknown|[^ ]+\.(so|dll|dylib)( called by \(unknown\))?))?|)$`)
)

func assortedCrash(s signature.Crash) string {
	internal := strings.Contains(s.Error, ") failed") || strings.Contains(s.Error, "fatal error:")
	switch {
	case outOfMemoryRE.MatchString(s.Error):
		return "the VM got no memory, which may happen anywhere"
	case namelessRE.MatchString(s.Frame) && s.Error == "SIGKILL":
		return "the JVM was killed from outside, which may happen anywhere"
	case namelessRE.MatchString(s.Frame) && !internal && !namedWalker(s.Walker):
		return "no frame of the crash has a symbol"
	}
	return ""
}

// namedWalker reports whether a walker's chain has a function of the VM, not only the phase of the walk.
func namedWalker(chain []string) bool {
	return len(chain) > 0 && !strings.HasPrefix(chain[0], "in ") && chain[0] != "unknown"
}

func assortedHang(s signature.Hang) string {
	switch {
	case s.Cause == "starved":
		return "the machine gave the JVM no CPU time, which may happen anywhere"
	case len(s.Waiters) > 0:
		return ""
	case s.Cause == "limit" || s.Cause == "":
		return "the time limit passed, and nothing says which thread hangs"
	}
	return "nothing says which thread hangs"
}

// KnownAs returns the ids of the known bugs that cause a signature on a JDK, in the catalogue's order, the first being its label. A
// bucket of assorted failures is no known bug, whatever a catalogue says.
func KnownAs(c known.Catalogue, s *misstepv1.Signature, jdk *misstepv1.Jdk) []string {
	if _, assorted := Assorted(s); assorted {
		return nil
	}
	return c.Labels(s, jdk)
}
