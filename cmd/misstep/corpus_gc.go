package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"misstep/coordinator/store"
	"misstep/coordinator/store/stores"
	"misstep/corpus"
	"misstep/corpus/localdir"
	"misstep/bundle/share"
	"misstep/corpus/tree"
	misstepv1 "misstep/proto/misstep/v1"
)

type corpusGC struct {
	Dir    string        `arg:"" help:"Folder of a corpus, of a hunt or of a coordinator (which may be running)." type:"path" placeholder:"DIR"`
	Grace  time.Duration `help:"Spare what was stored or asked for within this time." default:"168h" placeholder:"TIME"`
	Delete bool          `help:"Remove; without it only say what would be removed."`
	JSON   bool          `help:"Print {kept, spared, removed, bytes, deleted}."`
}

// Run sweeps a folder.
func (c *corpusGC) Run(ctx context.Context, e *env) error {
	if c.Grace < localdir.MinGrace {
		return fmt.Errorf("--grace %v: want at least %v, or what is being written now would be taken for garbage", c.Grace, localdir.MinGrace)
	}
	if _, err := os.Stat(c.Dir); err != nil {
		return fmt.Errorf("no corpus: %w", err)
	}
	before := time.Now().Add(-c.Grace) // taken first: what is referred to from now on is younger
	blobs := c.Dir
	m := marker{marked: map[corpus.Digest]bool{}}
	if stores.InFolder(c.Dir) == nil {
		blobs = filepath.Join(c.Dir, "blobs")
		if err := m.coordinator(ctx, c.Dir); err != nil {
			return err
		}
	}
	local, err := localdir.New(blobs)
	if err != nil {
		return err
	}
	entries, err := share.Folder(blobs).Entries(ctx)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		for _, b := range entry.Blobs() {
			m.marked[b.Digest] = true
		}
	}
	if err := m.trees(ctx, local); err != nil {
		return err
	}
	swept, err := local.Sweep(ctx, func(d corpus.Digest) bool { return m.marked[d] }, before, c.Delete)
	if err != nil {
		return err
	}
	if c.JSON {
		return e.json(struct {
			Kept    int   `json:"kept"`
			Spared  int   `json:"spared"`
			Removed int   `json:"removed"`
			Bytes   int64 `json:"bytes"`
			Deleted bool  `json:"deleted"`
		}{swept.Kept, swept.Spared, swept.Removed, swept.Bytes, c.Delete})
	}
	verb := "would be removed; --delete removes them"
	if c.Delete {
		verb = "removed"
	}
	_, err = fmt.Fprintf(e.stdout, "%d blobs are referred to, %d are younger than %v, %d (%d bytes) %s\n", swept.Kept, swept.Spared, c.Grace, swept.Removed, swept.Bytes, verb)
	return err
}

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
func (m marker) coordinator(ctx context.Context, dir string) (err error) {
	st, err := stores.Open(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	return st.View(ctx, m.rows)
}

// rows marks what findings (merged ones, too: they may be split off again), reproductions, campaigns that run, and trials that hit a finding
// or did not end cleanly refer to. Probes' results are in their reproduction.
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

// manifestOf reads a blob when it is the manifest of a tree. Digests that are none of a blob's here (an agent's, a signature's) are no
// trouble.
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
	return m, err == nil, nil //nolint:nilerr // text that begins like a manifest and is none refers to nothing
}

// treeLine begins each manifest, as corpus/FORMAT.md has it.
const treeLine = "misstep-tree "
