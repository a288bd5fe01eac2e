package recording

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// faultyRecording has three samples: one refers to a stack whose method lacks its name, one to a class loader that lacks, one to
// a thread that is defined twice.
func faultyRecording() []byte {
	v := func(values ...any) []byte { return appendValues(nil, values...) }
	return forged(forgedTypes(),
		checkpoint(0,
			poolOf(symbolID, v(1, "p/Main"), v(2, "work"), v(3, "()V")),
			poolOf(classID, v(1, 0, 1), v(2, 77, 1), v(3, 78, 1)), // 77 and 78 are no loaders
			poolOf(methodID, v(1, 1, 2, 3, 9, 0), v(2, 1, 99, 3, 9, 0), v(3, 2, 2, 3, 9, 0)),
			poolOf(kindID, v(1, "JIT compiled")),
			poolOf(stackID, v(1, 0, 1, 1, 70, 7, 1), v(2, 0, 1, 2, 70, 7, 1), v(3, 0, 1, 3, 70, 7, 1)),
			poolOf(stateID, v(1, "STATE_RUNNABLE")),
			poolOf(threadID, v(1, "os", 100, "java", 8, 0), v(2, "os", 101, "two", 9, 0), v(2, "os", 101, "two", 10, 0)),
			poolOf(threadID, v(3, "os", 103, "short", 11, 0), v(3, "os", 104, "short", 11, 0)),
		),
		v(sampleID, 7, 1, 1, 1), // sound
		v(sampleID, 8, 1, 2, 1), // a method without a name
		v(sampleID, 9, 1, 3, 1), // a class without its loader
		v(sampleID, 9, 2, 1, 1), // a thread of two
		v(sampleID, 9, 2, 2, 1), // both
		v(sampleID, 9, 3, 1, 1), // a thread with two ids of the kernel's
	)
}

// whole are the records of a chunk without a problem.
func whole(t *testing.T, data []byte) []Record {
	t.Helper()
	list, problems := parsed(t, data, Limits{})
	require.Empty(t, problems)
	return list
}

// Which events come to a fault follows from the references; what a profile does not show of a sample is told apart.
func TestTouched(t *testing.T) {
	name := FaultPlace{Lacking, "jdk.types.Symbol", "jdk.types.Method", "name"}
	loader := FaultPlace{Lacking, "jdk.types.ClassLoader", "java.lang.Class", "classLoader"}
	thread := FaultPlace{Kind: Twice, Type: "java.lang.Thread", Field: "javaThreadId"}
	kernel := FaultPlace{Kind: Twice, Type: "java.lang.Thread", Field: "osThreadId"}
	var got []Touched
	for _, r := range whole(t, faultyRecording()) {
		if touched, is := r.(*Touched); is {
			got = append(got, *touched)
		}
	}
	const sample = "jdk.ExecutionSample"
	assert.ElementsMatch(t, []Touched{
		{Event: sample, Events: 1, Any: []FaultPlace{name}, Shown: []FaultPlace{name}},
		{Event: sample, Events: 1, Any: []FaultPlace{loader}},
		{Event: sample, Events: 1, Any: []FaultPlace{thread}, Shown: []FaultPlace{thread}},
		{Event: sample, Events: 1, Any: both(name, thread), Shown: both(name, thread)},
		{Event: sample, Events: 1, Any: both(kernel)},
	}, ordered(got))
	for _, r := range whole(t, forgedRecording()) {
		_, is := r.(*Touched)
		assert.False(t, is)
	}
}

func both(places ...FaultPlace) []FaultPlace { return places }

// ordered has the places of each in an order that does not depend on that of the links.
func ordered(list []Touched) []Touched {
	for _, t := range list {
		for _, places := range [][]FaultPlace{t.Any, t.Shown} {
			slices.SortFunc(places, func(a, b FaultPlace) int { return int(a.Kind) - int(b.Kind) })
		}
	}
	return list
}

// The whole chunks of a file are found before and behind what is broken, and chunks of which the file has a part are not.
func TestWhole(t *testing.T) {
	one := forgedRecording()
	n := int64(len(one))
	broken := slices.Clone(one)
	broken[len(broken)-3] = 0xff
	for what, c := range map[string]struct {
		data []byte
		want []Extent
	}{
		"whole":          {one, []Extent{{0, n}}},
		"two":            {slices.Concat(one, one), []Extent{{0, n}, {n, n}}},
		"cut":            {one[:n-5], nil},
		"a part, then":   {slices.Concat(one[:n/2], one), []Extent{{n / 2, n}}},
		"broken between": {slices.Concat(one, broken, one), []Extent{{0, n}, {2 * n, n}}},
		"text behind":    {append(slices.Clone(one), "FLR\x00\x00\x02\x00\x00 and so on"...), []Extent{{0, n}}},
	} {
		got, err := Whole(t.Context(), bytes.NewReader(c.data), int64(len(c.data)), Limits{})
		require.NoError(t, err)
		assert.Equal(t, c.want, got, what)
	}
}
