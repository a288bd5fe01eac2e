package retention_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/coordinator/store"
	"misstep/corpus/index"
	misstepv1 "misstep/proto/misstep/v1"
)

// An entry goes when its time is over and nothing needs its tree; the tree goes with it.
func TestEntriesOfTheCatalogueAge(t *testing.T) {
	w := newWorld(t, t.TempDir())
	const day = 24 * time.Hour
	trees := map[string]string{}
	add := func(name string, keep, used time.Duration) {
		trees[name] = w.tree()
		e := &misstepv1.CatalogueEntry{
			Kind: misstepv1.CatalogueKind_CATALOGUE_KIND_JDK, Name: name, Digest: trees[name], Added: timestamppb.New(w.now.Add(-60 * day)),
		}
		if keep > 0 {
			e.Keep = durationpb.New(keep)
		}
		if used > 0 {
			e.Used = timestamppb.New(w.now.Add(-used))
		}
		w.update(func(tx store.Tx) error { return tx.PutCatalogueEntry(e) })
	}
	add("old", 30*day, 0)
	add("for ever", 0, 0)
	add("young", 90*day, 0)
	add("used", 30*day, 10*day)
	add("used long ago", 30*day, 31*day)
	add("running", 30*day, 0)
	add("ended", 30*day, 0)
	add("of a finding", 30*day, 0)
	add("scheduled", 30*day, 0)
	w.update(func(tx store.Tx) error {
		return tx.PutSchedule(&misstepv1.Schedule{
			Id: "S1", Every: durationpb.New(90 * day), Campaign: &misstepv1.Campaign{Jdks: []string{"scheduled"}},
		})
	})
	w.campaign(misstepv1.CampaignState_CAMPAIGN_STATE_RUNNING, trees["running"])
	w.campaign(misstepv1.CampaignState_CAMPAIGN_STATE_DONE, trees["ended"])
	w.update(func(tx store.Tx) error {
		return tx.PutFinding(&store.Finding{Proto: &misstepv1.Finding{
			Id: "F1", ExampleRecipe: &misstepv1.Recipe{Jdk: &misstepv1.Jdk{Digest: trees["of a finding"]}},
		}})
	})
	names := func() (all []string) {
		w.update(func(tx store.Tx) error {
			entries, err := tx.CatalogueEntries(misstepv1.CatalogueKind_CATALOGUE_KIND_UNSPECIFIED)
			for _, e := range entries {
				all = append(all, e.GetName())
			}
			return err
		})
		return all
	}
	aged, _, err := w.keeper().Round(t.Context(), false)
	require.NoError(t, err)
	assert.Equal(t, 3, aged.Entries)
	assert.Len(t, names(), 9, "it only counts")
	aged, _, err = w.keeper().Round(t.Context(), true)
	require.NoError(t, err)
	assert.Equal(t, 3, aged.Entries)
	kept := []string{"for ever", "of a finding", "running", "scheduled", "used", "young"}
	assert.Equal(t, kept, names())
	for name, digest := range trees {
		there := false
		for _, k := range kept {
			there = there || k == name
		}
		assert.Equal(t, there, w.there(digest), "the manifest of %s", name)
		assert.Equal(t, there, w.there(w.trees[digest][0]), "the file of %s", name)
	}
}

// An entry that somebody uses while a round looks for what is needed stays, with its tree.
func TestAnEntryUsedMeanwhileStays(t *testing.T) {
	w := newWorld(t, t.TempDir())
	digest := w.tree()
	e := &misstepv1.CatalogueEntry{
		Kind: misstepv1.CatalogueKind_CATALOGUE_KIND_JDK, Name: "jdk", Digest: digest,
		Added: timestamppb.New(w.now.Add(-1000 * time.Hour)), Keep: durationpb.New(time.Hour),
	}
	w.update(func(tx store.Tx) error { return tx.PutCatalogueEntry(e) })
	keeper := w.keeper()
	keeper.Shared = beforeEntries{keeper.Shared, func() {
		e.Used = timestamppb.New(w.now)
		w.update(func(tx store.Tx) error { return tx.PutCatalogueEntry(e) })
	}}
	aged, _, err := keeper.Round(t.Context(), true)
	require.NoError(t, err)
	assert.Zero(t, aged.Entries)
	assert.True(t, w.there(digest))
	assert.True(t, w.there(w.trees[digest][0]))
}

// beforeEntries calls do before the entries of an index are read, which is after the rows.
type beforeEntries struct {
	index.Index
	do func()
}

func (b beforeEntries) Entries(ctx context.Context) ([]index.Entry, error) {
	b.do()
	return b.Index.Entries(ctx)
}
