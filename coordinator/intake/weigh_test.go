package intake_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"misstep/coordinator/access"
	"misstep/coordinator/intake"
	"misstep/internal/testenv/shapes"
	misstepv1 "misstep/proto/misstep/v1"
)

// What decoding allocates is never more than what Weigh said, whatever the shape of the message.
func TestNothingTakesMoreThanItsWeight(t *testing.T) {
	for _, s := range access.Services() {
		for i := range s.Methods().Len() {
			m := s.Methods().Get(i).Input()
			for _, shape := range shapes.Worst(m) {
				data := shape.Of(8 << 10)
				weight := weigh(t, data, m)
				took := decode(t, data, m)
				assert.LessOrEqual(t, took, weight+16<<10, "%s: %d bytes", shape.Name, len(data))
			}
		}
	}
}

// weigh finds the least that is allowed for a message.
func weigh(t *testing.T, data []byte, m protoreflect.MessageDescriptor) int {
	low, high := 0, 1<<16
	for ; intake.Weigh(data, m, high) != nil; high *= 2 {
		low = high
		require.Less(t, high, 1<<40)
	}
	for high-low > 256 {
		if middle := (low + high) / 2; intake.Weigh(data, m, middle) == nil {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}

// decode returns what decoding allocates: the least of three times, since others allocate, too.
func decode(t *testing.T, data []byte, m protoreflect.MessageDescriptor) int {
	kind, err := protoregistry.GlobalTypes.FindMessageByName(m.FullName())
	require.NoError(t, err)
	least := 1 << 62
	for range 3 {
		var before, after runtime.MemStats
		into := kind.New().Interface()
		runtime.ReadMemStats(&before)
		_ = proto.Unmarshal(data, into) // what cannot be decoded takes memory, too
		runtime.ReadMemStats(&after)
		least = min(least, int(after.TotalAlloc-before.TotalAlloc))
	}
	return least
}

// A full report of a runner passes, however short its names are; millions of empty parts do not, and weighing them costs nothing.
func TestWeightsOfReports(t *testing.T) {
	report := &misstepv1.SynchronizeRequest{Runner: &misstepv1.Runner{Id: "r"}}
	frames := make([]*misstepv1.Frame, 1000)
	for i := range frames {
		frames[i] = &misstepv1.Frame{ClassName: "a.Bc", Method: "run", Descriptor_: "(ILa/B;)V", Bci: int32(i)}
	}
	for proto.Size(report) < 3<<20 {
		m := &misstepv1.Mismatch{Check: "gst-asgct", Kind: "truncated", Reference: &misstepv1.Trace{Source: "gst", Frames: frames}}
		o := &misstepv1.Outcome{Mismatches: []*misstepv1.Mismatch{m}}
		report.Held = append(report.Held, &misstepv1.HeldLease{LeaseId: "L", State: &misstepv1.HeldLease_Outcome{Outcome: o}})
	}
	data, err := proto.Marshal(report)
	require.NoError(t, err)
	largest := intake.Largest(misstepv1.LeaseService_Synchronize_FullMethodName)
	descriptor := report.ProtoReflect().Descriptor()
	require.NoError(t, intake.Weigh(data, descriptor, intake.Allowance(len(data), largest)))

	for _, shape := range shapes.Worst(descriptor) {
		if shape.Name != "SynchronizeRequest.held" {
			continue
		}
		data := shape.Of(8 << 20)
		assert.LessOrEqual(t, testing.AllocsPerRun(3, func() { _ = intake.Weigh(data, descriptor, 1<<40) }), 8.0)
		err := intake.Weigh(data, descriptor, intake.Allowance(len(data), largest))
		require.ErrorContains(t, err, "with too many parts")
		return
	}
	t.Fatal("no list of what is held")
}
