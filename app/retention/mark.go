package retention

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protopath"
	"google.golang.org/protobuf/reflect/protorange"
	"google.golang.org/protobuf/reflect/protoreflect"

	"misstep/coordinator/store"
	"misstep/corpus"
	"misstep/corpus/index"
	misstepv1 "misstep/proto/misstep/v1"
)

// Marks are the digests that something refers to. Of each it keeps eight bytes: of two blobs that share them, both are kept.
type Marks struct {
	needed map[uint64]struct{}
	// trees are the digests that may be those of trees, whose files are needed, too.
	trees map[corpus.Digest]bool
	// all are the digests themselves, if they are wanted; true for evidence, which must be there.
	all map[corpus.Digest]bool
}

// Mark finds what the rows of a store (nil for none) and the index of shared bundles refer to. Rows may change meanwhile: what is
// referred to later must have been put, or asked for, after Mark began.
func Mark(ctx context.Context, st store.Store, shared index.Index, blobs corpus.Opener) (*Marks, error) {
	return mark(ctx, st, shared, blobs, nil, nil)
}

// List is Mark with the digests themselves. They are true for evidence and for files of trees; others may be digests of things that
// are not blobs here, such as an agent or a JDK of a catalogue.
func List(ctx context.Context, st store.Store, shared index.Index, blobs corpus.Opener) (map[corpus.Digest]bool, error) {
	all := map[corpus.Digest]bool{}
	_, err := mark(ctx, st, shared, blobs, all, nil)
	return all, err
}

func mark(
	ctx context.Context, st store.Store, shared index.Index, blobs corpus.Opener, all map[corpus.Digest]bool, old *oldEntries,
) (*Marks, error) {
	m := &Marks{needed: map[uint64]struct{}{}, trees: map[corpus.Digest]bool{}, all: all}
	// First: a campaign that is submitted meanwhile may have its names from entries that are removed meanwhile.
	entries, err := catalogueOf(ctx, st)
	if err != nil {
		return nil, fmt.Errorf("find out which blobs are needed: %w", err)
	}
	if st != nil {
		if err := m.rows(ctx, st); err != nil {
			return nil, fmt.Errorf("find out which blobs are needed: %w", err)
		}
	}
	bundles, err := shared.Entries(ctx)
	if err != nil {
		return nil, err
	}
	for _, entry := range bundles {
		for _, b := range entry.Blobs() {
			m.add(b.Digest, true)
		}
	}
	if err := m.catalogue(ctx, st, entries, old); err != nil {
		return nil, fmt.Errorf("let entries of the catalogue age: %w", err)
	}
	if err := m.filesOfTrees(ctx, blobs); err != nil {
		return nil, fmt.Errorf("find out which blobs are needed: %w", err)
	}
	return m, nil
}

// Has reports whether something refers to a digest; it may say so of one that nothing refers to.
func (m *Marks) Has(d corpus.Digest) bool {
	_, ok := m.needed[short(d)]
	return ok
}

func (m *Marks) add(d corpus.Digest, isBlob bool) {
	m.needed[short(d)] = struct{}{}
	if m.all != nil {
		m.all[d] = m.all[d] || isBlob
	}
}

func short(d corpus.Digest) uint64 {
	raw, err := hex.DecodeString(d.Hex()[:16])
	if err != nil {
		return 0 // Hex gives hexadecimal digits
	}
	return binary.BigEndian.Uint64(raw)
}

var digestPattern = regexp.MustCompile(`sha256:[0-9a-f]{64}`)

// Fields with digests of which there are too many to look into each blob: those of evidence, which is no tree, and of recipes,
// which are no blobs.
const (
	evidenceField protoreflect.FullName = "misstep.v1.Evidence.digest"
	recipeField   protoreflect.FullName = "misstep.v1.Outcome.recipe_digest"
)

// message marks every digest that a message has anywhere: a field that is added later is not forgotten.
func (m *Marks) message(message proto.Message) error {
	if !message.ProtoReflect().IsValid() {
		return nil
	}
	return protorange.Range(message.ProtoReflect(), func(at protopath.Values) error {
		text, ok := at.Index(-1).Value.Interface().(string)
		if !ok {
			return nil
		}
		field := fieldOf(at)
		if field == recipeField {
			return nil
		}
		for _, match := range digestPattern.FindAllString(text, -1) {
			d, err := corpus.ParseDigest(match)
			if err != nil {
				continue
			}
			m.add(d, field == evidenceField)
			if field != evidenceField {
				m.trees[d] = true
			}
		}
		return nil
	})
}

// fieldOf returns the innermost field of a path.
func fieldOf(at protopath.Values) protoreflect.FullName {
	for _, step := range slices.Backward(at.Path) {
		if step.Kind() == protopath.FieldAccessStep {
			return step.FieldDescriptor().FullName()
		}
	}
	return ""
}

// rows marks what is referred to by findings (merged ones included, since they may be split off again), reproductions, running
// campaigns, and trials that hit a finding or did not end cleanly. Results of probes are in their reproduction. It reads trials
// page by page, so that the store is free in between.
func (m *Marks) rows(ctx context.Context, st store.Store) error {
	var campaigns []*store.Campaign
	err := st.View(ctx, func(tx store.Tx) error {
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
		campaigns, err = tx.Campaigns(false)
		return err
	})
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
		if err := m.trials(ctx, st, c.ID, running); err != nil {
			return err
		}
	}
	return nil
}

func (m *Marks) trials(ctx context.Context, st store.Store, campaign string, all bool) error {
	for after, more := uint64(0), true; more; {
		err := st.View(ctx, func(tx store.Tx) error {
			trials, err := tx.Trials(campaign, after, page)
			if err != nil {
				return err
			}
			more = len(trials) == page
			for _, t := range trials {
				after = t.ID
				clean := len(t.FindingIDs) == 0 && t.Outcome.GetKind() == misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN
				if clean && !all {
					continue
				}
				if err := m.message(t.Outcome); err != nil {
					return err
				}
				if err := m.message(t.Recipe); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
