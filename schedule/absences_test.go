package schedule

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/schedule/scheduletest"
)

const ms = 1000000

// absences returns the period of a thread after some sleeps, and its delays.
func absences(t *testing.T, event Event, waker, family, away, sleep, share, least, longest uint64, sleeps ...uint64) (period uint64,
	delays []float64,
) {
	t.Helper()
	args := []string{"absences", "5", fmt.Sprint(uint32(event)), fmt.Sprint(waker), fmt.Sprint(family), "2000"}
	for i, value := range []uint64{away, sleep, share, least, longest} {
		name := []string{"away", "away_sleep", "away_family", "away_min", "away_max"}[i]
		args = append(args, fmt.Sprintf("%s=%d", name, value))
	}
	for _, s := range sleeps {
		args = append(args, fmt.Sprint(s))
	}
	for i, line := range policy(t, args...) {
		x, err := strconv.ParseUint(line, 10, 64)
		require.NoError(t, err)
		if i == 0 {
			period = x
		} else if x > 0 {
			delays = append(delays, float64(x))
		}
	}
	return period, delays
}

// What a sleep adds to a thread's period, and how long absences then are: 1 to 32 times the period's power of two, within the
// epoch's least and longest ones, and never at the end of a slice.
func TestAbsencesFollowTheThreadsPeriod(t *testing.T) {
	run := func(event Event, least, longest uint64, sleeps ...uint64) (uint64, []float64) {
		return absences(t, event, 1, 0, 1<<31, 0, 0, least, longest, sleeps...)
	}
	period := func(sleeps ...uint64) uint64 { p, _ := run(EventWakeup, 1, 2, sleeps...); return p }
	assert.EqualValues(t, 10*ms, period(10*ms), "the first sleep")
	assert.EqualValues(t, 15*ms, period(10*ms, 400*ms), "one long sleep adds a half")
	assert.EqualValues(t, 10*ms, period(15*ms, 10*ms, 10*ms, 10*ms, 10*ms), "and is forgotten")
	assert.EqualValues(t, 7*ms, period(8*ms, 1000), "a short one takes an eighth")
	assert.EqualValues(t, 400*ms, period(10*ms, 400*ms, 400*ms, 400*ms, 400*ms, 400*ms, 400*ms, 400*ms, 400*ms, 400*ms, 400*ms))

	for _, c := range []struct {
		name           string
		least, longest uint64
		sleeps         []uint64
		from, to       float64
		event          Event
	}{
		{"its own period", 10000, 400 * ms, []uint64{10 * ms}, 1 << 23, 32 << 23, EventWakeup},
		{"a little longer: the same", 10000, 400 * ms, []uint64{11 * ms}, 1 << 23, 32 << 23, EventWakeup},
		{"the epoch's", 12 * ms, 400 * ms, []uint64{10 * ms}, 12e6, 384e6, EventWakeup},
		{"a new thread", 2 * ms, 400 * ms, nil, 2e6, 64e6, EventStart},
		{"cut off", 10000, 30 * ms, []uint64{10 * ms}, 1 << 23, 30e6, EventWakeup},
	} {
		_, delays := run(c.event, c.least, c.longest, c.sleeps...)
		require.InDelta(t, 1000, len(delays), 100, "%s: half of all decisions", c.name)
		require.True(t, slices.Min(delays) >= c.from && slices.Max(delays) <= c.to, c.name)
		distance := scheduletest.Kolmogorov(delays, scheduletest.Octaves(c.from, c.to))
		assert.Less(t, distance, scheduletest.Critical(len(delays)), c.name)
	}
	_, delays := run(EventWakeup, 400*ms, 1*ms, 10*ms)
	assert.Equal(t, []float64{1e6}, slices.Compact(delays), "none is longer than the longest")
	_, delays = run(EventExpiry, 10000, 400*ms, 10*ms)
	assert.Empty(t, delays, "at the end of a slice")
}

// A thread that nobody woke had slept by its own choice: it has a probability of its own, and a share of its absences follows the
// longest period among it and those that it descends from.
func TestAbsencesOfThreadsThatSlept(t *testing.T) {
	const thread, outside, always, never = 1, 2, 1 << 32, 0
	for _, c := range []struct {
		name          string
		event         Event
		waker, family uint64
		share, period uint64
		from, to      float64 // 0: never away
	}{
		{"woken by a thread", EventWakeup, thread, 100 * ms, always, 10 * ms, 0, 0},
		{"new", EventStart, outside, 100 * ms, always, 10 * ms, 0, 0},
		{"at the end of a slice", EventExpiry, outside, 100 * ms, always, 10 * ms, 0, 0},
		{"it polls", EventWakeup, outside, 100 * ms, always, 199999, 0, 0},
		{"its own period", EventWakeup, outside, 100 * ms, never, 10 * ms, 1 << 23, 32 << 23},
		{"its family's", EventWakeup, outside, 100 * ms, always, 10 * ms, 1 << 25, 1 << 27},
		{"longer than its family's", EventWakeup, outside, 1 * ms, always, 10 * ms, 1 << 22, 1 << 24},
		{"nobody before it slept", EventWakeup, outside, 0, always, 10 * ms, 1 << 23, 32 << 23},
	} {
		_, delays := absences(t, c.event, c.waker, c.family, 0, 1<<31, c.share, 10000, 400*ms, c.period)
		if c.to == 0 {
			assert.Empty(t, delays, c.name)
			continue
		}
		require.InDelta(t, 1000, len(delays), 100, "%s: half of all decisions", c.name)
		require.True(t, slices.Min(delays) >= c.from && slices.Max(delays) <= c.to, c.name)
		distance := scheduletest.Kolmogorov(delays, scheduletest.Octaves(c.from, c.to))
		assert.Less(t, distance, scheduletest.Critical(len(delays)), c.name)
	}
	_, delays := absences(t, EventWakeup, thread, 0, 1<<31, 0, 0, 10000, 400*ms, 10*ms)
	assert.InDelta(t, 1000, len(delays), 100, "the probability of others is for the others")
	_, delays = absences(t, EventWakeup, outside, 0, 1<<31, 0, 0, 10000, 400*ms, 10*ms)
	assert.Empty(t, delays, "and only for them")
}
