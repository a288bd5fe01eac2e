package retention

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protopath"
	"google.golang.org/protobuf/reflect/protorange"
	"google.golang.org/protobuf/reflect/protoreflect"

	"misstep/coordinator/store"
	"misstep/corpus"
	"misstep/corpus/index"
	misstepv1 "misstep/proto/misstep/v1"
)

// Marks are the digests that something refers to; of two that share their first eight bytes, both count as referred to. Close
// releases them.
type Marks struct {
	needed *digestSet
	// trees are the digests that may be those of trees, whose files are needed, too.
	trees map[corpus.Digest]bool
	// all are the digests themselves, if they are wanted; true for evidence, which must be there.
	all map[corpus.Digest]bool
}

// marking is how references are found.
type marking struct {
	// cache is the folder for what was found in trials, empty for none.
	cache string
	// rest, unless nil, is called with the time that each page of trials took.
	rest func(time.Duration)
	// old, unless nil, lets entries of the shared catalogue age.
	old *oldEntries
}

// Mark finds what the rows of a store (nil for none) and the index of shared bundles refer to. Rows may change meanwhile: what is
// referred to later must have been put, or asked for, after Mark began. The caller closes the marks.
func (k marking) Mark(ctx context.Context, st store.Store, shared index.Index, blobs corpus.Opener) (*Marks, error) {
	return k.mark(ctx, st, shared, blobs, nil)
}

// List returns the digests that Mark finds. They are true for evidence and for files of trees; others may be digests of things that
// are not blobs here, such as an agent or a JDK of a catalogue.
func List(ctx context.Context, st store.Store, shared index.Index, blobs corpus.Opener) (map[corpus.Digest]bool, error) {
	all := map[corpus.Digest]bool{}
	m, err := marking{}.mark(ctx, st, shared, blobs, all)
	if err != nil {
		return nil, err
	}
	return all, m.Close()
}

func (k marking) mark(
	ctx context.Context, st store.Store, shared index.Index, blobs corpus.Opener, all map[corpus.Digest]bool,
) (*Marks, error) {
	m := &Marks{needed: &digestSet{}, trees: map[corpus.Digest]bool{}, all: all}
	if err := k.fill(ctx, m, st, shared, blobs); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

func (k marking) fill(ctx context.Context, m *Marks, st store.Store, shared index.Index, blobs corpus.Opener) error {
	// First: a campaign that is submitted meanwhile may have its names from entries that are removed meanwhile.
	entries, err := catalogueOf(ctx, st)
	if err != nil {
		return fmt.Errorf("find out which blobs are needed: %w", err)
	}
	if st != nil {
		if err := k.rows(ctx, m, st); err != nil {
			return fmt.Errorf("find out which blobs are needed: %w", err)
		}
	}
	bundles, err := shared.Entries(ctx)
	if err != nil {
		return err
	}
	for _, entry := range bundles {
		for _, b := range entry.Blobs() {
			m.add(b.Digest, true)
		}
	}
	if err := m.catalogue(ctx, st, entries, k.old); err != nil {
		return fmt.Errorf("let entries of the catalogue age: %w", err)
	}
	if err := m.filesOfTrees(ctx, blobs); err != nil {
		return fmt.Errorf("find out which blobs are needed: %w", err)
	}
	return nil
}

// Has reports whether something refers to a digest; it may say so of one that nothing refers to. It may be called by several
// goroutines, and is fast when digests are asked for about in their order.
func (m *Marks) Has(d corpus.Digest) bool { return m.needed.has(short(d)) }

// Err returns why Has said of digests that something refers to them, although it could not look.
func (m *Marks) Err() error { return m.needed.failure() }

// Close removes the marks.
func (m *Marks) Close() error { return m.needed.close() }

func (m *Marks) add(d corpus.Digest, isBlob bool) {
	m.needed.add(short(d))
	if m.all != nil {
		m.all[d] = m.all[d] || isBlob
	}
}

// refers notes a reference of a row.
func (m *Marks) refers(d corpus.Digest, evidence bool) {
	m.add(d, evidence)
	if !evidence {
		m.trees[d] = true
	}
}

func short(d corpus.Digest) uint64 {
	sum := d.Sum()
	return binary.BigEndian.Uint64(sum[:8])
}

var digestPattern = regexp.MustCompile(`sha256:[0-9a-f]{64}`)

// Fields with digests of which there are too many to look into each blob: those of evidence, which is no tree, and of recipes,
// which are no blobs.
const (
	evidenceField protoreflect.FullName = "misstep.v1.Evidence.digest"
	recipeField   protoreflect.FullName = "misstep.v1.Outcome.recipe_digest"
)

// references calls visit for every digest that a message has anywhere: a field that is added later is not forgotten. evidence is
// true for digests of evidence, others may be those of trees.
func references(message proto.Message, visit func(d corpus.Digest, evidence bool)) error {
	if !message.ProtoReflect().IsValid() {
		return nil
	}
	return protorange.Range(message.ProtoReflect(), func(at protopath.Values) error {
		text, ok := at.Index(-1).Value.Interface().(string)
		if !ok || !strings.Contains(text, "sha256:") {
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
			visit(d, field == evidenceField)
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
// campaigns, and trials (see trialMarks). Results of probes are in their reproduction.
func (k marking) rows(ctx context.Context, m *Marks, st store.Store) error {
	done, _, err := position(ctx, st)
	if err != nil {
		return err
	}
	var campaigns []*store.Campaign
	err = st.View(ctx, func(tx store.Tx) (err error) {
		campaigns, err = m.few(tx)
		return err
	})
	if err != nil {
		return err
	}
	for _, c := range campaigns {
		running := c.State == misstepv1.CampaignState_CAMPAIGN_STATE_RUNNING
		if running {
			if err := references(c.Submission, m.refers); err != nil {
				return err
			}
		}
		if c.Probes {
			continue
		}
		t := trialMarks{marking: k, marks: m, store: st, campaign: c.ID, running: running, aged: done[c.ID]}
		if err := t.read(ctx); err != nil {
			return fmt.Errorf("campaign %s: %w", c.ID, err)
		}
	}
	return nil
}

// few marks what rows of which there are few refer to, and returns the campaigns.
func (m *Marks) few(tx store.Tx) ([]*store.Campaign, error) {
	findings, err := tx.Findings()
	if err != nil {
		return nil, err
	}
	for _, f := range findings {
		if err := references(f.Proto, m.refers); err != nil {
			return nil, err
		}
	}
	reproductions, err := tx.Reproductions(false)
	if err != nil {
		return nil, err
	}
	for _, r := range reproductions {
		if r.GetState() != misstepv1.ReproductionState_REPRODUCTION_STATE_RUNNING {
			r.Spec.Builds = nil // what it has tried of them is in its reproducer
		}
		if err := references(r, m.refers); err != nil {
			return nil, err
		}
	}
	return tx.Campaigns(false)
}
