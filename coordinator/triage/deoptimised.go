package triage

import (
	"strings"

	misstepv1 "misstep/proto/misstep/v1"
)

// deoptimised is the part of a walk that was cut off at a caller that was deoptimised while it was calling: frame::safe_for_sender refuses a
// sender whose return address is its deoptimisation entry (HotSpot: cpu/x86/frame_x86.cpp). The agent saw that address on the stack
// (agent/deoptimised_jvm_test.go); without it the place of a cut tells nothing of its cause. Below an upcall a walk ends in any case. To a bracket's reference,
// which is of later, such a walk may be foreign.
func deoptimised(m *misstepv1.Mismatch) (part, what string, is bool) {
	if m.GetKind() != "truncated" && m.GetKind() != "foreign" || m.GetDeoptimisedCaller() == nil || upcall(fromBottom(m.GetSuspect().GetFrames(), 0)) != "" {
		return "", "", false
	}
	return "deoptimised caller", name(m.GetDeoptimisedCaller()) + ", deoptimised while it was calling " + name(fromBottom(m.GetSuspect().GetFrames(), 0)), true
}

// overUpcall adds to a cut at an upcall that the method from which the VM called was deoptimised: where the walker gets over an upcall (8), that is
// what stopped it.
func overUpcall(m *misstepv1.Mismatch, part, what string) (string, string) {
	if m.GetKind() != "truncated" || m.GetDeoptimisedCaller() == nil || !strings.HasPrefix(part, "upcall ") {
		return part, what
	}
	return part + ", deoptimised caller", what + ", under " + name(m.GetDeoptimisedCaller()) + ", deoptimised while it was calling"
}
