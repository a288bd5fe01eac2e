package retention

import (
	"context"
	"fmt"
	"slices"
	"time"

	"misstep/coordinator/store"
	"misstep/corpus"
	misstepv1 "misstep/proto/misstep/v1"
)

// segmentTrials is the number of trials whose references are found together. A round reads the trials of those segments that are
// new or changed, and at most as many in each campaign that runs on. Tests have smaller ones.
var segmentTrials = 1 << 14

// trialMarks finds what the trials of a campaign refer to: the evidence of all, and what their recipes name of those that hit a
// finding or did not end cleanly, and of all while the campaign is running. It reads page by page, so that the store is free in
// between.
type trialMarks struct {
	marking
	marks    *Marks
	store    store.Store
	campaign string
	running  bool
	// aged is the last trial up to which all have aged.
	aged uint64
}

// segment is what successive trials of a campaign refer to.
type segment struct {
	segmentKey
	// Last is the last of the trials; its index and end tell it from another one with the same id, in a database that was set back.
	Last, LastIndex uint64
	LastEnded       int64
	Trials          uint64
	// digests are the first bytes of each digest, trees the whole digests of what may be a tree.
	digests []uint64
	trees   []corpus.Digest
}

// segmentKey is what a segment depends on beside its trials.
type segmentKey struct {
	// Schema is that of the messages, see schema.
	Schema [8]byte
	// After is the trial before the first one, Aged the last trial of the segment that has aged, 0 for none.
	After, Aged uint64
	Running     bool
}

// key returns the key of a segment whose last trial is known; 0 takes it for endless.
func (t *trialMarks) key(after, last uint64) segmentKey {
	k := segmentKey{Schema: schema(), After: after, Running: t.running}
	if t.aged > after {
		k.Aged = t.aged
		if last > 0 {
			k.Aged = min(t.aged, last)
		}
	}
	return k
}

// read marks segment after segment. Those that are full, or whose campaign has ended, are kept in the cache.
func (t *trialMarks) read(ctx context.Context) error {
	for after := uint64(0); ; {
		s, err := t.cached(ctx, after)
		if err != nil {
			return err
		}
		if s == nil {
			whole := false
			if s, whole, err = t.segment(ctx, after); err != nil {
				return err
			}
			if s.Trials == 0 {
				return nil
			}
			if whole || !t.running {
				t.keep(s)
			}
			if !whole {
				t.add(s)
				return nil
			}
		}
		t.add(s)
		after = s.Last
	}
}

func (t *trialMarks) add(s *segment) {
	t.marks.needed.add(s.digests...)
	for _, d := range s.trees {
		t.marks.refers(d, false)
	}
}

// segment reads a segment from the store. It is whole when more trials may follow.
func (t *trialMarks) segment(ctx context.Context, after uint64) (s *segment, whole bool, err error) {
	s = &segment{Last: after}
	trees := map[corpus.Digest]bool{}
	visit := func(d corpus.Digest, evidence bool) {
		s.digests = append(s.digests, short(d))
		if t.marks.all != nil {
			t.marks.all[d] = t.marks.all[d] || evidence
		}
		if !evidence && !trees[d] {
			trees[d] = true
			s.trees = append(s.trees, d)
		}
	}
	for !whole {
		limit := min(page, segmentTrials-int(s.Trials))
		began := time.Now()
		var trials []*store.Trial
		if err := t.store.View(ctx, func(tx store.Tx) (err error) {
			trials, err = tx.Trials(t.campaign, s.Last, limit)
			return err
		}); err != nil {
			return nil, false, err
		}
		for _, trial := range trials {
			s.Last, s.LastIndex, s.LastEnded = trial.ID, trial.Index, trial.Ended.UnixNano()
			s.Trials++
			if err := t.references(trial, visit); err != nil {
				return nil, false, fmt.Errorf("trial %d: %w", trial.ID, err)
			}
		}
		if t.rest != nil {
			t.rest(time.Since(began))
		}
		if len(trials) < limit {
			break
		}
		whole = int(s.Trials) == segmentTrials
	}
	slices.Sort(s.digests)
	s.digests = slices.Compact(s.digests)
	s.segmentKey = t.key(after, s.Last)
	return s, whole, nil
}

func (t *trialMarks) references(trial *store.Trial, visit func(corpus.Digest, bool)) error {
	if err := references(trial.Outcome, visit); err != nil {
		return err
	}
	clean := len(trial.FindingIDs) == 0 && trial.Outcome.GetKind() == misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN
	if clean && !t.running {
		return nil // nobody repeats it
	}
	return references(trial.Recipe, visit)
}

// cached returns the segment that begins after a trial if it is in the cache and what it was made of has not changed, else nil.
func (t *trialMarks) cached(ctx context.Context, after uint64) (*segment, error) {
	if t.cache == "" {
		return nil, nil
	}
	s := readSegment(segmentPath(t.cache, t.campaign, after))
	if s == nil || s.segmentKey != t.key(after, s.Last) {
		return nil, nil
	}
	var last []*store.Trial
	err := t.store.View(ctx, func(tx store.Tx) (err error) {
		last, err = tx.Trials(t.campaign, s.Last-1, 1)
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(last) == 0 || last[0].ID != s.Last || last[0].Index != s.LastIndex || last[0].Ended.UnixNano() != s.LastEnded {
		return nil, nil
	}
	return s, nil
}

// keep writes a segment to the cache. One that cannot be written is made again in the next round.
func (t *trialMarks) keep(s *segment) {
	if t.cache != "" {
		_ = writeSegment(segmentPath(t.cache, t.campaign, s.After), s)
	}
}
