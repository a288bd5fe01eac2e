package coordinator

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"misstep/internal/shorten"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/triage"
)

// Bounds of what a runner may report. They are far above what a correct runner reports, and keep a broken one from filling the
// store.
const (
	maxHeld          = 4096
	maxSlots         = 4096
	maxID            = 256
	maxCapabilities  = 64
	maxProgressBytes = 256 << 10
	maxOutcomeBytes  = 32 << 20
	maxThreads       = 4096
	maxEvidence      = 256
	maxChecks        = 64
	maxLine          = 4096
)

// isDigest reports whether a string is a digest in the form sha256: with 64 hex digits. Every piece of evidence has one.
func isDigest(text string) bool {
	digits, ok := strings.CutPrefix(text, "sha256:")
	return ok && len(digits) == 64 && strings.Trim(digits, "0123456789abcdef") == ""
}

func isID(s string) bool {
	return s != "" && len(s) <= maxID && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f })
}

// isFileName reports whether s can name a file in any folder, without leaving it, being hidden, or writing to a terminal.
func isFileName(s string) bool {
	return s != "" && len(s) <= maxID && utf8.ValidString(s) && !strings.HasPrefix(s, ".") &&
		!strings.ContainsFunc(s, func(r rune) bool { return r == '/' || r == '\\' || unicode.IsControl(r) })
}

// checkSynchronize returns why a whole report is unusable. A malformed outcome in it does not make it so: it spoils only one trial.
func checkSynchronize(req *misstepv1.SynchronizeRequest) error {
	r := req.GetRunner()
	switch {
	case !isID(r.GetId()):
		return fmt.Errorf("runner.id: expected 1 to %d characters without spaces, got %q", maxID, clip(r.GetId()))
	case len(r.GetHost()) > maxID:
		return fmt.Errorf("runner.host: expected at most %d bytes", maxID)
	case r.GetSlots() > maxSlots:
		return fmt.Errorf("runner.slots: expected at most %d, got %d", maxSlots, r.GetSlots())
	case req.GetFreeSlots() > r.GetSlots():
		return fmt.Errorf("free_slots: expected at most runner.slots, which is %d, got %d", r.GetSlots(), req.GetFreeSlots())
	case r.GetAgentDigest() != "" && !isDigest(r.GetAgentDigest()):
		return fmt.Errorf("runner.agent_digest: expected sha256: and 64 hex digits, got %q", clip(r.GetAgentDigest()))
	case len(r.GetCapabilities()) > maxCapabilities:
		return fmt.Errorf("runner.capabilities: expected at most %d", maxCapabilities)
	case len(req.GetHeld()) > maxHeld:
		return fmt.Errorf("held: expected at most %d leases, got %d", maxHeld, len(req.GetHeld()))
	}
	seen := make(map[string]bool, len(req.GetHeld()))
	for i, h := range req.GetHeld() {
		switch {
		case !isID(h.GetLeaseId()):
			return fmt.Errorf("held[%d].lease_id: expected 1 to %d characters without spaces", i, maxID)
		case seen[h.GetLeaseId()]:
			return fmt.Errorf("held[%d].lease_id: %s is listed twice", i, h.GetLeaseId())
		case h.GetState() == nil:
			return fmt.Errorf("held[%d]: expected running, outcome or failure", i)
		case h.GetRunning() != nil &&
			(proto.Size(h.GetRunning()) > maxProgressBytes || len(h.GetRunning().GetChecks()) > maxChecks):
			return fmt.Errorf("held[%d].running: expected at most %d bytes and %d checks", i, maxProgressBytes, maxChecks)
		}
		seen[h.GetLeaseId()] = true
	}
	return nil
}

// checkOutcome returns why an outcome cannot be recorded.
func checkOutcome(o *misstepv1.Outcome) error {
	if size := proto.Size(o); size > maxOutcomeBytes {
		return fmt.Errorf("expected at most %d bytes, got %d", maxOutcomeBytes, size)
	}
	if _, ok := misstepv1.OutcomeKind_name[int32(o.GetKind())]; !ok ||
		o.GetKind() == misstepv1.OutcomeKind_OUTCOME_KIND_UNSPECIFIED {
		return fmt.Errorf("expected a known kind, got %d", o.GetKind())
	}
	for _, b := range []struct {
		what   string
		n, max int
	}{
		{"checks", len(o.GetChecks()), maxChecks},
		{"mismatches", len(o.GetMismatches()), triage.MaxMismatches},
		{"pieces of evidence", len(o.GetEvidence()), maxEvidence},
		{"hung threads", len(o.GetHang().GetThreads()), maxThreads},
		{"bytes of reason", len(o.GetReason()), 16 * maxLine},
		{"bytes of trace_parent", len(o.GetTraceParent()), maxID},
		{"native frames", len(o.GetCrash().GetNativeFrames()), triage.MaxFrames},
		{"Java frames", len(o.GetCrash().GetJavaFrames()), triage.MaxFrames},
	} {
		if b.n > b.max {
			return fmt.Errorf("expected at most %d %s, got %d", b.max, b.what, b.n)
		}
	}
	for i, m := range o.GetMismatches() {
		if err := triage.Bounded(m); err != nil {
			return fmt.Errorf("mismatch %d %w", i, err)
		}
	}
	for i, e := range o.GetEvidence() {
		if !isDigest(e.GetDigest()) || !isFileName(e.GetName()) {
			return fmt.Errorf("evidence %d (%q): expected a file name without slashes and a digest sha256: with 64 hex digits", i,
				clip(e.GetName()))
		}
	}
	switch {
	case o.GetKind() == misstepv1.OutcomeKind_OUTCOME_KIND_MISMATCHES && len(o.GetMismatches()) == 0:
		return errors.New("its kind is mismatches, but it has none")
	case o.GetKind() == misstepv1.OutcomeKind_OUTCOME_KIND_CRASH && o.GetCrash() == nil:
		return errors.New("its kind is crash, but it describes none")
	case o.GetKind() == misstepv1.OutcomeKind_OUTCOME_KIND_HANG && o.GetHang() == nil:
		return errors.New("its kind is hang, but it describes none")
	}
	return nil
}

func clipFailure(f *misstepv1.InfrastructureFailure) *misstepv1.InfrastructureFailure {
	f = proto.CloneOf(f)
	f.Message = shorten.To(f.GetMessage(), maxLine)
	return f
}

func clip(s string) string { return shorten.To(s, 80) }
