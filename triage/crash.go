package triage

import (
	"fmt"
	"regexp"
	"strings"

	"misstep/internal/hserr"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/signature"
)

// Crash returns the signature of a crash and a title. What a cut report does not have is unknown in it (signature.Unknown).
func Crash(c *misstepv1.Crash) (*misstepv1.Signature, string) {
	native := parseFrames(c.GetNativeFrames())
	s := signature.Crash{
		Error: crashError(c), Frame: blamed(c, native), Walker: walkerChain(c, native), Thread: threadKind(c.GetThread(), native),
	}
	s.Operation = vmOperation(c.GetVmOperation(), s.Thread)
	if outOfMemoryRE.MatchString(s.Error) && asked(c) != "" {
		s.Frame, s.Walker = signature.UnknownFrame, nil // where memory runs out is chance
	}
	what := s.Error
	if what == signature.Unknown {
		what = "unknown error"
	}
	title := fmt.Sprintf("%s in %s (%s)", what, s.Frame, s.Thread)
	if c.GetInWalk() {
		title = fmt.Sprintf("%s in %s while a stack was walked (%s)", what, s.Frame, s.Thread)
	}
	return signature.Proto(s), signature.Clean(title)
}

// frames are those of a stack that a report has, top first.
type frames struct {
	list []signature.Frame
	// cut reports that the report ends before the stack, or in it.
	cut bool
}

func parseFrames(lines []string) frames {
	out := frames{cut: len(lines) == 0}
	for _, l := range lines {
		if l == hserr.MoreFrames {
			out.cut = true
			break
		}
		out.list = append(out.list, signature.ParseFrame(l))
	}
	return out
}

var (
	signalNameRE = regexp.MustCompile(`^(SIG[A-Z0-9]+|EXCEPTION_[A-Z_]+)`)
	// failedRE matches an assertion or the message of a fatal error. It may be preceded by "Internal Error (file:line);".
	failedRE = regexp.MustCompile(`\b((assert|guarantee)\(|(fatal error|Error):).*`)
	// exceptionRE matches an exception of Windows that HotSpot has no name for, such as 0xe06d7363, which is one of C++.
	exceptionRE = regexp.MustCompile(`^Internal Error \((0x[0-9a-f]+)\)`)
	// siginfoRE matches what follows the message in a crash's detail.
	siginfoRE = regexp.MustCompile(`; (?:si_signo|ExceptionCode|EXCEPTION_)\b.*`)
)

// failed separates an assertion's condition, which is source code, from its message, which may report values of the run.
const failed = ") failed"

// crashError returns signature.Unknown for a part of a report that does not say it, the signal's name, or for an internal error
// the source file (without its line, which changes with every update) and the assertion.
func crashError(c *misstepv1.Crash) string {
	if c.GetError() == "" && c.GetDetail() == "" {
		return signature.Unknown
	}
	if m := signalNameRE.FindString(c.GetError()); m != "" {
		return m
	}
	out := "Internal Error"
	if strings.HasPrefix(c.GetError(), "Out of Memory Error") {
		out = "Out of Memory Error"
	}
	if what := asked(c); what != "" {
		return out + " " + what
	}
	file := signature.AssertionFile(c.GetError() + " " + c.GetDetail())
	if file != "" {
		out += " " + file
	}
	if m := siginfoRE.ReplaceAllString(failedRE.FindString(c.GetDetail()), ""); m != "" {
		return out + " " + message(file, m)
	}
	if m := exceptionRE.FindStringSubmatch(c.GetDetail()); m != nil {
		return out + " " + m[1]
	}
	if out == "Internal Error" {
		return signature.WithoutNumbers(c.GetError())
	}
	return out
}

// askedRE matches what HotSpot says of native memory that it did not get (utilities/vmError.cpp, "Native memory allocation"): the
// function of the system, and what it was for, which newer versions call the detail.
var askedRE = regexp.MustCompile(`Native memory allocation \((\w+)\) failed to \w+ [^;]*?(?:bytes for|Error detail:) ([^;]+)`)

// asked returns what memory was asked for without result, "malloc for Chunk::new"; "" if the report does not say it or is of
// another error.
func asked(c *misstepv1.Crash) string {
	if !strings.HasPrefix(c.GetError(), "Out of Memory Error") {
		return ""
	}
	m := askedRE.FindStringSubmatch(c.GetDetail())
	if m == nil {
		return ""
	}
	return m[1] + " for " + signature.WithoutValues(strings.TrimRight(strings.TrimSpace(m[2]), "."))
}

// message returns the text of an assertion or a fatal error as signatures have it.
func message(file, text string) string {
	for _, r := range reworded {
		if r.file == file && strings.HasSuffix(text, r.message) && strings.Contains(text, failed) {
			return r.now
		}
	}
	condition, rest, found := strings.Cut(text, failed)
	if !found || strings.HasPrefix(text, "fatal error:") || strings.HasPrefix(text, "Error:") {
		return signature.WithoutValues(text)
	}
	return signature.WithoutNumbers(condition) + failed + signature.WithoutValues(rest)
}

// reworded are assertions whose condition was worded in other ways before, in the wording that they have now.
var reworded = []struct{ file, message, now string }{
	// JDK-8283849 gave the guarantee an exception and a shorter condition. Up to JDK 8u345, 11.0.17 and 17.0.4 it has conditions
	// on result->is_zombie() and on (VMError::)is_error_reported().
	{
		"codeCache.cpp", "unsafe access to zombie method",
		"guarantee(is_result_safe || is_in_asgct()) failed: unsafe access to zombie method",
	},
}

var operationRE = regexp.MustCompile(`^(?:VM_Operation\s*\([^)]*\):\s*)?([A-Za-z_][A-Za-z0-9_]*)`)

// vmOperation returns the VM operation that a crashed thread executed, given its kind. Only the VM thread executes any, and HotSpot
// reports it for no other thread (vmError.cpp, "printing VM operation").
func vmOperation(s, thread string) string {
	if m := operationRE.FindStringSubmatch(strings.TrimSpace(s)); m != nil {
		return m[1]
	}
	if thread == vmThread || thread == signature.Unknown {
		return signature.Unknown
	}
	return hserr.NoOperation
}
