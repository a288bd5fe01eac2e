package faults_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"

	"misstep/agent"
	"misstep/bench/trial"
	"misstep/deploy/jdk"
	"misstep/internal/faults"
	"misstep/internal/interval"
	"misstep/internal/testenv"
	misstepv1 "misstep/proto/misstep/v1"
)

// bed opens the catalogue that `make test` fills, and the agent and the injector that `make agent` builds.
func bed(t *testing.T) *trial.Bed {
	t.Helper()
	testenv.Agent(t)
	t.Setenv("MISSTEP_HOME", testenv.Home(t))
	b, err := trial.Open(testenv.Root(), t.TempDir())
	if err != nil {
		t.Skipf("no injector: %v", err)
	}
	return b
}

func mix(t *testing.T, b *trial.Bed, on jdk.Entry, plan faults.Plan) trial.Result {
	t.Helper()
	r, err := b.Run(t.Context(), trial.Spec{
		JDK: on, Workload: "mix", Repetitions: 1,
		Agent: &agent.Options{
			Seed: 1, Ratio: 1,
			Checks:   map[string]float64{"gst-asgct": 0.001, "shadow-gst": 0.001, "asgct-shadow": 1, "edges": 1, "liveness": 1},
			Interval: 300 * time.Microsecond, Jitter: 0.5,
		},
		Faults: &plan,
	}, nil)
	require.NoError(t, err)
	require.Empty(t, r.Failure)
	require.True(t, r.Status.Ended)
	return r
}

// requireAltered requires that a fault is what its class says.
func requireAltered(t *testing.T, f *faults.Fault) {
	t.Helper()
	switch f.Class {
	case faults.DropTop, faults.DropMiddle, faults.DropBottom:
		require.Equal(t, f.Before-1, f.After)
	case faults.Truncate:
		require.Less(t, f.After, f.Before)
		require.Positive(t, f.After)
	case faults.Duplicate:
		require.Equal(t, f.Before+1, f.After)
	case faults.Swap, faults.Replace, faults.UnknownMethod, faults.WrongBci, faults.Delay:
		require.Equal(t, f.Before, f.After)
	case faults.Stale, faults.Foreign:
		require.Positive(t, f.After)
	case faults.WrongCode:
		require.Contains(t, []int32{0, -1, -2, -3, -4, -5, -6, -7, -8, -9, -10}, f.After)
	case faults.InvalidCode:
		require.Less(t, f.After, int32(-10))
	}
	switch f.Class {
	case faults.DropTop:
		require.Zero(t, f.Position)
	case faults.DropMiddle:
		require.Positive(t, f.Position)
		require.Less(t, f.Position, f.Before-1)
	case faults.DropBottom:
		require.Equal(t, f.Before-1, f.Position)
	}
}

// Every class fires on a real JVM and alters the answer as documented, and what the references can reveal is detected. The test
// fails if 99 % lies above the whole 95 % interval of the observed rate.
func TestInjectedFaultsAreDetected(t *testing.T) {
	b := bed(t)
	for _, feature := range []int{17, 25} {
		on, ok := b.JDK(feature)
		if !ok {
			t.Logf("the catalogue has no JDK %d", feature)
			continue
		}
		t.Run(on.Name, func(t *testing.T) {
			fired := map[string]int{}
			var walks, entries, missed, deep, deepMissed, nobody, nobodyMissed uint64
			count := func(f *faults.Fault) {
				requireAltered(t, f)
				fired[f.Class]++
				entry, atEntry := f.Verdicts["gst-asgct"]
				sample, sampled := f.Verdicts["asgct-shadow"]
				require.False(t, atEntry && sampled, "one walk belongs to one check: %+v", f)
				switch {
				case f.Class == faults.Delay:
					require.NotEqual(t, faults.Mismatch, entry.Outcome, "late is not wrong")
				case atEntry && f.After == -2: // walked once more
				case atEntry:
					entries++
					if entry.Outcome != faults.Mismatch {
						missed++
						t.Logf("missed at an entry: %+v", f)
					}
				case f.Class == faults.InvalidCode && sampled:
					require.Equal(t, faults.Mismatch, sample.Outcome)
				case f.Class == faults.UnknownMethod && sampled && sample.Outcome != faults.Void:
					nobody++
					if sample.Outcome != faults.Mismatch { // the walk has a method, too, that only the JVM's answers have
						nobodyMissed++
						t.Logf("an unknown jmethodID passed: %+v", f)
					}
				case sampled && sample.MethodsChanged && sample.Reach > 1 &&
					f.Class != faults.WrongCode && sample.Outcome != faults.Void:
					deep++
					if sample.Outcome != faults.Mismatch {
						deepMissed++
						t.Logf("missed below the top frame: %+v", f)
					}
				}
			}
			// On a busy machine a run has few samples.
			for seed := uint32(1); seed <= 5 && (entries < 300 || deep < 30); seed++ {
				r := mix(t, b, on, faults.Plan{
					Classes: append([]string{faults.Delay}, faults.Alterations...), Rate: 0.02, Seed: seed, Delay: time.Millisecond,
				})
				walks += r.Faults.Walks
				for _, f := range r.Faults.Faults {
					count(f)
				}
			}
			for _, class := range faults.Alterations {
				require.NotZerof(t, fired[class], "%s never fired: %v", class, fired)
			}
			t.Logf("%d walks, %v; missed %d of %d at entries, %d of %d in samples", walks, fired, missed, entries, deepMissed, deep)
			require.GreaterOrEqual(t, entries, uint64(300))
			require.GreaterOrEqual(t, deep, uint64(30))
			_, high := interval.Wilson(entries-missed, entries)
			require.GreaterOrEqual(t, high, 0.99)
			_, high = interval.Wilson(deep-deepMissed, deep)
			require.GreaterOrEqual(t, high, 0.99)
			t.Logf("%d of %d unknown jmethodIDs passed in samples", nobodyMissed, nobody)
			require.NotZero(t, nobody)
			_, high = interval.Wilson(nobody-nobodyMissed, nobody)
			require.GreaterOrEqual(t, high, 0.99)
		})
	}
}

// With a method, only walks that contain it are altered, and at that frame.
func TestFaultsAtAPlace(t *testing.T) {
	b := bed(t)
	on, ok := b.JDK(17)
	if !ok {
		t.Skip("the catalogue has no JDK 17")
	}
	const method = "java.util.stream.AbstractPipeline.evaluate"
	r, err := b.Run(t.Context(), trial.Spec{
		JDK: on, Workload: "mix", Arguments: []string{"100", "7"}, Repetitions: 1, Flags: []string{"-XX:TieredStopAtLevel=1"},
		Agent: &agent.Options{
			Seed: 1, Ratio: 1, Include: []string{"misstep.workloads.*", "java.util.stream.*"},
			Checks: map[string]float64{"gst-asgct": 0.05},
		},
		Faults: &faults.Plan{Classes: []string{faults.DropMiddle}, Rate: 1, Where: "entry", Method: method},
	}, nil)
	require.NoError(t, err)
	require.Empty(t, r.Failure)
	require.NotEmpty(t, r.Faults.Faults)
	require.Less(t, r.Faults.Made, r.Faults.Walks, "some walks do not contain the method")
	position := map[uint64]int32{}
	for _, f := range r.Faults.Faults {
		position[f.Number()] = f.Position
	}
	text, err := os.ReadFile(filepath.Join(r.Dir, "agent", "mismatches.jsonl"))
	require.NoError(t, err)
	found := 0
	for line := range bytes.Lines(text) {
		m := &misstepv1.Mismatch{}
		require.NoError(t, protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(line, m))
		at, altered := position[m.GetSequence()]
		if !altered {
			continue
		}
		found++
		frame := m.GetReference().GetFrames()[at]
		require.Equal(t, method, frame.GetClassName()+"."+frame.GetMethod())
	}
	require.NotZero(t, found)
}

// Brackets in turns: an undefined error code or an unknown jmethodID in a walk is detected whenever the verdict depends on it.
func TestInjectedFaultsInBracketsAreDetected(t *testing.T) {
	b := bed(t)
	on, ok := b.JDK(17)
	if !ok {
		t.Skip("the catalogue has no JDK 17")
	}
	r, err := b.Run(t.Context(), trial.Spec{
		JDK: on, Workload: "mix", Repetitions: 1,
		Agent: &agent.Options{
			Seed: 1, Checks: map[string]float64{"asgct-gst-bracket": 1, "edges": 1}, Interval: 50 * time.Microsecond, Jitter: 0.5,
		},
		Faults: &faults.Plan{Classes: []string{faults.InvalidCode, faults.UnknownMethod}, Rate: 0.02, Seed: 1},
	}, nil)
	require.NoError(t, err)
	require.Empty(t, r.Failure)
	detected, void, passed := map[string]uint64{}, map[string]uint64{}, uint64(0)
	for _, f := range r.Faults.Faults {
		v, judged := f.Verdicts["asgct-gst-bracket"]
		switch {
		case !judged:
		case v.Outcome == faults.Void:
			void[f.Class]++
		case v.Outcome == faults.Mismatch:
			detected[f.Class]++
		default:
			require.Equal(t, faults.UnknownMethod, f.Class, "%+v", f)
			t.Logf("passed: %+v", v)
			passed++ // the walk has a method, too, that only the JVM's answers have
		}
	}
	bracket := r.Check("asgct-gst-bracket")
	t.Logf("%v of %d detected in %d brackets, %v void, %d passed; void of all: %v",
		detected, r.Faults.Made, bracket.Total, void, passed, bracket.Void)
	require.NotZero(t, detected[faults.InvalidCode])
	require.Greater(t, detected[faults.UnknownMethod], void[faults.UnknownMethod], "classes are published all the time")
	_, high := interval.Wilson(detected[faults.UnknownMethod], detected[faults.UnknownMethod]+passed)
	require.GreaterOrEqual(t, high, 0.99)
}

// If a thread of the agent cannot be created, its checks are switched off with a message; the JVM and the other checks are not
// affected.
func TestNoThreadIsLeft(t *testing.T) {
	b := bed(t)
	on, ok := b.JDK(17)
	if !ok {
		t.Skip("the catalogue has no JDK 17")
	}
	for thread, says := range []string{
		1: "cannot start the judge thread: asgct-shadow, asgct-gst-bracket and liveness are off",
		2: "cannot start the bracket thread: asgct-gst-bracket does nothing",
		3: "cannot start the sampler thread: asgct-shadow, asgct-gst-bracket and liveness are off",
	} {
		if thread == 0 {
			continue
		}
		t.Run(says, func(t *testing.T) {
			r, err := b.Run(t.Context(), trial.Spec{
				JDK: on, Workload: "mix", Arguments: []string{"8000", "7"}, Repetitions: 1,
				Agent: &agent.Options{
					Seed: 1, Ratio: 1, Checks: map[string]float64{"gst-asgct": 0.001, "asgct-shadow": 1, "asgct-gst-bracket": 1},
					Interval: 300 * time.Microsecond, Jitter: 0.5,
				},
				Faults: &faults.Plan{NoThread: thread},
			}, nil)
			require.NoError(t, err)
			require.Empty(t, r.Failure)
			require.True(t, r.Status.Ended)
			log, err := os.ReadFile(filepath.Join(r.Dir, "agent", "agent.log"))
			require.NoError(t, err)
			require.Contains(t, string(log), says)
			require.NotZero(t, r.Check("gst-asgct").Match)
			require.Zero(t, r.Check("asgct-gst-bracket").Total)
			require.Equal(t, thread == 2, r.Check("asgct-shadow").Match > 0)
		})
	}
}

func TestWithoutFaultsTheInjectorChangesNothing(t *testing.T) {
	b := bed(t)
	on, ok := b.JDK(17)
	if !ok {
		t.Skip("the catalogue has no JDK 17")
	}
	r := mix(t, b, on, faults.Plan{Rate: 1})
	require.NotZero(t, r.Faults.Walks)
	require.Zero(t, r.Faults.Made)
	require.Empty(t, r.Faults.Faults)
	require.NotZero(t, r.Check("gst-asgct").Match)
	require.Zero(t, r.Check("gst-asgct").Mismatch)
	require.Zero(t, r.Check("shadow-gst").Mismatch)
}
