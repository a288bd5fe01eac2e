package sharing

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"misstep/coordinator/store"
	"misstep/coordinator/store/stores"
	"misstep/corpus"
	"misstep/corpus/tree"
	misstepv1 "misstep/proto/misstep/v1"
)

// marker collects the digests that something refers to.
type marker struct {
	marked map[corpus.Digest]bool
}

var digestPattern = regexp.MustCompile(`sha256:[0-9a-f]{64}`)

// message marks every digest that a message holds anywhere: a field that is added later is not forgotten.
func (m marker) message(message proto.Message) error {
	text, err := protojson.Marshal(message)
	if err != nil {
		return fmt.Errorf("look for digests: %w", err)
	}
	for _, match := range digestPattern.FindAllString(string(text), -1) {
		if d, err := corpus.ParseDigest(match); err == nil {
			m.marked[d] = true
		}
	}
	return nil
}

// coordinator marks what the rows of a coordinator's store refer to.
func (m marker) coordinator(ctx context.Context, url string) (err error) {
	if err := stores.Exists(url); err != nil {
		return err // an empty store would refer to nothing
	}
	st, err := stores.Open(ctx, url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	return st.View(ctx, m.rows)
}

// rows marks what is referred to by findings (merged ones included, since they may be split off again), reproductions, running
// campaigns, and trials that hit a finding or did not end cleanly. Results of probes are in their reproduction.
func (m marker) rows(tx store.Tx) error {
	findings, err := tx.Findings()
	if err != nil {
		return err
	}
	for _, f := range findings {
		if err := m.message(f.Proto); err != nil {
			return err
		}
	}
	reproductions, err := tx.Reproductions(false)
	if err != nil {
		return err
	}
	for _, r := range reproductions {
		if r.GetState() != misstepv1.ReproductionState_REPRODUCTION_STATE_RUNNING {
			r.Spec.Builds = nil // what it has tried of them is in its reproducer
		}
		if err := m.message(r); err != nil {
			return err
		}
	}
	campaigns, err := tx.Campaigns(false)
	if err != nil {
		return err
	}
	for _, c := range campaigns {
		running := c.State == misstepv1.CampaignState_CAMPAIGN_STATE_RUNNING
		if running {
			if err := m.message(c.Submission); err != nil {
				return err
			}
		}
		if c.Probes {
			continue
		}
		if err := m.trials(tx, c.ID, running); err != nil {
			return err
		}
	}
	return nil
}

func (m marker) trials(tx store.Tx, campaign string, all bool) error {
	const page = 100
	for after := uint64(0); ; {
		trials, err := tx.Trials(campaign, after, page)
		if err != nil || len(trials) == 0 {
			return err
		}
		for _, t := range trials {
			after = t.ID
			clean := len(t.FindingIDs) == 0 && t.Outcome.GetKind() == misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN
			if clean && !all {
				continue
			}
			if err := errors.Join(m.message(t.Recipe), m.message(t.Outcome)); err != nil {
				return err
			}
		}
	}
}

// trees marks the files of every marked blob that is the manifest of a tree.
func (m marker) trees(ctx context.Context, source corpus.Source) error {
	for _, d := range slices.Collect(maps.Keys(m.marked)) {
		manifest, ok, err := manifestOf(ctx, source, d)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		for entry := range manifest.Entries() {
			if !entry.Digest.IsZero() {
				m.marked[entry.Digest] = true
			}
		}
	}
	return nil
}

// manifestOf reads a blob when it is the manifest of a tree. Digests that are not those of a blob here (an agent's, a signature's)
// are ignored.
func manifestOf(ctx context.Context, source corpus.Source, d corpus.Digest) (m tree.Manifest, ok bool, err error) {
	r, size, err := source.Open(ctx, d)
	if errors.Is(err, corpus.ErrNotFound) {
		return tree.Manifest{}, false, nil
	}
	if err != nil {
		return tree.Manifest{}, false, err
	}
	defer r.Close()
	start := make([]byte, len(treeLine))
	if _, err := io.ReadFull(r, start); size > tree.MaxText || err != nil || string(start) != treeLine {
		return tree.Manifest{}, false, nil
	}
	rest, err := io.ReadAll(r)
	if err != nil {
		return tree.Manifest{}, false, err
	}
	m, err = tree.Parse(append(start, rest...))
	return m, err == nil, nil //nolint:nilerr // text that only begins like a manifest refers to nothing
}

// treeLine begins each manifest, as corpus/FORMAT.md has it.
const treeLine = "misstep-tree "
