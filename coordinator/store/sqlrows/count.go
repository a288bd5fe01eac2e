package sqlrows

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"
	"strings"

	"misstep/coordinator/rates"
	"misstep/coordinator/store"
)

// CombinationID returns the key of a combination: a part of its digest, so that a row of a trial is written without a look whether
// its combination has a row. Two of a million combinations have the same key with a probability of 10^-7.
func CombinationID(c rates.Combination) int64 {
	sum := sha256.Sum256([]byte(strings.Join(combinationTexts(c), "\x00")))
	return int64(binary.BigEndian.Uint64(sum[:]) >> 1)
}

// combinationTexts returns the values of the CombinationColumns.
func combinationTexts(c rates.Combination) []string {
	return []string{c.Campaign, c.JDK, c.Workload, c.FlagSet, c.Checks, c.Perturbation, c.Ratio, c.Interval, c.Profiler}
}

// PutCombination stores a combination under its key, unless it is there.
func (t *Tx) PutCombination(c rates.Combination) error {
	t.known = nil
	args := []any{CombinationID(c)}
	for _, text := range combinationTexts(c) {
		args = append(args, text)
	}
	return t.Exec("store a combination", "INSERT INTO combinations (id, "+CombinationColumns+") VALUES (?, "+
		parameters(CombinationColumns)+") ON CONFLICT DO NOTHING", args...)
}

// counted is a result with what it is counted by.
type counted struct {
	*store.Trial
	combination   rates.Combination
	combinationID int64
}

func countedTrial(trial *store.Trial) counted {
	c := rates.CombinationOf(trial.Campaign, trial.Recipe)
	return counted{trial, c, CombinationID(c)}
}

// spanKey is what numbers of trials are kept by.
type spanKey struct {
	span        int64
	combination rates.Combination
}

// shownKey is what numbers of hits are kept by.
type shownKey struct {
	combination rates.Combination
	findings    string
}

// count adds new results to the counts. ids are theirs.
func (t *Tx) count(all []counted, ids []int64) error {
	spans, shown := map[spanKey]int64{}, map[shownKey]int64{}
	for i, trial := range all {
		if !trial.Counts() {
			continue
		}
		spans[spanKey{ids[i] / SpanSize, trial.combination}]++
		if len(trial.FindingIDs) == 0 {
			continue
		}
		findings := slices.Compact(slices.Sorted(slices.Values(trial.FindingIDs)))
		shown[shownKey{trial.combination, strings.Join(findings, ",")}]++
	}
	if err := t.countSpans(spans); err != nil {
		return err
	}
	var hits [][]any
	for _, k := range slices.SortedFunc(maps.Keys(shown), func(a, b shownKey) int {
		return cmp.Or(cmp.Compare(a.findings, b.findings), rates.Compare(a.combination, b.combination))
	}) {
		hits = append(hits, []any{CombinationID(k.combination), k.findings, shown[k]})
	}
	const add = " ON CONFLICT (combination, findings) DO UPDATE SET n = shown_counts.n + excluded.n"
	_, err := put(t, "numbers of hits", "shown_counts", "combination, findings, n", add, hits, asItIs)
	return err
}

// countSpans adds to counts, many with one statement. Only the first one of a combination in a span makes sure that the combination
// is there.
func (t *Tx) countSpans(spans map[spanKey]int64) error {
	type key struct{ span, combination int64 }
	by := make(map[key]spanKey, len(spans))
	for k := range spans {
		by[key{k.span, CombinationID(k.combination)}] = k
	}
	keys := slices.SortedFunc(maps.Keys(by), func(a, b key) int {
		return cmp.Or(cmp.Compare(a.span, b.span), cmp.Compare(a.combination, b.combination))
	})
	const add = " ON CONFLICT (span, combination) DO UPDATE SET n = combination_counts.n + excluded.n " +
		"RETURNING span, combination, n"
	t.wrote = true
	for chunk := range chunks(keys) {
		query, args, err := insertion("combination_counts", "span, combination, n", add, chunk, func(k key) ([]any, error) {
			return []any{k.span, k.combination, spans[by[k]]}, nil
		})
		if err != nil {
			return err
		}
		var first []key
		if _, err := List(t, "counts", func(scan func(...any) error) (none struct{}, err error) {
			var k key
			var n int64
			if err = scan(&k.span, &k.combination, &n); n == spans[by[k]] {
				first = append(first, k)
			}
			return none, err
		}, query, args...); err != nil {
			return err
		}
		for _, k := range first {
			if err := t.PutCombination(by[k].combination); err != nil {
				return err
			}
		}
	}
	return nil
}
