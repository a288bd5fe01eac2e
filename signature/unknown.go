package signature

import (
	"regexp"
	"strings"
)

// A report that ends early does not say that there was no walker or no operation: what it lacks is unknown.
const (
	// Unknown is the error, walker, thread or operation of a crash whose report lacks it.
	Unknown = "unknown"
	// UnknownFrame is the frame of a crash whose report names none, and what called a frame in CalledBy.
	UnknownFrame = "(unknown)"
	// CalledBy separates code that merely carried out the crash from the code that is to blame: "C memcpy called by C libzip.so f".
	CalledBy = " called by "
)

// Completes reports whether a crash's signature says all that another one says, and more: whatever that one knows is equal, and
// something that it does not know is known here. Two signatures that each know something else do not complete each other. Of a
// crash by a signal at least the frame, or who carried it out, has to be known; an assertion's text is as good.
func (c Crash) Completes(cut Crash) bool {
	more := cut.Error == Unknown && c.Error != Unknown // frames alone were copied
	if c.Error != cut.Error && !more || cut.Frame == UnknownFrame && !strings.Contains(cut.Error, " Error ") {
		return false
	}
	if cut.Frame != c.Frame && !strings.HasSuffix(cut.Frame, UnknownFrame) && !ofBuild(cut.Frame, c.Frame) { // most pairs
		return false
	}
	theirs, ours := cut.known(), c.known()
	for i, part := range theirs {
		switch {
		case part == ours[i]:
		case part == "", i == framePart && (calledByUnknown(part, ours[i]) || ofBuild(part, ours[i])):
			more = true
		default:
			return false
		}
	}
	return more
}

// framePart is the index of the frame in what known returns.
const framePart = 0

// known returns frame, walker, thread and operation, each empty if it is unknown.
func (c Crash) known() [4]string {
	parts := [4]string{c.Frame, strings.Join(c.Walker, walkerSeparator), c.Thread, c.Operation}
	if len(c.Walker) == 0 {
		parts[1] = noWalker
	}
	for i, unknown := range [4]string{UnknownFrame, Unknown, Unknown, Unknown} {
		if parts[i] == unknown {
			parts[i] = ""
		}
	}
	return parts
}

// calledByUnknown reports whether a frame of unknown caller is the other one, whose caller is known, or which is known to have none
// that can be named.
func calledByUnknown(frame, other string) bool {
	code, cut := strings.CutSuffix(frame, CalledBy+UnknownFrame)
	return cut && (other == code || strings.HasPrefix(other, code+CalledBy))
}

// offsetRE matches a function of the VM that is known by its offset alone, in a build that the report does not say.
var offsetRE = regexp.MustCompile(`^V [^ ]+\+0x[0-9a-f]+$`)

// ofBuild reports whether a frame is another one, of a build that only that one names.
func ofBuild(frame, other string) bool {
	return offsetRE.MatchString(frame) && strings.HasPrefix(other, frame+" of ")
}

// Partial reports whether a part of a crash's signature is unknown, so that another one may complete it.
func (c Crash) Partial() bool {
	if c.Error == Unknown || strings.HasSuffix(c.Frame, CalledBy+UnknownFrame) || offsetRE.MatchString(c.Frame) {
		return true
	}
	for _, part := range c.known() {
		if part == "" {
			return true
		}
	}
	return false
}
