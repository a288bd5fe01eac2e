package memory

import (
	"cmp"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	"misstep/coordinator/rates"
	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

func (t *tx) PutKnownBug(b *misstepv1.KnownBug) error {
	return set(t, t.s.known, b.GetId(), proto.CloneOf(b))
}

func (t *tx) DeleteKnownBug(id string) error { return unset(t, t.s.known, id) }

func (t *tx) KnownBugs() ([]*misstepv1.KnownBug, error) {
	out := make([]*misstepv1.KnownBug, 0, len(t.s.known))
	for _, id := range slices.Sorted(maps.Keys(t.s.known)) {
		out = append(out, proto.CloneOf(t.s.known[id]))
	}
	return out, nil
}

func (t *tx) CountsBetween(bounds []uint64) ([][]rates.Count, error) {
	var out [][]rates.Count
	for i := 1; i < len(bounds); i++ {
		out = append(out, t.count(func(row *store.Trial) bool { return row.ID > bounds[i-1] && row.ID <= bounds[i] }))
	}
	return out, nil
}

func (t *tx) LastHits() ([]rates.Last, error) {
	last := map[[2]string]rates.Last{}
	for _, row := range t.s.trials { // in the order of their ids
		for _, f := range row.FindingIDs {
			if jdk := row.Recipe.GetJdk().GetName(); row.Counts() {
				last[[2]string{f, jdk}] = rates.Last{Finding: f, JDK: jdk, Trial: row.ID, Ended: row.Ended}
			}
		}
	}
	return slices.SortedFunc(maps.Values(last), func(a, b rates.Last) int {
		return cmp.Or(cmp.Compare(a.Finding, b.Finding), cmp.Compare(a.JDK, b.JDK))
	}), nil
}
