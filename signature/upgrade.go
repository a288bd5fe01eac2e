package signature

import (
	"regexp"
	"slices"
	"strings"

	misstepv1 "misstep/proto/misstep/v1"
)

// Words in the parts of crashes and hangs.
const (
	// StackScanning ends the chain of a walk that started at a word of the stack that was taken for a return address.
	StackScanning = "stack scanning"
	// UnsafeCaller precedes the method whose call of sun.misc.Unsafe crashed the VM.
	UnsafeCaller = "V Unsafe called by "
	// WaitsFor separates who waits where from the class of the lock, HeldBy that class from who holds the lock.
	WaitsFor = " waits for "
	HeldBy   = " held by "
	// Initialises separates where a thread is from the class that it initialises, for which others wait. PinnedBy separates where a
	// virtual thread waits from the method for which it cannot leave its carrier.
	Initialises = " initialises "
	PinnedBy    = " pinned by "
)

// wording is a replacement of words in the parts of signatures of a kind.
type wording struct {
	kind    string
	pattern *regexp.Regexp
	to      string
}

func word(kind, pattern, to string) wording { return wording{kind, regexp.MustCompile(pattern), to} }

// from0 converts parts of version 0 to version 1, to0 does the reverse. Both are frozen with their versions.
var (
	from0 = []wording{
		word(KindMismatch, `^beyond upcall `, "below upcall "),
		word(KindMismatch, `^the bottom frame$`, "bottom frame"),
		word(KindMismatch, `^the whole stack$`, "whole stack"),
		word(KindMismatch, `^another stack$`, "other stack"),
		word(KindMismatch, `^the top$`, "top frames"),
		word(KindMismatch, `^caller without an index$`, "no bytecode index"),
		word(KindMismatch, `^no such code$`, "undefined code"),
		word(KindMismatch, `(^| )\(nothing\)( |$)`, "${1}(none)${2}"),
		word(KindCrash, `^frame: V Unsafe for `, "frame: V Unsafe called by "),
		word(KindCrash, `^(walker: (?:.* < |in ))guess$`, "${1}stack scanning"),
		word(KindHang, `^(.* waits for \S*) of `, "${1} held by "),
	}
	to0 = []wording{
		word(KindMismatch, `^below upcall `, "beyond upcall "),
		word(KindMismatch, `^bottom frame$`, "the bottom frame"),
		word(KindMismatch, `^whole stack$`, "the whole stack"),
		word(KindMismatch, `^other stack$`, "another stack"),
		word(KindMismatch, `^top frames$`, "the top"),
		word(KindMismatch, `^no bytecode index$`, "caller without an index"),
		word(KindMismatch, `^undefined code$`, "no such code"),
		word(KindMismatch, `(^| )\(none\)( |$)`, "${1}(nothing)${2}"),
		word(KindCrash, `^frame: V Unsafe called by `, "frame: V Unsafe for "),
		word(KindCrash, `^(walker: (?:.* < |in ))stack scanning$`, "${1}guess"),
		word(KindHang, `^(.* waits for \S*) held by `, "${1} of "),
	}
)

// reword returns a signature of another version.
func reword(p *misstepv1.Signature, words []wording, version uint32) *misstepv1.Signature {
	out := &misstepv1.Signature{Kind: p.GetKind(), Parts: slices.Clone(p.GetParts()), Version: version}
	for i := range out.GetParts() {
		for _, w := range words {
			if w.kind == p.GetKind() {
				out.Parts[i] = w.pattern.ReplaceAllString(out.GetParts()[i], w.to)
			}
		}
	}
	return out
}

// Upgrade returns a stored signature in the text form of this Version, and the id that the finding had in its old form. A signature
// of this version is returned unchanged, with an empty id.
func Upgrade(p *misstepv1.Signature) (now *misstepv1.Signature, formerID string) {
	if p.GetVersion() > 0 {
		return p, ""
	}
	return reword(p, from0, Version), idOfVersion0(p)
}

// UpgradeFinding converts a stored finding's signature to the text form of this Version. If the finding's id was computed from that
// signature, it is computed anew, and the old one is added to the former ids.
func UpgradeFinding(f *misstepv1.Finding) {
	if f.GetSignature() == nil {
		return
	}
	now, former := Upgrade(f.GetSignature())
	f.Signature = now
	if former == "" || former != f.GetId() {
		return
	}
	f.Id = ID(now)
	if !slices.Contains(f.GetFormerIds(), former) {
		f.FormerIds = append(f.FormerIds, former)
	}
}

// HasID reports whether id is the id of the stored signature in this version or an older one.
func HasID(p *misstepv1.Signature, id string) bool {
	p, _ = Upgrade(p)
	return id == ID(p) || id == idOfVersion0(reword(p, to0, 0))
}

// idOfVersion0 returns the id in version 0 of the text form: a digest of the canonical JSON of the message.
func idOfVersion0(p *misstepv1.Signature) string {
	canonical, err := misstepv1.Canonical(p)
	if err != nil { // text that is not UTF-8
		canonical = []byte(p.GetKind() + "\n" + strings.Join(p.GetParts(), "\n"))
	}
	return id(canonical)
}
