package chunks_test

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/runner/judge"
	"misstep/runner/judge/chunks"
	"misstep/runner/recording"
)

const (
	second = int64(time.Second)
	odd    = 1_700_000_000_123_456_789 // no whole millisecond
)

// chunk is the chunk with an index of a recording whose chunks take a second each.
func chunk(index int) *recording.Chunk {
	return &recording.Chunk{
		Index: index, StartNanos: odd + int64(index)*second, DurationNanos: second, StartTicks: 1000 + int64(index)*second,
		TicksPerSecond: second,
	}
}

func judged(t *testing.T, limit int, records ...recording.Record) judge.Verdicts {
	t.Helper()
	j := chunks.New(limit, recipe.ProfilerJFR)
	for _, r := range records {
		require.NoError(t, j.Visit(r))
	}
	v := j.Verdicts()
	balanced(t, v)
	return v
}

// balanced asserts that every unit has one verdict, in words of the check.
func balanced(t *testing.T, v judge.Verdicts) {
	t.Helper()
	words, ok := recipe.FindCheck(recipe.JfrChunks)
	require.True(t, ok)
	for rule := range v.Count.GetTolerated() {
		require.Contains(t, words.Rules, rule)
	}
	for reason := range v.Count.GetVoid() {
		require.Contains(t, words.Reasons, reason)
	}
	for _, m := range v.Mismatches {
		require.Contains(t, words.Kinds, m.GetKind())
	}
	sum := v.Count.GetMatch() + v.Count.GetMismatch()
	for _, n := range v.Count.GetTolerated() {
		sum += n
	}
	for _, n := range v.Count.GetVoid() {
		sum += n
	}
	require.Equal(t, v.Count.GetTotal(), sum, "%v", v.Count)
	require.LessOrEqual(t, v.Count.GetMatch(), v.Count.GetTotal(), "%v", v.Count)
}

func changed(c *recording.Chunk, change func(*recording.Chunk)) *recording.Chunk {
	change(c)
	return c
}

func lacking(n int) []recording.Record {
	return []recording.Record{
		&recording.Link{Type: "java.lang.Thread", From: "jdk.ThreadEnd", Field: "thread", Referenced: 40, Lacking: n},
		&recording.Fault{Kind: recording.Lacking, Type: "java.lang.Thread", ID: 23, From: "jdk.ThreadEnd", Field: "thread", Position: 99},
	}
}

func TestEachFaultIsOneKind(t *testing.T) {
	window := func(first, last int64) *recording.Window {
		return &recording.Window{Type: "jdk.JavaMonitorEnter", Events: 5, FirstNanos: first, LastNanos: last}
	}
	for name, tt := range map[string]struct {
		records []recording.Record
		total   uint64
		kind    string
		count   uint64
		fault   *misstepv1.RecordingFault
	}{
		"lacking": {
			append([]recording.Record{chunk(0)}, lacking(3)...), 41, recipe.KindUndefinedConstant, 3, &misstepv1.RecordingFault{
				Type: "java.lang.Thread", Id: 23, Referrer: "jdk.ThreadEnd", Field: "thread", Position: 99,
				Detail: "3 of the 40 ids that the chunk refers to",
			},
		},
		"twice": {[]recording.Record{
			chunk(0), chunk(1), &recording.Pool{Type: "java.lang.Class", Defined: 10},
			&recording.Differing{Type: "java.lang.Class", Fields: "package", IDs: 2},
			&recording.Fault{Kind: recording.Twice, Type: "java.lang.Class", ID: 7, From: "java.lang.Class", Field: "package", Position: 5},
		}, 12, recipe.KindDuplicateID, 2, &misstepv1.RecordingFault{
			Type: "java.lang.Class", Id: 7, Field: "package", Chunk: 1, Position: 5, Detail: "2 ids of the chunk",
		}},
		"a thread's id": {[]recording.Record{
			chunk(0), &recording.Pool{Type: "java.lang.Thread", Defined: 10},
			&recording.Differing{Type: "java.lang.Thread", Fields: "osName,osThreadId", IDs: 1},
		}, 11, recipe.KindDuplicateID, 1, &misstepv1.RecordingFault{
			Type: "java.lang.Thread", Field: "osName,osThreadId", Detail: "1 ids of the chunk",
		}},
		"before": {
			[]recording.Record{chunk(0), window(-1, 5)},
			2, recipe.KindEventTime, 1,
			&misstepv1.RecordingFault{Type: "jdk.JavaMonitorEnter", Field: "before", Detail: "by up to 1ns, of 5 events"},
		},
		"after": {
			[]recording.Record{chunk(0), window(5, second+2e6)}, // more than the clocks may differ by
			2, recipe.KindEventTime, 1,
			&misstepv1.RecordingFault{Type: "jdk.JavaMonitorEnter", Field: "after", Detail: "by up to 2ms, of 5 events"},
		},
		"a sample after": {
			[]recording.Record{chunk(0), &recording.Window{Type: "jdk.ExecutionSample", Events: 2, FirstNanos: -5, LastNanos: second + 2}},
			2, recipe.KindEventTime, 1,
			&misstepv1.RecordingFault{Type: "jdk.ExecutionSample", Field: "after", Detail: "by up to 2ns, of 2 events"},
		},
		"overlap": {
			[]recording.Record{chunk(0), changed(chunk(1), func(c *recording.Chunk) { c.StartNanos -= 1000 })},
			2, recipe.KindChunkOrder, 1,
			&misstepv1.RecordingFault{Field: "start before the previous chunk's end", Chunk: 1, Detail: "by 1µs"},
		},
		"ticks": {
			[]recording.Record{chunk(0), changed(chunk(1), func(c *recording.Chunk) { c.StartTicks = 900 })},
			2, recipe.KindChunkOrder, 1,
			&misstepv1.RecordingFault{
				Field: "ticks before the previous chunk", Chunk: 1, Detail: "900, the previous chunk begins at 1000",
			},
		},
		"frequency": {
			[]recording.Record{changed(chunk(0), func(c *recording.Chunk) { c.TicksPerSecond = 0 })},
			1, recipe.KindChunkOrder, 1,
			&misstepv1.RecordingFault{Field: "frequency", Detail: "0 ticks a second"},
		},
		"duration": {
			[]recording.Record{changed(chunk(0), func(c *recording.Chunk) { c.DurationNanos = -1 })},
			1, recipe.KindChunkOrder, 1,
			&misstepv1.RecordingFault{Field: "duration", Detail: "-1 ns"},
		},
		"layout": {
			[]recording.Record{chunk(0), &recording.Problem{Kind: recording.Layout, Message: "a checkpoint of 12 bytes has 13"}},
			2, recipe.KindChunkLayout, 1,
			&misstepv1.RecordingFault{Field: "a checkpoint of N bytes has N", Detail: "a checkpoint of 12 bytes has 13"},
		},
		"parser": {
			[]recording.Record{chunk(0), &recording.Problem{Kind: recording.Parser, Message: "after 12 events of the chunk: java.X: no"}},
			2, recipe.KindChunkLayout, 1,
			&misstepv1.RecordingFault{
				Field: "after N events of the chunk: java.X: no", Detail: "after 12 events of the chunk: java.X: no",
			},
		},
		"the parser after a wrong layout": {
			[]recording.Record{
				chunk(0), &recording.Problem{Kind: recording.Layout, Message: "a pool ends"}, &recording.Problem{Kind: recording.Parser},
			},
			2, recipe.KindChunkLayout, 1,
			&misstepv1.RecordingFault{Field: "a pool ends", Detail: "a pool ends"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := judged(t, 10, tt.records...)
			require.Equal(t, tt.total, v.Count.GetTotal())
			require.Equal(t, tt.count, v.Count.GetMismatch())
			require.Len(t, v.Mismatches, 1)
			require.Equal(t, &misstepv1.Mismatch{Check: recipe.JfrChunks, Kind: tt.kind, Count: tt.count, RecordingFault: tt.fault},
				v.Mismatches[0])
		})
	}
}

// Each rule fires on what it is for, and on nothing beside it.
func TestRules(t *testing.T) {
	whole := func() *recording.Chunk {
		return &recording.Chunk{StartNanos: 4 * second, DurationNanos: second, StartTicks: 1, TicksPerSecond: second}
	}
	rounded := func(by int64) *recording.Chunk {
		return changed(whole(), func(c *recording.Chunk) { c.StartNanos, c.DurationNanos = c.StartNanos+by, c.DurationNanos-by })
	}
	window := func(typeName string, first int64) *recording.Window {
		return &recording.Window{Type: typeName, Events: 1, FirstNanos: first, LastNanos: 9}
	}
	renamed := func(fields string) *recording.Differing {
		return &recording.Differing{Type: "java.lang.Thread", Fields: fields, IDs: 1}
	}
	threads := &recording.Pool{Type: "java.lang.Thread", Defined: 4}
	unfinished := &recording.Problem{Kind: recording.Unfinished}
	micros := func() *recording.Chunk {
		return changed(chunk(0), func(c *recording.Chunk) { c.StartNanos -= c.StartNanos % 1000 })
	}
	// A chunk that begins within the first one, by a clock that began so much earlier.
	byClock := func(earlier int64) *recording.Chunk {
		return changed(chunk(1), func(c *recording.Chunk) { c.StartNanos -= second / 2; c.StartTicks += earlier - second/2 })
	}
	started := func(when string) *recording.Setting {
		return &recording.Setting{Type: "jdk.JVMInformation", Name: "jvmStartTime", Value: when}
	}
	async := &recording.Setting{Type: "jdk.ActiveRecording", Name: "version", Value: "4.1"}
	ends := func(late time.Duration) *recording.Window {
		return &recording.Window{Type: "jdk.ModuleRequire", LastNanos: second + int64(late)}
	}
	// A chunk of milliseconds half a second before the end of the first one, whose ticks begin at that end or before it.
	setBack := func(later int64) *recording.Chunk {
		return changed(whole(), func(c *recording.Chunk) {
			c.Index, c.StartNanos, c.StartTicks = 1, c.StartNanos+second/2, c.StartTicks+second/2+later
		})
	}
	// A chunk with the stamp of the first one's end, whose ticks show a longer time.
	stamped := func(longer time.Duration) *recording.Chunk {
		return changed(chunk(1), func(c *recording.Chunk) {
			c.StartNanos = chunk(0).StartNanos + second
			c.StartTicks = chunk(0).StartTicks + second + int64(longer)
		})
	}
	for name, tt := range map[string]struct {
		rule    string
		records []recording.Record
	}{
		"another clock of a JVM":   {"", []recording.Record{chunk(0), started("1"), byClock(-2 * second), started("1")}},
		"the clock was set":        {recipe.RuleAnotherClock, []recording.Record{chunk(0), started("1"), byClock(3 * second), started("1")}},
		"of another JVM":           {recipe.RuleAnotherClock, []recording.Record{chunk(0), started("1"), byClock(-2 * second), started("2")}},
		"of another recorder":      {recipe.RuleAnotherClock, []recording.Record{chunk(0), started("1"), byClock(-2 * second), started("1"), async}},
		"of a JVM that is unknown": {recipe.RuleAnotherClock, []recording.Record{chunk(0), started("1"), byClock(-2 * second)}},
		"renamed":                  {recipe.RuleRenamedThread, []recording.Record{chunk(0), threads, renamed("osName,javaName")}},
		"ended":                    {recipe.RuleRenamedThread, []recording.Record{chunk(0), threads, renamed("javaName,group")}},
		"another thread":           {"", []recording.Record{chunk(0), threads, renamed("javaName,javaThreadId")}},
		"a flush":                  {recipe.RuleFlushedHeader, []recording.Record{chunk(0), threads, &recording.Differing{Type: "jdk.types.ChunkHeader", Fields: "payload", IDs: 1}}},
		"a sample":                 {recipe.RuleSampledBeforeRotation, []recording.Record{chunk(0), window("jdk.CPUTimeSample", -second)}},
		"a compilation":            {recipe.RuleEndedBeforeRotation, []recording.Record{chunk(0), window("jdk.Compilation", -second)}},
		"a compilation after":      {"", []recording.Record{chunk(0), &recording.Window{Type: "jdk.Compilation", LastNanos: second + 2_000_000}}},
		"less than a microsecond":  {recipe.RuleMicrosecondClock, []recording.Record{micros(), window("jdk.ActiveRecording", -999)}},
		"a microsecond":            {"", []recording.Record{micros(), window("jdk.ActiveRecording", -1000)}},
		"a live object":            {recipe.RuleEndedBeforeRotation, []recording.Record{chunk(0), window("datadog.HeapLiveObject", -second)}},
		"a live object after":      {"", []recording.Record{chunk(0), &recording.Window{Type: "datadog.HeapLiveObject", LastNanos: second + 2_000_000}}},
		"another clock":            {recipe.RuleAnotherClock, []recording.Record{chunk(0), byClock(3 * second)}},
		"an earlier tick":          {recipe.RuleAnotherClock, []recording.Record{chunk(0), byClock(-2 * second)}},
		"a clock that was moved":   {"", []recording.Record{chunk(0), byClock(second / 2)}},
		"the wall clock set back":  {recipe.RuleWallClock, []recording.Record{whole(), setBack(second / 2)}},
		"and the ticks":            {"", []recording.Record{whole(), setBack(0)}},
		"a deprecated call":        {recipe.RuleWrittenAtRotation, []recording.Record{chunk(0), &recording.Window{Type: "jdk.DeprecatedInvocation", LastNanos: second + 1}}},
		"a phase of a collection":  {recipe.RuleEndedBeforeRotation, []recording.Record{chunk(0), window("jdk.GCPhasePauseLevel1", -second)}},
		"a collection":             {"", []recording.Record{chunk(0), window("jdk.GarbageCollection", -second)}},
		"a slow wall clock":        {recipe.RuleWallClock, []recording.Record{chunk(0), ends(time.Millisecond)}},
		"a slower one":             {"", []recording.Record{chunk(0), ends(time.Millisecond + 501*time.Microsecond)}},
		"within the ticks":         {recipe.RuleWallClock, []recording.Record{chunk(0), ends(20 * time.Millisecond), stamped(20 * time.Millisecond)}},
		"behind the ticks":         {"", []recording.Record{chunk(0), ends(21 * time.Millisecond), stamped(20 * time.Millisecond)}},
		"a chunk within the last":  {"", []recording.Record{chunk(0), changed(chunk(1), func(c *recording.Chunk) { c.StartNanos -= second / 2; c.StartTicks -= second / 2 })}},
		"a deprecated call before": {"", []recording.Record{chunk(0), window("jdk.DeprecatedInvocation", -second)}},
		"no sample":                {"", []recording.Record{chunk(0), window("jdk.ThreadEnd", -second)}},
		"less than a millisecond":  {recipe.RuleMillisecondClock, []recording.Record{whole(), window("jdk.ThreadEnd", -999_999)}},
		"rounded milliseconds":     {recipe.RuleMillisecondClock, []recording.Record{rounded(-64), window("jdk.ThreadEnd", -999_999)}},
		"more than rounded":        {"", []recording.Record{rounded(-257), window("jdk.ThreadEnd", -999_999)}},
		"a millisecond":            {"", []recording.Record{whole(), window("jdk.ThreadEnd", -1_000_000)}},
		"a finer clock":            {"", []recording.Record{chunk(0), window("jdk.ThreadEnd", -999_999)}},
		"an unfinished chunk":      {recipe.RuleUnfinishedChunk, append([]recording.Record{chunk(0), unfinished}, lacking(1)...)},
		"what it breaks": {
			recipe.RuleUnfinishedChunk,
			[]recording.Record{chunk(0), unfinished, &recording.Problem{Kind: recording.Layout}, &recording.Problem{Kind: recording.Parser}},
		},
		"a chunk after it":         {"", append([]recording.Record{chunk(0), unfinished, chunk(0)}, lacking(1)...)},
		"the layout of a cut one":  {recipe.RuleUnfinishedChunk, []recording.Record{chunk(0), &recording.Problem{Kind: recording.CutFile}, &recording.Problem{Kind: recording.Layout, Message: "x"}}},
		"an event after its flush": {recipe.RuleUnfinishedChunk, []recording.Record{chunk(0), unfinished, &recording.Window{Type: "a.B", LastNanos: 2 * second}}},
	} {
		t.Run(name, func(t *testing.T) {
			v := judged(t, 10, tt.records...)
			if tt.rule == "" {
				require.Len(t, v.Mismatches, 1)
				return
			}
			require.Empty(t, v.Mismatches)
			require.Positive(t, v.Count.GetTolerated()[tt.rule], "%v", v.Count)
			require.Len(t, v.Count.GetTolerated(), 1)
		})
	}
}

func TestVoid(t *testing.T) {
	v := judged(t, 10, chunk(0), &recording.Problem{Kind: recording.Limit})
	assert.Equal(t, map[string]uint64{recipe.ReadingLimit: 1}, v.Count.GetVoid())
	assert.Empty(t, judged(t, 10).Count.GetTotal(), "nothing was judged")
}

// Faults of the same place are one entry, over chunks and recordings; the first one is the example.
func TestManyFaultsAreOneEntry(t *testing.T) {
	var records []recording.Record
	for range 2 { // recordings
		for index := range 3 {
			records = append(append(records, chunk(index)), lacking(index)...)
		}
	}
	records = append(records, &recording.Window{Type: "a.B", FirstNanos: -1})
	v := judged(t, 10, records...)
	require.Len(t, v.Mismatches, 2, "an overlap between recordings is none")
	require.EqualValues(t, 6, v.Mismatches[0].GetCount())
	require.EqualValues(t, 2, v.Mismatches[1].GetRecordingFault().GetChunk())
	require.EqualValues(t, 1, v.Mismatches[1].GetRecordingFault().GetRecording())
	require.Len(t, judged(t, 1, records...).Mismatches, 1)
	require.EqualValues(t, 7, judged(t, 1, records...).Count.GetMismatch(), "the count has those beyond the limit")
}

// Whatever a stream says, each unit has one verdict.
func FuzzJudge(f *testing.F) {
	f.Add([]byte("MISSREC2"), uint64(1))
	f.Fuzz(func(t *testing.T, noise []byte, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 0))
		var records []recording.Record
		for range 50 {
			n := int(random.Uint32N(9))
			records = append(records, []recording.Record{
				&recording.Chunk{Index: n, StartNanos: int64(random.Uint64()), DurationNanos: int64(random.Uint64()), StartTicks: int64(n), TicksPerSecond: 1},
				&recording.Link{Type: "t", From: "f", Referenced: n + 3, Lacking: n},
				&recording.Pool{Type: "t", Defined: n + 3}, &recording.Differing{Type: "t", Fields: "a", IDs: n},
				&recording.Window{Type: "t", FirstNanos: int64(random.Uint64()), LastNanos: int64(random.Uint64())},
				&recording.Problem{Chunk: n, Kind: recording.ProblemKind(n % 6), Message: "m"},
				&recording.Fault{Kind: recording.FaultKind(1 + n%2), Type: "t", From: "f", ID: uint64(n)},
			}[random.IntN(7)])
		}
		j := chunks.New(3, recipe.ProfilerJFR)
		for _, r := range records {
			require.NoError(t, j.Visit(r))
		}
		_, _ = recording.Read(bytes.NewReader(noise), j.Visit)
		require.LessOrEqual(t, len(j.Verdicts().Mismatches), 3)
	})
}
