package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

// Each kind has names of its own; entries are listed by kind and name.
func catalogue(t *testing.T, s store.Store) {
	const (
		every    = misstepv1.CatalogueKind_CATALOGUE_KIND_UNSPECIFIED
		jdk      = misstepv1.CatalogueKind_CATALOGUE_KIND_JDK
		workload = misstepv1.CatalogueKind_CATALOGUE_KIND_WORKLOAD
	)
	entry := func(kind misstepv1.CatalogueKind, name, owner string) *misstepv1.CatalogueEntry {
		return &misstepv1.CatalogueEntry{
			Kind: kind, Name: name, Owner: owner, Added: timestamppb.New(t0), Labels: map[string]string{"pr": "1"},
			Jdk: &misstepv1.JdkFacts{Feature: 28, Presets: []*misstepv1.JdkPreset{{Preset: "g1", Flags: []string{"-XX:+UseG1GC"}}}},
		}
	}
	update(t, s, func(tx store.Tx) {
		for _, e := range []*misstepv1.CatalogueEntry{
			entry(workload, "same", "a"), entry(jdk, "same", "b"), entry(jdk, "Z", "c"), entry(jdk, "a", "d"),
			entry(jdk, "same", "second"), entry(jdk, "gone", ""),
		} {
			require.NoError(t, tx.PutCatalogueEntry(e))
		}
		require.NoError(t, tx.DeleteCatalogueEntry(jdk, "gone"))
		require.NoError(t, tx.DeleteCatalogueEntry(workload, "never"))
	})
	view(t, s, func(tx store.Tx) {
		var order []string
		all, err := tx.CatalogueEntries(every)
		require.NoError(t, err)
		for _, e := range all {
			order = append(order, e.GetKind().String()+" "+e.GetName()+" "+e.GetOwner())
		}
		require.Equal(t, []string{
			"CATALOGUE_KIND_JDK Z c", "CATALOGUE_KIND_JDK a d", "CATALOGUE_KIND_JDK same second", "CATALOGUE_KIND_WORKLOAD same a",
		}, order)
		jdks, err := tx.CatalogueEntries(jdk)
		require.NoError(t, err)
		require.Len(t, jdks, 3)
		got, err := tx.CatalogueEntry(jdk, "same")
		require.NoError(t, err)
		equal(t, entry(jdk, "same", "second"), got)
		_, err = tx.CatalogueEntry(workload, "Z")
		require.ErrorIs(t, err, store.ErrNotFound)
		require.Error(t, tx.PutCatalogueEntry(entry(jdk, "new", "")), "a view does not write")
	})
}
