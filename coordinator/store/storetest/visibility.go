package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

func visibilities(t *testing.T, s store.Store) {
	v := func(finding, reason string) *misstepv1.FindingVisibility {
		return &misstepv1.FindingVisibility{
			FindingId: finding, Visibility: misstepv1.Visibility_VISIBILITY_PRIVATE, People: []string{"anna"}, Reason: reason,
		}
	}
	update(t, s, func(tx store.Tx) {
		for _, one := range []*misstepv1.FindingVisibility{v("F2", "first"), v("F1", ""), v("F3", ""), v("F2", "second")} {
			require.NoError(t, tx.PutVisibility(one))
		}
		require.NoError(t, tx.DeleteVisibility("F3"))
		require.NoError(t, tx.DeleteVisibility("F4"))
	})
	view(t, s, func(tx store.Tx) {
		all, err := tx.Visibilities()
		require.NoError(t, err)
		require.Len(t, all, 2)
		equal(t, v("F1", ""), all[0])
		equal(t, v("F2", "second"), all[1])
		require.Error(t, tx.PutVisibility(v("F5", "")))
		require.Error(t, tx.DeleteVisibility("F1"))
	})
}
