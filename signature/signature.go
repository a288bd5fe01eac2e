// Package signature is the identity of a finding: the part of a mismatch, a crash, a hang or a failure that belongs to the bug, in
// one text form with one parser. What belongs only to the run (addresses, numbers of generated classes, source lines) is left out.
//
// A signature has a kind and parts, each of which is one line of UTF-8 text with at most 300 bytes (Clean):
//
//	mismatch  check, kind of the difference, place (see Place)
//	crash     error, "frame: F", "walker: A < B", "thread: T", "operation: O"
//	hang      cause, then who waits where, sorted
//	failure   reason, message
//
// Its text form (Text) is the line "misstep signature 1", the kind and the parts, a line each. Its id is "F" and the first 12
// hex digits of the SHA-256 of that text, and of nothing else:
//
//	printf 'misstep signature 1\nmismatch\ngst-asgct\ntruncated\nupcall <clinit>\n' | sha256sum
//
// The form is versioned and frozen: within a Version an id means the same forever; testdata/ids.txt holds test vectors. Upgrade
// converts signatures that were stored by older versions.
package signature

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	misstepv1 "misstep/proto/misstep/v1"
)

// Version of the text form. An id of this version means the same forever, so a change of what a part may contain needs a new
// version and an entry in Upgrade.
const Version = 1

// Kinds of signatures.
const (
	KindMismatch = "mismatch"
	KindCrash    = "crash"
	KindHang     = "hang"
	KindFailure  = "failure"
)

// Kinds are all of them.
var Kinds = []string{KindMismatch, KindCrash, KindHang, KindFailure}

// Signature identifies a finding: a Mismatch, a Crash, a Hang or a Failure.
type Signature interface {
	// Kind returns one of Kinds.
	Kind() string
	// Parts returns the parts in order, each cleaned (see Clean).
	Parts() []string
}

// Mismatch identifies a difference between two observations of one stack.
type Mismatch struct {
	// Check that compared them, e.g. "gst-asgct".
	Check string
	// Difference is the kind of mismatch, e.g. "truncated".
	Difference string
	// Place of the difference.
	Place Place
}

// Crash identifies the crash of a JVM.
type Crash struct {
	// Error is the name of a signal, or source file and failed assertion of an internal error.
	Error string
	// Frame that is blamed, e.g. "V frame::sender"; UnknownFrame if the report has none, and see CalledBy and UnsafeCaller.
	Frame string
	// Walker is the chain of functions from the crash to the entry of the walker; empty if no walker is on the stack, Unknown alone
	// if that is not known.
	Walker []string
	// Thread is the kind of the thread, e.g. "Java", "compiler C2", Unknown.
	Thread string
	// Operation is the VM operation that was being executed, "none" without one, Unknown if that is not known.
	Operation string
}

// Hang identifies a JVM that made no progress.
type Hang struct {
	// Cause, e.g. "deadlock".
	Cause string
	// Waiters say, sorted, which thread waits where.
	Waiters []string
}

// Failure identifies how a program failed by itself.
type Failure struct {
	// Reason is how it is known, as in ApplicationFailure: "validation", "exception" or "exit-code".
	Reason string
	// Message is what the program reported, without values of the run.
	Message string
}

// Kind implements Signature.
func (Mismatch) Kind() string { return KindMismatch }

// Kind implements Signature.
func (Crash) Kind() string { return KindCrash }

// Kind implements Signature.
func (Hang) Kind() string { return KindHang }

// Kind implements Signature.
func (Failure) Kind() string { return KindFailure }

// Parts implements Signature: check, kind of the difference, place.
func (m Mismatch) Parts() []string { return clean(m.Check, m.Difference, m.Place.String()) }

const (
	frameLabel     = "frame: "
	walkerLabel    = "walker: "
	threadLabel    = "thread: "
	operationLabel = "operation: "

	walkerSeparator = " < "
	noWalker        = "none"
)

// Parts implements Signature: error, then frame, walker, thread and operation, each after its label.
func (c Crash) Parts() []string {
	walker := noWalker
	if len(c.Walker) > 0 {
		walker = strings.Join(c.Walker, walkerSeparator)
	}
	return clean(c.Error, frameLabel+c.Frame, walkerLabel+walker, threadLabel+c.Thread, operationLabel+c.Operation)
}

// Parts implements Signature: cause, then the waiters.
func (h Hang) Parts() []string { return clean(append([]string{h.Cause}, h.Waiters...)...) }

// Parts implements Signature: reason, message.
func (f Failure) Parts() []string { return clean(f.Reason, f.Message) }

// Proto returns the signature as it is stored and sent.
func Proto(s Signature) *misstepv1.Signature {
	return &misstepv1.Signature{Kind: s.Kind(), Parts: s.Parts(), Version: Version}
}

// Read returns the typed form of a stored signature of any version up to Version.
func Read(p *misstepv1.Signature) (Signature, error) {
	if p.GetVersion() > Version {
		return nil, fmt.Errorf("signature of version %d, this program knows %d: use the newer misstep that wrote it",
			p.GetVersion(), Version)
	}
	p, _ = Upgrade(p)
	parts := clean(p.GetParts()...)
	switch p.GetKind() {
	case KindMismatch:
		return readMismatch(parts)
	case KindCrash:
		return readCrash(parts)
	case KindHang:
		if len(parts) == 0 {
			return nil, fmt.Errorf("signature of a hang: expected its cause")
		}
		return Hang{Cause: parts[0], Waiters: parts[1:]}, nil
	case KindFailure:
		if len(parts) != 2 {
			return nil, fmt.Errorf("signature of a failure: expected reason and message, got %q", parts)
		}
		return Failure{Reason: parts[0], Message: parts[1]}, nil
	}
	return nil, fmt.Errorf("signature of kind %q: expected mismatch, crash, hang or failure", p.GetKind())
}

func readMismatch(parts []string) (Signature, error) {
	if len(parts) != 3 {
		return nil, fmt.Errorf("signature of a mismatch: expected check, kind and place, got %q", parts)
	}
	place, err := ParsePlace(parts[2])
	if err != nil {
		return nil, fmt.Errorf("signature of a mismatch: %w", err)
	}
	return Mismatch{Check: parts[0], Difference: parts[1], Place: place}, nil
}

func readCrash(parts []string) (Signature, error) {
	labels := []string{"", frameLabel, walkerLabel, threadLabel, operationLabel}
	if len(parts) != len(labels) {
		return nil, fmt.Errorf("signature of a crash: expected %d parts, got %q", len(labels), parts)
	}
	values := make([]string, len(labels))
	for i, label := range labels {
		value, found := strings.CutPrefix(parts[i], label)
		if !found {
			return nil, fmt.Errorf("signature of a crash: expected %q, got %q", label, parts[i])
		}
		values[i] = value
	}
	c := Crash{Error: values[0], Frame: values[1], Thread: values[3], Operation: values[4]}
	if values[2] != noWalker {
		c.Walker = strings.Split(values[2], walkerSeparator)
	}
	return c, nil
}

// header is the first line of the text form.
const header = "misstep signature 1\n"

// Text returns the text form of a signature, whose digest is its id: the line "misstep signature 1", the kind, then one part per
// line.
func Text(s Signature) string { return text(s.Kind(), s.Parts()) }

func text(kind string, parts []string) string {
	var b strings.Builder
	b.WriteString(header + kind + "\n")
	for _, part := range parts {
		b.WriteString(part + "\n")
	}
	return b.String()
}

// Parse reads the text form of a signature. It is the inverse of Text and refuses everything else.
func Parse(s string) (Signature, error) {
	body, found := strings.CutPrefix(s, header)
	if !found {
		return nil, fmt.Errorf("signature: first line %.40q, expected %q", s, header)
	}
	body, found = strings.CutSuffix(body, "\n")
	if !found {
		return nil, fmt.Errorf("signature: its last line does not end")
	}
	lines := strings.Split(body, "\n")
	parts := lines[1:]
	if !slices.Equal(parts, clean(parts...)) {
		return nil, fmt.Errorf("signature: its parts are no printable text of at most %d bytes", maxPart)
	}
	return Read(&misstepv1.Signature{Kind: lines[0], Parts: parts, Version: Version})
}

// ID returns the id of the finding with this signature: "F" and the first 12 hex digits of the SHA-256 of its text form. A
// signature of an older version is upgraded first.
func ID(p *misstepv1.Signature) string {
	p, _ = Upgrade(p)
	return id([]byte(text(p.GetKind(), clean(p.GetParts()...))))
}

func id(text []byte) string {
	sum := sha256.Sum256(text)
	return "F" + hex.EncodeToString(sum[:6])
}

// Same reports whether two stored signatures, of any versions, identify the same finding.
func Same(a, b *misstepv1.Signature) bool {
	a, _ = Upgrade(a)
	b, _ = Upgrade(b)
	return a.GetKind() == b.GetKind() && slices.Equal(clean(a.GetParts()...), clean(b.GetParts()...))
}

// CheckOf returns the check of a mismatch's stored signature, "" for other kinds.
func CheckOf(p *misstepv1.Signature) string {
	if p.GetKind() != KindMismatch || len(p.GetParts()) == 0 {
		return ""
	}
	return p.GetParts()[0]
}

// maxPart is the maximum length of a part in bytes; a longer one is cut and "…" is added.
const maxPart = 300

// Clean bounds a string and makes it printable on one line: valid UTF-8, at most 300 bytes and "…". It is idempotent.
func Clean(s string) string {
	s = strings.ToValidUTF8(s, "?")
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
	if len(s) > maxPart {
		s = strings.ToValidUTF8(s[:maxPart], "") + "…"
	}
	return s
}

func clean(parts ...string) []string {
	out := make([]string, len(parts))
	for i, p := range parts {
		out[i] = Clean(p)
	}
	return out
}
