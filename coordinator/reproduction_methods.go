package coordinator

import (
	"regexp"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"misstep/coordinator/triage"
	misstepv1 "misstep/proto/misstep/v1"
)

// maxMethods of a finding's stacks that are instrumented first.
const maxMethods = 64

// hs_err's line of a Java frame: "J 12 c1 a.B.c(I)V (5 bytes) …" or "j  a.B.c(I)V+3".
var javaFrameRE = regexp.MustCompile(`^[Jj]\s+(?:\d+%?\s+(?:c\d|jvmci)\s+)?([\p{L}\p{N}_.$]+)\.([\p{L}\p{N}_$<>]+)(\([^)\s]*\)[^\s+]+)`)

// methodsOf a finding's evidence, the one on top first: where the walk began.
func methodsOf(f *misstepv1.Finding) (out []string) {
	add := func(class, method, descriptor string) {
		name := strings.ReplaceAll(class, ".", "/") + "." + method + descriptor
		ours := strings.HasPrefix(name, "java/lang/Misstep") || strings.HasPrefix(name, "misstep/agent/") // never instrumented
		if class != "" && descriptor != "" && !ours && len(out) < maxMethods && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	for _, m := range f.GetExample().GetMismatches() {
		if sig, _ := triage.Mismatch(m); len(m.GetReference().GetFrames()) == 0 || !proto.Equal(sig, f.GetSignature()) {
			continue
		}
		for _, fr := range append(slices.Clone(m.GetReference().GetFrames()), m.GetSuspect().GetFrames()...) {
			add(fr.GetClassName(), fr.GetMethod(), fr.GetDescriptor_())
		}
	}
	for _, line := range f.GetExample().GetCrash().GetJavaFrames() {
		if m := javaFrameRE.FindStringSubmatch(line); m != nil {
			add(m[1], m[2], m[3])
		}
	}
	return out
}
