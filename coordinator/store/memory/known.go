package memory

import (
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

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
