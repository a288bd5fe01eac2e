// Package audit compares what the evidence of trials holds with what the store holds: each mismatch that a JVM's agent or a judge
// recorded must be in a finding.
package audit

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"misstep/app/station"
	"misstep/corpus"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner/jvm"
	"misstep/signature"
	"misstep/triage"
)

// Report says what was compared and what is missing.
type Report struct {
	// Trials with mismatches or records whose evidence was read; WithoutEvidence are those that have none any more.
	Trials          int `json:"trials"`
	WithoutEvidence int `json:"without_evidence"`
	// Records of the evidence, and the Signatures that triage gives them.
	Records    int `json:"records"`
	Signatures int `json:"signatures"`
	// Missing are signatures of the evidence that no finding of the store has.
	Missing []Missing `json:"missing"`
	// Unrecorded counts the mismatches, by check, that a trial counted and of which its evidence has no record.
	Unrecorded map[string]uint64 `json:"unrecorded,omitempty"`
	// Damaged is the number of lines of evidence that could not be read, with records that are too large or had no room.
	Damaged int `json:"damaged"`
	// LeftOut is the number of signatures for which outcomes had no room.
	LeftOut uint64 `json:"left_out"`
}

// Complete reports whether all that trials counted was there to be compared.
func (r *Report) Complete() bool {
	return r.WithoutEvidence == 0 && len(r.Unrecorded) == 0 && r.Damaged == 0 && r.LeftOut == 0
}

// Missing is a signature that is in no finding.
type Missing struct {
	ID        string   `json:"id"`
	Signature []string `json:"signature"`
	Title     string   `json:"title"`
	Trial     uint64   `json:"trial"`
	Count     uint64   `json:"count"`
}

// Run reads the evidence of the campaigns' finished trials, of all campaigns if none is given.
func Run(ctx context.Context, st *station.Station, campaigns ...string) (*Report, error) {
	if len(campaigns) == 0 {
		list, err := st.ListCampaigns(ctx, &misstepv1.ListCampaignsRequest{})
		if err != nil {
			return nil, fmt.Errorf("list campaigns: %w", err)
		}
		for _, c := range list.GetCampaigns() {
			campaigns = append(campaigns, c.GetId())
		}
	}
	findings, _, err := station.Findings(ctx, st, &misstepv1.ListFindingsRequest{})
	if err != nil {
		return nil, fmt.Errorf("list findings: %w", err)
	}
	a := auditor{
		blobs: st.Blobs, found: map[string]bool{}, seen: map[string]int{},
		report: &Report{Missing: []Missing{}, Unrecorded: map[string]uint64{}},
	}
	for _, f := range findings {
		for _, id := range slices.Concat([]string{f.GetId()}, f.GetAliases(), f.GetFormerIds()) {
			a.found[id] = true
		}
	}
	for _, id := range campaigns {
		trials, err := station.Trials(ctx, st, id)
		if err != nil {
			return nil, fmt.Errorf("list trials of %s: %w", id, err)
		}
		for _, t := range trials {
			if err := a.trial(ctx, t); err != nil {
				return nil, fmt.Errorf("trial %d of %s: %w", t.GetId(), id, err)
			}
		}
	}
	return a.report, nil
}

type auditor struct {
	blobs  corpus.Store
	found  map[string]bool // ids of findings
	seen   map[string]int  // ids of signatures: the index in Missing, or -1
	report *Report
}

func (a *auditor) trial(ctx context.Context, t *misstepv1.Trial) error {
	o := t.GetOutcome()
	a.report.LeftOut += uint64(o.GetSignaturesLeftOut())
	unrecorded := map[string]uint64{}
	for _, c := range o.GetChecks() {
		if c.GetMismatch() > 0 {
			unrecorded[c.GetCheck()] = c.GetMismatch()
		}
	}
	had, read, before := len(unrecorded) > 0, false, a.report.Records
	for _, e := range o.GetEvidence() {
		if e.GetName() != jvm.FileRecords && e.GetName() != jvm.FileJudged {
			continue
		}
		records, err := a.records(ctx, e)
		if errors.Is(err, corpus.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		read = true
		a.report.Damaged += records.Damaged + records.Torn + records.TooLarge + records.LeftOut
		for _, m := range records.Mismatches {
			a.record(t.GetId(), m)
			unrecorded[m.GetCheck()] -= min(unrecorded[m.GetCheck()], m.GetCount())
		}
	}
	switch {
	case !had && a.report.Records == before:
		return nil
	case !read:
		a.report.WithoutEvidence++
		return nil
	}
	a.report.Trials++
	for check, n := range unrecorded {
		if n > 0 {
			a.report.Unrecorded[check] += n
		}
	}
	return nil
}

func (a *auditor) records(ctx context.Context, e *misstepv1.Evidence) (jvm.Records, error) {
	digest, err := corpus.ParseDigest(e.GetDigest())
	if err != nil {
		return jvm.Records{}, err
	}
	r, _, err := a.blobs.Open(ctx, digest)
	if err != nil {
		return jvm.Records{}, err
	}
	defer r.Close()
	return jvm.ReadRecords(ctx, r)
}

func (a *auditor) record(trial uint64, m *misstepv1.Mismatch) {
	a.report.Records++
	sig, title := triage.Mismatch(m)
	id := signature.ID(sig)
	i, seen := a.seen[id]
	switch {
	case !seen && a.found[id]:
		a.seen[id] = -1
		a.report.Signatures++
	case !seen:
		a.seen[id] = len(a.report.Missing)
		a.report.Signatures++
		a.report.Missing = append(a.report.Missing, Missing{
			ID: id, Signature: append([]string{sig.GetKind()}, sig.GetParts()...), Title: title, Trial: trial, Count: m.GetCount(),
		})
	case i >= 0:
		a.report.Missing[i].Count += m.GetCount()
	}
}
