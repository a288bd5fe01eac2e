package coordinator

import (
	"regexp"
	"slices"
	"strings"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/signature"
	"misstep/triage"
)

// maxMethods bounds the methods of a finding's stacks, which are the first candidates for instrumentation.
const maxMethods = 64

// loadedRE matches the names of classes that are the same in every run.
var loadedRE = regexp.MustCompile(`^[\p{L}\p{N}_.$]+$`)

// methodsOf returns the methods in the stacks of a finding's example, from the top, where the walk began.
func methodsOf(f *misstepv1.Finding) (out []string) {
	add := func(class, method, descriptor string) {
		name := strings.ReplaceAll(class, ".", "/") + "." + method + descriptor
		ours := strings.HasPrefix(name, "java/lang/Misstep") || strings.HasPrefix(name, "misstep/agent/") // never instrumented
		if class != "" && descriptor != "" && !ours && len(out) < maxMethods && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	for _, m := range f.GetExample().GetMismatches() {
		if sig, _ := triage.Mismatch(m); len(m.GetReference().GetFrames()) == 0 || !signature.Same(sig, f.GetSignature()) {
			continue
		}
		for _, fr := range append(slices.Clone(m.GetReference().GetFrames()), m.GetSuspect().GetFrames()...) {
			add(fr.GetClassName(), fr.GetMethod(), fr.GetDescriptor_())
		}
	}
	for _, line := range f.GetExample().GetCrash().GetJavaFrames() {
		if frame := signature.ParseFrame(line); loadedRE.MatchString(frame.Class) {
			add(frame.Class, frame.Method, frame.Descriptor)
		}
	}
	return out
}
