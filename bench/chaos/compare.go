package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"misstep/app/station"
	"misstep/corpus"
	misstepv1 "misstep/proto/misstep/v1"
)

// results are what a campaign has recorded.
type results struct {
	// Trials by the digest of their recipe: the kind of the outcome and the findings that it hit, in words.
	Trials map[string]string
	// Findings by id: the number of trials that hit it, and its title.
	Findings map[string]string
	// Recorded counts trials, Repeated those that are recorded more than once, GivenUp those without an outcome.
	Recorded, Repeated, GivenUp int
	// Retries of trials that were lost or failed, by the coordinator's own count.
	Retries uint64
	// NoEvidence lists evidence that the corpus lacks.
	NoEvidence []string
}

// read reads the results of a campaign that has ended.
func read(ctx context.Context, st *station.Station, campaign string) (r results, err error) {
	trials, err := station.Trials(ctx, st, campaign)
	if err != nil {
		return r, err
	}
	r.Trials, r.Findings = map[string]string{}, map[string]string{}
	hits := map[string]int{}
	for _, t := range trials {
		if err := r.add(ctx, st.Blobs, t); err != nil {
			return r, err
		}
		for _, id := range t.GetFindingIds() {
			hits[id]++
		}
	}
	findings, _, err := station.Findings(ctx, st, &misstepv1.ListFindingsRequest{CampaignId: campaign})
	if err != nil {
		return r, err
	}
	for _, f := range findings {
		r.Findings[f.GetId()] = fmt.Sprintf("%d trials: %s", hits[f.GetId()], f.GetTitle())
	}
	status, err := st.GetCampaign(ctx, &misstepv1.GetCampaignRequest{CampaignId: campaign})
	r.Retries = status.GetCampaign().GetRetries()
	return r, err
}

func (r *results) add(ctx context.Context, blobs corpus.Source, t *misstepv1.Trial) error {
	r.Recorded++
	key, err := misstepv1.RecipeDigest(t.GetRecipe())
	if err != nil {
		return err
	}
	if _, again := r.Trials[key]; again {
		r.Repeated++
	}
	if t.GetOutcome() == nil {
		r.GivenUp++
		r.Trials[key] = "given up: " + t.GetFailure().GetMessage()
		return nil
	}
	ids := slices.Sorted(slices.Values(t.GetFindingIds()))
	r.Trials[key] = misstepv1.OutcomeName(t.GetOutcome().GetKind()) + " " + strings.Join(ids, " ")
	for _, e := range t.GetOutcome().GetEvidence() {
		digest, err := corpus.ParseDigest(e.GetDigest())
		if err != nil {
			return err
		}
		if _, err := corpus.ReadAll(ctx, blobs, digest, 64<<20); err != nil { // verifies the digest
			r.NoEvidence = append(r.NoEvidence, fmt.Sprintf("%s of %s: %v", e.GetName(), key, err))
		}
	}
	return nil
}

// differences lists what differs between what was recorded under faults and without, at most limit lines, and their number.
func differences(disturbed, calm map[string]string, limit int) (lines []string, n int) {
	keys := maps.Clone(disturbed)
	maps.Copy(keys, calm)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		got, has := disturbed[key]
		want, wanted := calm[key]
		if has == wanted && got == want {
			continue
		}
		if n++; len(lines) < limit {
			lines = append(lines, fmt.Sprintf("%s: %q under faults, %q without", key, got, want))
		}
	}
	return lines, n
}
