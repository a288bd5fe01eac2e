package schedule

import (
	"bytes"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPlanIsTheConfigurationOfTheHeader(t *testing.T) {
	plan, err := Perturbation{Strategy: "delay", Seed: 0x0102030405060708}.Plan()
	require.NoError(t, err)
	require.Len(t, plan, int(unsafe.Sizeof(Config{})), "no holes, no padding")
	assert.Equal(t, []byte{8, 7, 6, 5, 4, 3, 2, 1}, plan[:8])
	_, err = Perturbation{Strategy: "mayhem"}.Plan()
	require.ErrorIs(t, err, ErrInvalid)
}

func TestTakenIsReported(t *testing.T) {
	var records []byte
	for _, r := range []Record{
		{Kind: RecordThread, Path: 5, Delay: 1, Counter: 0, TID: 77, Role: RoleMutator, Comm: "worker"},
		{Kind: RecordDecision, Path: 5, Delay: 2000, Slice: 20000, Event: EventStart, Marks: MarkDelayed},
		{}, // a record whose thread was killed before writing it
		{Kind: RecordDecision, Path: 5, Delay: 9000, Slice: 20000, Counter: 1, Event: EventExpiry, Marks: MarkStarved | MarkShort},
	} {
		records = r.Append(records)
	}
	taken := Taken{Stats: make([]uint64, Stats), Histograms: [][]uint64{
		make([]uint64, Buckets), make([]uint64, Buckets),
		make([]uint64, Buckets),
	}, Records: records}
	taken.Stats[StatDecisions], taken.Stats[StatDelays] = 2, 2
	taken.Stats[StatStarved], taken.Stats[StatLost] = 1, 3
	var file bytes.Buffer
	log, err := NewLogWriter(&file, Header{Perturbation: Perturbation{Strategy: "delay", Seed: 4}})
	require.NoError(t, err)
	report, err := taken.Report(Perturbation{Strategy: "delay", Seed: 4}, log)
	require.NoError(t, err)
	require.NoError(t, log.Close(report.Lost))
	assert.Equal(t, map[string]uint64{"delay": 1, "starve": 1}, report.Applied())
	require.Len(t, report.Threads, 1)
	assert.Equal(t, ThreadReport{
		Name: "0", Path: 5, TID: 77, Comm: "worker", Role: "mutator", Decisions: 2, Delays: 2, Starved: 1, ShortSlices: 1,
		Delay: 11 * time.Microsecond, LongestDelay: 9 * time.Microsecond,
	}, report.Threads[0])
	read, err := ReadLog(&file)
	require.NoError(t, err)
	assert.Len(t, read.Decisions, 2)
	assert.Len(t, read.Threads, 1)
	assert.Equal(t, uint64(3), read.Lost)

	for name, bad := range map[string]Taken{
		"counters missing": {Histograms: taken.Histograms},
		"half a record":    {Stats: taken.Stats, Histograms: taken.Histograms, Records: records[:100]},
		"unknown kind":     {Stats: taken.Stats, Histograms: taken.Histograms, Records: Record{Kind: 9}.Append(nil)},
		"out of bounds": {
			Stats: taken.Stats, Histograms: taken.Histograms,
			Records: Record{Kind: RecordDecision, Delay: 1 << 60, Slice: 20000}.Append(nil),
		},
	} {
		_, err := bad.Report(Perturbation{}, log)
		require.ErrorIs(t, err, ErrTaken, name)
	}
}
