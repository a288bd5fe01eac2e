package jfrcheck

import (
	"context"
	"fmt"
	"hash/maphash"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/runner/recording"
)

// byFile gives each file records of its own.
type byFile map[string][]recording.Record

func (b byFile) Read(
	_ context.Context, file string, _ recording.Limits, visit func(recording.Record) error,
) (recording.Summary, error) {
	for _, r := range b[file] {
		if err := visit(r); err != nil {
			return recording.Summary{}, err
		}
	}
	return recording.Summary{}, nil
}

func diff(t *testing.T, a, b []recording.Record) *Difference {
	t.Helper()
	reader, o := byFile{}, DiffOptions{A: recordingFile(t), B: recordingFile(t), MaxBytes: 1 << 20, Level: 0.05, Top: 50}
	reader[o.A], reader[o.B] = a, b
	d, err := Diff(t.Context(), reader.Read, o)
	require.NoError(t, err)
	return d
}

// phases are samples of a program that stays with one method for a time: of so many methods with the weights, drawn by a seed.
func phases(seed uint64, samples, stay int, weights ...float64) []recording.Record {
	random := rand.New(rand.NewPCG(seed, 1))
	methods := make([]*recording.Method, len(weights))
	var sum float64
	for i, w := range weights {
		methods[i] = method("p.Main", fmt.Sprintf("m%d", i), 9)
		sum += w
	}
	records := []recording.Record{chunk(0)}
	current := 0
	for i := range samples {
		if i%stay == 0 {
			at := random.Float64() * sum
			for current = 0; current < len(weights)-1 && at >= weights[current]; current++ {
				at -= weights[current]
			}
		}
		records = append(records, event(time.Duration(i)*10*time.Millisecond, stack(methods[current], mainMethod)))
	}
	return records
}

func even(n int) (weights []float64) {
	for range n {
		weights = append(weights, 1)
	}
	return weights
}

// Recordings of the same program rarely differ, even where it stays with a method for many samples, which a test of independent
// samples would take for a difference nearly always.
func TestSameProgramDoesNotDiffer(t *testing.T) {
	for _, stay := range []int{1, 30, 200} {
		differ := 0
		for seed := range uint64(40) {
			if !diff(t, phases(2*seed, 6000, stay, even(20)...), phases(2*seed+1, 6000, stay, even(20)...)).Equal() {
				differ++
			}
		}
		assert.LessOrEqual(t, differ, 4, "of 40 pairs, each method for %d samples; the level is 5 %%", stay)
	}
}

func TestShareThatChanges(t *testing.T) {
	d := diff(t, phases(1, 6000, 1, 10, 10, 80), phases(2, 6000, 1, 20, 10, 70))
	require.NotEmpty(t, d.Changes)
	found := map[string]Change{}
	for _, c := range d.Changes {
		found[c.Kind+" "+c.Caller+" "+c.Method] = c
	}
	for _, kind := range []string{"self  p.Main.m0", "total  p.Main.m0", "caller p.Main.main p.Main.m0"} {
		c, has := found[kind]
		require.True(t, has, kind)
		assert.InDelta(t, 0.1, c.B-c.A, 0.02)
		assert.Less(t, c.Low, c.B-c.A)
		assert.Greater(t, c.High, c.B-c.A)
		assert.Positive(t, c.Low)
		assert.LessOrEqual(t, c.Q, 0.05)
		assert.GreaterOrEqual(t, c.Q, c.P)
	}
	assert.NotContains(t, found, "self  p.Main.m1")
	assert.NotContains(t, found, "total  p.Main.main", "all samples of both have it")
	assert.Empty(t, d.Stacks)
	assert.Equal(t, "jdk.ExecutionSample", d.A.Event)
	assert.EqualValues(t, 6000, d.A.Compared)
}

func TestStacksThatOnlyOneHas(t *testing.T) {
	d := diff(t, phases(1, 3000, 1, 10, 90), phases(2, 3000, 1, 0, 90, 10))
	require.Len(t, d.Stacks, 2)
	for _, c := range d.Stacks {
		assert.Equal(t, "stack", c.Kind)
		assert.True(t, c.SamplesA == 0 || c.SamplesB == 0)
		require.Len(t, c.Stack, 2)
		assert.Equal(t, "p.Main.main", c.Stack[1])
	}
	rare := append(phases(3, 3000, 1, 1), event(time.Second, stack(work, mainMethod)))
	assert.Empty(t, diff(t, rare, phases(4, 3000, 1, 1)).Stacks, "one sample may be chance")
}

func TestSamplesThatAreNotCompared(t *testing.T) {
	cut := stack(work)
	cut.Truncated = true
	records := append(phases(1, 100, 1, 1), event(0, nil), event(1, cut))
	d := diff(t, records, records)
	assert.Equal(t, Counts{Samples: 102, Empty: 1, Truncated: 1}, d.A.Counts)
	assert.EqualValues(t, 100, d.A.Compared)
	assert.True(t, d.Equal())
}

func TestRecordingsThatCannotBeCompared(t *testing.T) {
	file := recordingFile(t)
	reader := byFile{file: {chunk(0), event(0, nil)}}
	_, err := Diff(t.Context(), reader.Read, DiffOptions{A: file, B: file, MaxBytes: 1 << 20})
	require.ErrorContains(t, err, "it has no samples with a stack trace")
	reader[file] = phases(1, 100, 1, 1)
	_, err = Diff(t.Context(), reader.Read, DiffOptions{A: file, B: file, MaxBytes: 1 << 20, EventB: "jdk.CPUTimeSample"})
	require.ErrorContains(t, err, "it has no samples with a stack trace of jdk.CPUTimeSample")
	_, err = Diff(t.Context(), reader.Read, DiffOptions{A: Stdin, B: Stdin})
	require.ErrorContains(t, err, "only one")
}

// Recursion counts once.
func TestSharesOfRecursion(t *testing.T) {
	p := newProfile(maphash.MakeSeed())
	p.add(event(0, stack(work, work, work, mainMethod)))
	for _, k := range []key{{method: "p.Main.work"}, {method: "p.Main.main"}} {
		assert.EqualValues(t, 1, p.counts[totalOf][k].total)
	}
	assert.EqualValues(t, 1, p.counts[callerOf][key{method: "p.Main.work", caller: "p.Main.work"}].total)
	assert.EqualValues(t, 1, p.counts[selfOf][key{method: "p.Main.work"}].total)
	assert.Nil(t, p.counts[selfOf][key{method: "p.Main.main"}])
}

// The blocks get longer with the recording, and lose nothing.
func TestBlocksOfTime(t *testing.T) {
	var b blocks
	var c counts
	for i := range 10_000 {
		at := b.at(int64(i) * firstWidth)
		b.all[at]++
		c.add(&b, at)
		c.update(&b)
		require.Equal(t, b.all, c.in)
	}
	var sum uint32
	for _, n := range b.all {
		sum += n
	}
	assert.EqualValues(t, 10_000, sum)
	assert.Equal(t, firstWidth*256, b.width)
	assert.Greater(t, b.count, blockCount/2)
	assert.Zero(t, b.at(-5), "an event of the time before the first one")
}

// Q is never below P, and keeps the order.
func TestCorrection(t *testing.T) {
	all := []Change{{P: 0.5}, {P: 0.001}, {P: 0.01}}
	correct(all)
	assert.InDelta(t, 0.001*3*(1+1.0/2+1.0/3), all[0].Q, 1e-12)
	assert.InDelta(t, 0.01*3*(1+1.0/2+1.0/3)/2, all[1].Q, 1e-12)
	assert.InDelta(t, math.Min(1, 0.5*(1+1.0/2+1.0/3)), all[2].Q, 1e-12)
}
