package memory

import (
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	misstepv1 "misstep/proto/misstep/v1"
)

func (t *tx) PutVisibility(v *misstepv1.FindingVisibility) error {
	return set(t, t.s.visibility, v.GetFindingId(), proto.CloneOf(v))
}

func (t *tx) DeleteVisibility(finding string) error { return unset(t, t.s.visibility, finding) }

func (t *tx) Visibilities() ([]*misstepv1.FindingVisibility, error) {
	out := make([]*misstepv1.FindingVisibility, 0, len(t.s.visibility))
	for _, id := range slices.Sorted(maps.Keys(t.s.visibility)) {
		out = append(out, proto.CloneOf(t.s.visibility[id]))
	}
	return out, nil
}
