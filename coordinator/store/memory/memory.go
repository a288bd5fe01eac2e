// Package memory is a store that keeps everything in memory only: for tests, and for single runs that need no folder.
package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"misstep/coordinator/rates"
	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

// Store keeps rows in maps under one lock. A failed update is rolled back by a journal of inverse operations.
type Store struct {
	mu sync.RWMutex
	// Everything below is guarded by mu. Rows are replaced, never changed in place.
	campaigns     map[string]*store.Campaign
	reproductions map[string]*misstepv1.Reproduction
	jobs          map[trialKey]store.Job
	waiting       sets[uint64] // indices of jobs by campaign
	leases        map[string]*store.Lease
	ofRunner      sets[string] // ids of leases by runner
	ofCampaign    sets[string] // ids of leases by campaign
	leaseOf       map[trialKey]string
	trials        []*store.Trial
	resultOf      map[trialKey]bool
	nextTrial     uint64
	findings      map[string]*store.Finding
	decisions     []*misstepv1.TriageDecision
	workers       map[string][]byte
	known         map[string]*misstepv1.KnownBug
	visibility    map[string]*misstepv1.FindingVisibility
	tokens        map[string]*store.Token
	access        map[grantKey]*misstepv1.AccessGrant
	audit         []*misstepv1.AuditEntry // appended to or replaced, never changed in place
	nextAudit     uint64
	catalogue     map[catalogueKey]*misstepv1.CatalogueEntry
	schedules     map[string]*misstepv1.Schedule
	retests       map[string]*misstepv1.Retest
	repetitions   map[trialKey]*store.Repetition
}

type trialKey struct {
	campaign string
	index    uint64
}

// New returns an empty store.
func New() *Store {
	return &Store{
		campaigns:     map[string]*store.Campaign{},
		reproductions: map[string]*misstepv1.Reproduction{},
		jobs:          map[trialKey]store.Job{},
		waiting:       sets[uint64]{},
		leases:        map[string]*store.Lease{},
		ofRunner:      sets[string]{},
		ofCampaign:    sets[string]{},
		leaseOf:       map[trialKey]string{},
		resultOf:      map[trialKey]bool{},
		findings:      map[string]*store.Finding{},
		workers:       map[string][]byte{},
		known:         map[string]*misstepv1.KnownBug{},
		visibility:    map[string]*misstepv1.FindingVisibility{},
		tokens:        map[string]*store.Token{},
		access:        map[grantKey]*misstepv1.AccessGrant{},
		catalogue:     map[catalogueKey]*misstepv1.CatalogueEntry{},
		schedules:     map[string]*misstepv1.Schedule{},
		retests:       map[string]*misstepv1.Retest{},
		repetitions:   map[trialKey]*store.Repetition{},
	}
}

// Close does nothing.
func (s *Store) Close() error { return nil }

// View implements store.Store.
func (s *Store) View(ctx context.Context, f func(store.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return f(&tx{s: s})
}

// Update implements store.Store.
func (s *Store) Update(ctx context.Context, f func(store.Tx) error) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t := &tx{s: s, writable: true}
	done := false
	// A panic in f must not leave half a transaction behind, either.
	defer func() {
		if !done {
			t.rollback()
		}
	}()
	if err := f(t); err != nil {
		return err
	}
	done = true
	return nil
}

var errReadOnly = errors.New("write in a read-only transaction")

type tx struct {
	s        *Store
	writable bool
	undo     []func()
}

func (t *tx) rollback() {
	for _, u := range slices.Backward(t.undo) {
		u()
	}
}

// set writes m[k] = v and journals how to undo it.
func set[K comparable, V any](t *tx, m map[K]V, k K, v V) error {
	if !t.writable {
		return errReadOnly
	}
	old, had := m[k]
	t.undo = append(t.undo, func() {
		if had {
			m[k] = old
		} else {
			delete(m, k)
		}
	})
	m[k] = v
	return nil
}

// unset deletes m[k] and journals how to undo it.
func unset[K comparable, V any](t *tx, m map[K]V, k K) error {
	if !t.writable {
		return errReadOnly
	}
	old, had := m[k]
	if !had {
		return nil
	}
	t.undo = append(t.undo, func() { m[k] = old })
	delete(m, k)
	return nil
}

// utc drops the monotonic clock reading and the zone, as a round trip through a file would.
func utc(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return time.Unix(0, t.UnixNano()).UTC()
}

func cloneCampaign(c *store.Campaign) *store.Campaign {
	out := *c
	out.Submission = proto.CloneOf(c.Submission)
	out.Tally = proto.CloneOf(c.Tally)
	out.StrategyState = slices.Clone(c.StrategyState)
	out.Submitted, out.Ended = utc(c.Submitted), utc(c.Ended)
	return &out
}

func (t *tx) PutCampaign(c *store.Campaign) error {
	return set(t, t.s.campaigns, c.ID, cloneCampaign(c))
}

func (t *tx) Campaign(id string) (*store.Campaign, error) {
	c, ok := t.s.campaigns[id]
	if !ok {
		return nil, fmt.Errorf("campaign %q: %w", id, store.ErrNotFound)
	}
	return cloneCampaign(c), nil
}

func (t *tx) Campaigns(runningOnly bool) ([]*store.Campaign, error) {
	var out []*store.Campaign
	for _, c := range t.s.campaigns {
		if !runningOnly || c.State == misstepv1.CampaignState_CAMPAIGN_STATE_RUNNING {
			out = append(out, cloneCampaign(c))
		}
	}
	slices.SortFunc(out, func(a, b *store.Campaign) int {
		return cmp.Or(b.Submitted.Compare(a.Submitted), cmp.Compare(b.ID, a.ID))
	})
	return out, nil
}

func cloneTrial(t *store.Trial) *store.Trial {
	out := *t
	out.Recipe = proto.CloneOf(t.Recipe)
	out.Outcome, out.Encoded = proto.CloneOf(t.Outcome), nil
	out.Failure = proto.CloneOf(t.Failure)
	out.FindingIDs = slices.Clone(t.FindingIDs)
	out.Ended = utc(t.Ended)
	return &out
}

func (t *tx) AddTrial(trial *store.Trial) error {
	key := trialKey{trial.Campaign, trial.Index}
	if t.s.resultOf[key] {
		return fmt.Errorf("result of trial %d of campaign %s: %w", trial.Index, trial.Campaign, store.ErrExists)
	}
	if err := set(t, t.s.resultOf, key, true); err != nil {
		return err
	}
	row := cloneTrial(trial)
	row.ID = t.s.nextTrial + 1
	t.undo = append(t.undo, func() {
		t.s.nextTrial--
		t.s.trials = t.s.trials[:len(t.s.trials)-1]
	})
	t.s.nextTrial++
	t.s.trials = append(t.s.trials, row)
	return nil
}

func (t *tx) Trials(campaign string, after uint64, limit int) ([]*store.Trial, error) {
	// Trials are in the order of their ids.
	first, _ := slices.BinarySearchFunc(t.s.trials, after+1,
		func(row *store.Trial, id uint64) int { return cmp.Compare(row.ID, id) })
	var out []*store.Trial
	for _, row := range t.s.trials[first:] {
		if len(out) >= limit {
			break
		}
		if row.Campaign == campaign {
			out = append(out, cloneTrial(row))
		}
	}
	return out, nil
}

func (t *tx) PutOutcome(id uint64, o *misstepv1.Outcome) error {
	if !t.writable {
		return errReadOnly
	}
	i, found := slices.BinarySearchFunc(t.s.trials, id, func(row *store.Trial, id uint64) int { return cmp.Compare(row.ID, id) })
	if !found {
		return fmt.Errorf("trial %d: %w", id, store.ErrNotFound)
	}
	old := t.s.trials[i]
	t.undo = append(t.undo, func() { t.s.trials[i] = old })
	row := cloneTrial(old)
	row.Outcome = proto.CloneOf(o)
	t.s.trials[i] = row
	return nil
}

func cloneFinding(f *store.Finding) *store.Finding {
	return &store.Finding{Proto: proto.CloneOf(f.Proto), Weight: f.Weight}
}

func (t *tx) PutFinding(f *store.Finding) error {
	return set(t, t.s.findings, f.Proto.GetId(), cloneFinding(f))
}

func (t *tx) Finding(id string) (*store.Finding, error) {
	f, ok := t.s.findings[id]
	if !ok {
		return nil, fmt.Errorf("finding %q: %w", id, store.ErrNotFound)
	}
	return cloneFinding(f), nil
}

func (t *tx) Findings() ([]*store.Finding, error) {
	out := make([]*store.Finding, 0, len(t.s.findings))
	for _, f := range t.s.findings {
		out = append(out, cloneFinding(f))
	}
	slices.SortFunc(out, func(a, b *store.Finding) int {
		return cmp.Or(b.Proto.GetLastSeen().AsTime().Compare(a.Proto.GetLastSeen().AsTime()),
			cmp.Compare(a.Proto.GetId(), b.Proto.GetId()))
	})
	return out, nil
}

func (t *tx) Counts() ([]rates.Count, error) {
	return t.count(func(*store.Trial) bool { return true }), nil
}

func (t *tx) Hits(findings ...string) ([]rates.Count, error) {
	return t.count(func(row *store.Trial) bool {
		return slices.ContainsFunc(findings, func(f string) bool { return slices.Contains(row.FindingIDs, f) })
	}), nil
}

func (t *tx) Shown() ([]rates.Shown, error) {
	type key struct {
		rates.Combination
		findings string
	}
	counts := map[key]uint64{}
	for _, row := range t.s.trials {
		if row.Counts() && len(row.FindingIDs) > 0 {
			ids := strings.Join(slices.Compact(slices.Sorted(slices.Values(row.FindingIDs))), ",")
			counts[key{rates.CombinationOf(row.Campaign, row.Recipe), ids}]++
		}
	}
	out := make([]rates.Shown, 0, len(counts))
	for k, n := range counts {
		out = append(out, rates.Shown{
			Count: rates.Count{Combination: k.Combination, N: n}, Findings: strings.Split(k.findings, ","),
		})
	}
	return out, nil
}

func (t *tx) Log() (*rates.Log, error) { return store.LogOf(t) }

// Results implements store.Follower.
func (t *tx) Results(after uint64, f func(rates.Result) error) (last uint64, err error) {
	for _, row := range t.s.trials { // in the order of their ids
		if last = row.ID; last <= after || !row.Counts() {
			continue
		}
		if err := f(rates.Result{
			Trial: row.ID, Ended: row.Ended, Combination: rates.CombinationOf(row.Campaign, row.Recipe), Findings: row.FindingIDs,
		}); err != nil {
			return 0, err
		}
	}
	return last, nil
}

func (t *tx) count(which func(*store.Trial) bool) []rates.Count {
	counts := map[rates.Combination]uint64{}
	for _, row := range t.s.trials {
		if row.Counts() && which(row) {
			counts[rates.CombinationOf(row.Campaign, row.Recipe)]++
		}
	}
	out := make([]rates.Count, 0, len(counts))
	for _, c := range slices.SortedFunc(maps.Keys(counts), rates.Compare) {
		out = append(out, rates.Count{Combination: c, N: counts[c]})
	}
	return out
}

func (t *tx) AddDecision(d *misstepv1.TriageDecision) (uint64, error) {
	if !t.writable {
		return 0, errReadOnly
	}
	row := proto.CloneOf(d)
	row.Id = uint64(len(t.s.decisions)) + 1
	t.undo = append(t.undo, func() { t.s.decisions = t.s.decisions[:len(t.s.decisions)-1] })
	t.s.decisions = append(t.s.decisions, row)
	return row.GetId(), nil
}

func (t *tx) PutDecision(d *misstepv1.TriageDecision) error {
	if !t.writable {
		return errReadOnly
	}
	i := int(d.GetId()) - 1
	if i < 0 || i >= len(t.s.decisions) {
		return fmt.Errorf("decision %d: %w", d.GetId(), store.ErrNotFound)
	}
	old := t.s.decisions[i]
	t.undo = append(t.undo, func() { t.s.decisions[i] = old })
	t.s.decisions[i] = proto.CloneOf(d)
	return nil
}

func (t *tx) Decisions() ([]*misstepv1.TriageDecision, error) {
	out := make([]*misstepv1.TriageDecision, len(t.s.decisions))
	for i, d := range t.s.decisions {
		out[i] = proto.CloneOf(d)
	}
	return out, nil
}

func (t *tx) PutReproduction(r *misstepv1.Reproduction) error {
	return set(t, t.s.reproductions, r.GetId(), proto.CloneOf(r))
}

func (t *tx) Reproduction(id string) (*misstepv1.Reproduction, error) {
	r, ok := t.s.reproductions[id]
	if !ok {
		return nil, fmt.Errorf("reproduction %q: %w", id, store.ErrNotFound)
	}
	return proto.CloneOf(r), nil
}

func (t *tx) Reproductions(runningOnly bool) ([]*misstepv1.Reproduction, error) {
	var out []*misstepv1.Reproduction
	for _, r := range t.s.reproductions {
		if !runningOnly || r.GetState() == misstepv1.ReproductionState_REPRODUCTION_STATE_RUNNING {
			out = append(out, proto.CloneOf(r))
		}
	}
	slices.SortFunc(out, func(a, b *misstepv1.Reproduction) int {
		return cmp.Or(b.GetStarted().AsTime().Compare(a.GetStarted().AsTime()), cmp.Compare(a.GetId(), b.GetId()))
	})
	return out, nil
}

func (t *tx) PutWorkerState(name string, data []byte) error {
	return set(t, t.s.workers, name, slices.Clone(data))
}

func (t *tx) WorkerState(name string) ([]byte, error) { return slices.Clone(t.s.workers[name]), nil }
