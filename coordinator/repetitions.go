package coordinator

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/coordinator/queue"
	"misstep/coordinator/store"
	"misstep/coordinator/store/scoped"
	"misstep/coordinator/trust"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

// maxRepetitions bounds the repetitions that wait at once; while as many do, none is drawn.
const maxRepetitions = 1024

// repeating draws the trials that are run once more.
type repeating struct {
	// key of the hash that draws, which no runner knows; nil draws none.
	key []byte
	// waiting is about how many repetitions wait. Tick counts them.
	waiting atomic.Int64
}

// draws reports whether a trial is drawn. It is always the same for a trial, so that a transaction may run again.
func (r *repeating) draws(share float64, campaign string, index uint64) bool {
	if r.key == nil || r.waiting.Load() >= maxRepetitions {
		return false
	}
	h := hmac.New(sha256.New, r.key)
	h.Write(binary.BigEndian.AppendUint64([]byte(campaign+"\x00"), index))
	return float64(binary.BigEndian.Uint64(h.Sum(nil))>>11)/(1<<53) < share
}

// drawRepetition has a trial run once more elsewhere, if it is drawn: before the runner has reported, nobody knows which will be.
// Those of reproductions and retests are not: they are repetitions themselves. tx is of the whole store.
func (s *Server) drawRepetition(tx store.Tx, l *store.Lease, runner reporter, r report, now time.Time) error {
	if !s.repeating.draws(s.config.AuditShare, l.Job.Campaign, l.Job.Index) || s.trust.isAside(runner.owner) {
		return nil
	}
	c, err := tx.Campaign(l.Job.Campaign)
	if err != nil || c.Probes {
		return err
	}
	s.repeating.waiting.Add(1)
	return errors.Join(
		tx.PutRepetition(&store.Repetition{
			Campaign: l.Job.Campaign, Index: l.Job.Index, Needs: queue.Needs(l.Recipe), Proto: &misstepv1.Repetition{
				Recipe: l.Recipe, Owner: runner.owner, Holder: runner.holder(), AgentDigest: c.Submission.GetAgentDigest(),
				Drawn: timestamppb.New(now), Facts: factsOf(l.Recipe, r),
			},
		}),
		queue.CountRepetition(tx, l.Job.Campaign, func(n *misstepv1.Repetitions) { n.Drawn++ }))
}

// grantRepetition leases at most one repetition to a runner: they are few, and spread over the fleet.
func (s *Server) grantRepetition(tx store.Tx, r queue.Runner, free uint32, now time.Time) ([]*store.Lease, error) {
	if free == 0 || s.repeating.waiting.Load() <= 0 {
		return nil, nil
	}
	l, err := s.queue.GrantRepetition(tx, r, now)
	if l == nil || err != nil {
		return nil, err
	}
	s.repeating.waiting.Add(-1)
	return []*store.Lease{l}, nil
}

// completeRepetition notes the second result of a trial. It counts for no rate; but a finding that it shows is one.
func (s *Server) completeRepetition(ctx context.Context, whole store.Tx, l *store.Lease, r *report, now time.Time) error {
	repetition, err := s.queue.Repetition(whole, l)
	if err != nil {
		return err
	}
	r.first = repetition.GetProto()
	differs := slices.Contains(r.first.GetFacts(), showedFindings) != (len(r.hits) > 0)
	if err := s.queue.EndRepetition(whole, l, repetition, differs); err != nil || len(r.hits) == 0 {
		return err
	}
	tx, own := scoped.Enter(whole, l)
	of := *own
	of.Job.Campaign, _ = store.Repeated(own.Job.Campaign)
	c, err := tx.Campaign(of.Job.Campaign)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	ids, err := s.hitAll(ctx, tx, &of, *r, now)
	if err != nil {
		return err
	}
	return queue.AddFindings(tx, c, ids)
}

const (
	showedFindings = "showed findings"
	provedNothing  = "proved nothing"
)

// maxFacts is the number of facts that there can be.
func maxFacts() int { return 2 + 2*len(recipe.Checks()) }

// factsOf returns what of a result is compared with another result of the same trial. What differs from machine to machine, such as
// how often a check was made, is none.
func factsOf(of *misstepv1.Recipe, r report) (facts []string) {
	if len(r.hits) > 0 {
		facts = append(facts, showedFindings)
	}
	switch r.outcome.GetKind() {
	case misstepv1.OutcomeKind_OUTCOME_KIND_VOID, misstepv1.OutcomeKind_OUTCOME_KIND_APPLICATION_FAILURE:
		facts = append(facts, provedNothing)
	}
	counts := map[string]*misstepv1.CheckCount{}
	for _, c := range r.outcome.GetChecks() {
		counts[c.GetCheck()] = c
	}
	for _, c := range of.GetChecks() {
		if n := counts[c.GetName()]; n.GetTotal() == 0 {
			facts = append(facts, "checked nothing with "+c.GetName())
		} else if n.GetMismatch() > 0 {
			facts = append(facts, "had mismatches of "+c.GetName())
		}
	}
	return facts
}

const (
	// repeatedState is the name under which the store keeps RepeatedPairs.
	repeatedState = "repeated-pairs"
	// keepInterval is how often what is new of them is stored.
	keepInterval = time.Minute
)

// keeping is what is new of the results of repeated trials, on its way to the store.
type keeping struct {
	fresh []trust.Pair
	// all is the whole that was stored; nil when nothing was.
	all []trust.Pair
	// aside are left out.
	aside map[string]*misstepv1.OwnerSetAside
}

// keeping returns what is to be stored now.
func (t *trustTable) keeping(now time.Time) *keeping {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now.Sub(t.stored) < keepInterval {
		return &keeping{}
	}
	t.stored = now
	return &keeping{fresh: t.pairs.Take(), aside: t.aside}
}

// write adds it to what the coordinators of the store have stored.
func (k *keeping) write(tx store.Tx) error {
	if len(k.fresh) == 0 {
		return nil
	}
	before, err := repeatedPairs(tx)
	if err != nil {
		return err
	}
	k.all = trusted(trust.Joined(before, k.fresh), k.aside)
	return putPairs(tx, k.all)
}

// trusted leaves out the pairs with owners that are set aside.
func trusted(all []trust.Pair, aside map[string]*misstepv1.OwnerSetAside) []trust.Pair {
	return slices.DeleteFunc(all, func(p trust.Pair) bool { return aside[p.One] != nil || aside[p.Other] != nil })
}

// forgetPairs removes those of owners that are set aside, so that these begin anew once they are trusted.
func forgetPairs(tx store.Tx, aside map[string]*misstepv1.OwnerSetAside) error {
	before, err := repeatedPairs(tx)
	if err != nil {
		return err
	}
	if left := trusted(slices.Clone(before), aside); len(left) < len(before) {
		return putPairs(tx, left)
	}
	return nil
}

func putPairs(tx store.Tx, all []trust.Pair) error {
	m := &misstepv1.RepeatedPairs{}
	for _, p := range all {
		m.Pairs = append(m.Pairs, &misstepv1.RepeatedPair{
			One: p.One, Other: p.Other, Trials: p.Trials, OnlyOne: p.OnlyOne, OnlyOther: p.OnlyOther,
		})
	}
	raw, err := proto.Marshal(m)
	if err != nil {
		return fmt.Errorf("write what was reported on the same trials: %w", err)
	}
	return tx.PutWorkerState(repeatedState, raw)
}

// kept takes over what the transaction stored, or keeps what it did not.
func (t *trustTable) kept(k *keeping, stored bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case !stored:
		t.pairs.GiveBack(k.fresh)
	case k.all != nil:
		t.pairs.Replace(k.all)
	}
}

func repeatedPairs(tx store.Tx) (all []trust.Pair, err error) {
	raw, err := tx.WorkerState(repeatedState)
	if err != nil {
		return nil, err
	}
	m := &misstepv1.RepeatedPairs{}
	if err := proto.Unmarshal(raw, m); err != nil {
		return nil, fmt.Errorf("read what was reported on the same trials: %w", err)
	}
	for _, p := range m.GetPairs() {
		all = append(all, trust.Pair{
			One: p.GetOne(), Other: p.GetOther(), Trials: p.GetTrials(), OnlyOne: p.GetOnlyOne(), OnlyOther: p.GetOnlyOther(),
		})
	}
	return all, nil
}

// loadPairs takes over the results of repeated trials that coordinators have stored.
func (t *trustTable) loadPairs(tx store.Tx) error {
	all, err := repeatedPairs(tx)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pairs.Replace(all)
	return nil
}

// repeated returns how many trials of an owner another one ran, too.
func (t *trustTable) repeated(owner string) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.pairs.Trials(owner)
}
