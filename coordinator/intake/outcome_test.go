package intake_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"misstep/coordinator/intake"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/triage"
)

// Frames without content take far more memory than bytes, and a coordinator refuses an outcome of them.
func TestFitBoundsTheMemoryOfAnOutcome(t *testing.T) {
	o := &misstepv1.Outcome{}
	for place := range 20 {
		frames := slices.Repeat([]*misstepv1.Frame{{}}, 16000)
		o.Mismatches = append(o.Mismatches, &misstepv1.Mismatch{
			Check: recipe.GstAsgct, Kind: "truncated", Suspect: &misstepv1.Trace{Frames: frames},
			Reference: &misstepv1.Trace{Frames: []*misstepv1.Frame{{ClassName: fmt.Sprintf("a.%c", 'A'+place), Method: "m"}}},
		})
	}
	require.Less(t, proto.Size(o), triage.MaxOutcome)
	encoded, err := proto.Marshal(o)
	require.NoError(t, err)
	allowed := intake.Allowance(len(encoded), 32<<20) // of a report
	require.Error(t, intake.Weigh(encoded, o.ProtoReflect().Descriptor(), allowed))
	triage.Fit(o, triage.MaxOutcome)
	require.Len(t, o.GetMismatches(), 20)
	encoded, err = proto.Marshal(o)
	require.NoError(t, err)
	require.NoError(t, intake.Weigh(encoded, o.ProtoReflect().Descriptor(), 2*len(encoded)+4<<20))
}
