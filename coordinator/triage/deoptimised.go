package triage

import misstepv1 "misstep/proto/misstep/v1"

// deoptimised says that a walk was cut off at a caller that was deoptimised while it was calling. A walk of a thread's own stack at a
// safepoint ends early only where frame::safe_for_sender refuses the sender (HotSpot: cpu/x86/frame_x86.cpp); of one Java method
// called by another it does so when the return address is the deoptimisation entry. Calls through stubs (upcalls, exceptions that the
// VM makes) and natives are other edges. An experiment shows it: agent/deoptimised_jvm_test.go.
func deoptimised(m *misstepv1.Mismatch, e edge) bool {
	return m.GetCheck() == "gst-asgct" && !asynchronous(m) && e.callee != nil && e.caller != nil &&
		!native(e.callee) && !native(e.caller) && !thrown(e.callee)
}
