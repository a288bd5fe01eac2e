package view

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"misstep/known"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/signature"
)

// Statuses of a finding and of a bug.
const (
	// StatusNew is a finding that is no known bug on at least one JDK that showed it.
	StatusNew = "new"
	// StatusKnown is a finding that is a known bug on every JDK that showed it.
	StatusKnown = "known"
)

// Selection says which findings are listed, those that match every field that is set, and in which order.
type Selection struct {
	// Campaign in which they were seen, by its whole id.
	Campaign string
	// Kind of the failure (signature.KindMismatch …) and Check of a mismatch.
	Kind, Check string
	// JDK that showed them: a name, a version or a feature release.
	JDK string
	// Status is StatusNew or StatusKnown.
	Status string
	// Bug to which they belong: see bugOf.
	Bug string
	// State that they have on at least one JDK: misstepv1.StateQuiet or StateBack.
	State string
	// Doubted selects those that only owners of runners that are set aside have seen.
	Doubted bool
	// SeenSince is the earliest time at which they were last seen.
	SeenSince time.Time
	// Sort is one of Sorts; empty is new ones first, then the most recently seen.
	Sort string
}

// stored reports whether a finding matches by what is stored of it.
func (s Selection) stored(f *misstepv1.Finding) bool {
	return (s.Campaign == "" || slices.Contains(f.GetCampaigns(), s.Campaign)) &&
		(s.Kind == "" || s.Kind == f.GetSignature().GetKind()) &&
		(s.Check == "" || s.Check == signature.CheckOf(f.GetSignature())) &&
		!f.GetLastSeen().AsTime().Before(s.SeenSince)
}

// doubted reports whether only owners that are set aside have seen a finding.
func (r Reader) doubted(f *misstepv1.Finding) bool {
	return r.Aside != nil && len(f.GetReportedBy()) > 0 &&
		!slices.ContainsFunc(f.GetReportedBy(), func(owner string) bool { return owner == "" || !r.Aside(owner) })
}

// labelled reports whether a finding matches by its label, which also lists its JDKs.
func (s Selection) labelled(f *misstepv1.Finding) bool {
	return (s.Status == "" || s.Status == statusOf(f)) && (s.Bug == "" || s.Bug == bugOf(f)) &&
		(s.JDK == "" || slices.ContainsFunc(f.GetKnownOn(), func(on *misstepv1.KnownOn) bool { return isJDK(on.GetJdk(), s.JDK) }))
}

// inState reports whether a finding matches by its states.
func (s Selection) inState(f *misstepv1.Finding) bool {
	has := func(x *misstepv1.FindingState) bool { return x.GetKind() == s.State }
	return s.State == "" || slices.ContainsFunc(f.GetStates(), has)
}

func statusOf(f *misstepv1.Finding) string {
	if f.GetKnownAs() != "" {
		return StatusKnown
	}
	return StatusNew
}

// bugOf returns the id of the bug to which a finding belongs: its label, or its own id when it is new on one of its JDKs.
func bugOf(f *misstepv1.Finding) string { return cmp.Or(f.GetKnownAs(), f.GetId()) }

// isJDK reports whether a JDK has that name, version or feature release.
func isJDK(jdk *misstepv1.Jdk, what string) bool {
	if jdk.GetName() == what || jdk.GetVersion() == what {
		return true
	}
	version, ok := known.ParseVersion(jdk.GetVersion())
	if !ok {
		return false
	}
	if feature, err := strconv.Atoi(what); err == nil {
		return feature == version[0]
	}
	// A version as people write it: 17.0.15 or 1.8.0_422.
	wanted, ok := known.ParseVersion(what)
	return ok && wanted == version
}
