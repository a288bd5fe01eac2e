package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

func repetitions(t *testing.T, s store.Store) {
	repetition := func(index uint64, lease, needs, owner, holder, agent string, drawn time.Time) *store.Repetition {
		return &store.Repetition{Campaign: "C1", Index: index, Lease: lease, Needs: needs, Proto: &misstepv1.Repetition{
			Recipe: &misstepv1.Recipe{Seed: index}, Owner: owner, Holder: owner + holder, AgentDigest: agent,
			Drawn: timestamppb.New(drawn), Facts: []string{"a", "b"},
		}}
	}
	all := []*store.Repetition{
		repetition(7, "", "", "a", " 1", "", t0.Add(time.Hour)), repetition(1, "", "vm", "a", " 1", "", t0),
		repetition(2, "", "", "b", " 1", "", t0), repetition(3, "", "", "a", " 2", "d", t0),
		repetition(4, "L1", "", "b", " 1", "", t0), repetition(5, "", "", "a", " 1", "", t0),
	}
	update(t, s, func(tx store.Tx) {
		for _, r := range all {
			require.NoError(t, tx.PutRepetition(r))
		}
		require.NoError(t, tx.DeleteRepetition("C1", 5))
		require.NoError(t, tx.DeleteRepetition("C2", 5))
	})
	view(t, s, func(tx store.Tx) {
		numbers := func(f store.RepetitionFilter) string {
			found, err := tx.Repetitions(f)
			require.NoError(t, err)
			var out []uint64
			for _, r := range found {
				out = append(out, r.Index)
			}
			return fmt.Sprint(out)
		}
		require.Equal(t, "[1 2 3 4 7]", numbers(store.RepetitionFilter{}))
		require.Equal(t, "[1 2]", numbers(store.RepetitionFilter{Limit: 2}))
		require.Equal(t, "[1 2 3 4]", numbers(store.RepetitionFilter{DrawnBy: t0}))
		mine := func(owner, holder, agent string, late time.Time, capabilities ...string) string {
			return numbers(store.RepetitionFilter{For: &store.Repeater{
				Owner: owner, Holder: owner + holder, AgentDigest: agent, Late: late, Capabilities: capabilities,
			}})
		}
		early := t0.Add(-time.Second)
		require.Equal(t, "[2]", mine("a", " 1", "d", early))
		require.Equal(t, "[7]", mine("b", " 1", "", early))
		require.Equal(t, "[3 7]", mine("b", " 1", "d", early))
		require.Equal(t, "[1 2 3 7]", mine("c", " 1", "d", early, "sched_ext", "vm"))
		require.Equal(t, "[2 3]", mine("a", " 1", "d", t0), "another runner of the owner's, once it is late")
		n, err := tx.CountRepetitions()
		require.NoError(t, err)
		require.EqualValues(t, 4, n)
		got, err := tx.Repetition("C1", 4)
		require.NoError(t, err)
		require.Equal(t, "L1", got.Lease)
		equal(t, all[4].Proto, got.Proto)
		_, err = tx.Repetition("C1", 5)
		require.ErrorIs(t, err, store.ErrNotFound)
		require.Error(t, tx.PutRepetition(got), "a view does not write")
	})
}
