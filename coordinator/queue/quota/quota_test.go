package quota_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"google.golang.org/protobuf/proto"

	"misstep/coordinator/queue/quota"
	misstepv1 "misstep/proto/misstep/v1"
)

var noon = time.Date(2027, 1, 31, 12, 0, 0, 0, time.UTC)

func used(day uint32, trials, evidence uint64) *misstepv1.DayUsage {
	return &misstepv1.DayUsage{Day: day, Trials: trials, Evidence: evidence}
}

func TestDaysAreInUTC(t *testing.T) {
	day := quota.Day(noon)
	assert.Equal(t, day, quota.Day(noon.Add(12*time.Hour-1)))
	assert.Equal(t, day+1, quota.Day(noon.Add(12*time.Hour)))
	assert.Equal(t, noon.Add(12*time.Hour), quota.NextDay(noon))
	first := quota.Add(nil, day, 2, 30)
	assert.True(t, proto.Equal(used(day, 2, 30), first))
	assert.True(t, proto.Equal(used(day, 3, 31), quota.Add(first, day, 1, 1)))
	assert.True(t, proto.Equal(used(day+1, 1, 1), quota.Add(first, day+1, 1, 1)), "another day")
	assert.True(t, proto.Equal(used(day, 2, 30), first), "it stays as it is")
}

// Each bound is exact: of as many grants as one likes, so many are given as it says.
func TestBounds(t *testing.T) {
	day := quota.Day(noon)
	for _, test := range []struct {
		name   string
		quotas []*misstepv1.Quota
		claims []quota.Claim
		ended  map[string]*misstepv1.DayUsage
		// gets are the trials that each claim gets when it alone asks; -1 for no bound.
		gets []int
		held []string // of the first claim once it has got them
	}{
		{
			name: "none", quotas: []*misstepv1.Quota{{Project: "q", Runners: new(uint64)}},
			claims: []quota.Claim{{Project: "p", Owner: "anna"}}, gets: []int{-1},
		},
		{
			name: "at once, over campaigns of a project", quotas: []*misstepv1.Quota{{Project: "p", Runners: proto.Uint64(5)}},
			claims: []quota.Claim{{Project: "p", Owner: "anna", Running: 2}, {Project: "p", Owner: "ben", Running: 1}, {Project: "q"}},
			gets:   []int{2, 2, -1}, held: []string{"quota of project p: 5 trials at once run"},
		},
		{
			name: "at once, over projects of a person", quotas: []*misstepv1.Quota{{Person: "anna", Runners: proto.Uint64(4)}},
			claims: []quota.Claim{{Project: "p", Owner: "anna", Running: 2}, {Project: "q", Owner: "anna", Running: 1}},
			gets:   []int{1, 1}, held: []string{"quota of person anna: 4 trials at once run"},
		},
		{
			name: "everybody, each by themselves", quotas: []*misstepv1.Quota{
				{Person: "*", Runners: proto.Uint64(2)}, {Person: "anna", Runners: proto.Uint64(3)},
			},
			claims: []quota.Claim{{Project: "p", Owner: "anna", Running: 2}, {Project: "p", Owner: "ben", Running: 1}, {Project: "p"}},
			gets:   []int{1, 1, -1}, held: []string{"quota of person anna: 3 trials at once run"},
		},
		{
			name:   "trials of a day, those that run and those of ended campaigns included",
			quotas: []*misstepv1.Quota{{Project: "p", TrialsADay: proto.Uint64(100)}},
			claims: []quota.Claim{
				{Project: "p", Running: 3, Today: used(day, 20, 0)}, {Project: "p", Today: used(day-1, 90, 0)},
			},
			ended: map[string]*misstepv1.DayUsage{"project p": used(day, 70, 0), "person p": used(day, 1000, 0)},
			gets:  []int{7, 7}, held: []string{"quota of project p: 100 trials a day are used or run, until 2027-02-01 00:00 UTC"},
		},
		{
			name: "evidence of a day", quotas: []*misstepv1.Quota{{Project: "p", EvidenceADay: proto.Uint64(1000)}},
			claims: []quota.Claim{{Project: "p", Today: used(day, 1, 999)}},
			ended:  map[string]*misstepv1.DayUsage{"project p": used(day-1, 0, 500)}, gets: []int{-1},
		},
		{
			name: "evidence of a day is used", quotas: []*misstepv1.Quota{{Project: "p", EvidenceADay: proto.Uint64(1000)}},
			claims: []quota.Claim{{Project: "p", Today: used(day, 1, 1000)}}, gets: []int{0},
			held: []string{"quota of project p: 1000 bytes of evidence a day are written, until 2027-02-01 00:00 UTC"},
		},
		{
			name: "two are reached", quotas: []*misstepv1.Quota{
				{Project: "p", Runners: new(uint64)}, {Person: "anna", Runners: new(uint64)},
			},
			claims: []quota.Claim{{Project: "p", Owner: "anna"}}, gets: []int{0},
			held: []string{"quota of project p: 0 trials at once run", "quota of person anna: 0 trials at once run"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			for i, want := range test.gets {
				m := quota.NewMeter(quota.NewTable(test.quotas), test.claims, test.ended, noon)
				got := 0
				for m.May(i) && got < 1000 {
					m.Served(i)
					got++
				}
				if want < 0 {
					want = 1000
				}
				assert.Equal(t, want, got, "claim %d", i)
				assert.Equal(t, got < 1000, len(m.Held(i)) > 0)
				if i == 0 {
					assert.Equal(t, test.held, m.Held(0))
				}
			}
		})
	}
}

func TestAQuotaOfNothing(t *testing.T) {
	assert.False(t, quota.Nothing(nil))
	assert.False(t, quota.Nothing(&misstepv1.Quota{Project: "p", Runners: proto.Uint64(1)}))
	for _, q := range []*misstepv1.Quota{
		{Runners: new(uint64)}, {Runners: proto.Uint64(3), TrialsADay: new(uint64)}, {EvidenceADay: new(uint64)},
	} {
		assert.True(t, quota.Nothing(q))
	}
}

// What quotas add to a call of a runner that asks for one trial, by running campaigns.
func BenchmarkGrant(b *testing.B) {
	for _, n := range []int{1, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			claims := make([]quota.Claim, n)
			for i := range claims {
				claims[i] = quota.Claim{
					Project: fmt.Sprint("p", i%7), Owner: fmt.Sprint("o", i%31), Running: 3, Today: used(quota.Day(noon), 1000, 1000),
				}
			}
			t := quota.NewTable([]*misstepv1.Quota{
				{Project: "*", Runners: proto.Uint64(1 << 40)}, {Person: "*", TrialsADay: proto.Uint64(1 << 40)},
			})
			for b.Loop() {
				m := quota.NewMeter(t, claims, nil, noon)
				for i := range claims {
					m.May(i)
				}
				m.Served(0)
			}
		})
	}
}
