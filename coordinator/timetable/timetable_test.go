package timetable_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"misstep/coordinator/timetable"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func TestNext(t *testing.T) {
	const day = 24 * time.Hour
	for name, test := range map[string]struct {
		now  time.Time
		want time.Time
	}{
		"on time":          {noon, noon.Add(day)},
		"late":             {noon.Add(time.Minute), noon.Add(day)},
		"three days late":  {noon.Add(3*day + time.Hour), noon.Add(4 * day)},
		"exactly due":      {noon.Add(3 * day), noon.Add(4 * day)},
		"not yet":          {noon.Add(-time.Hour), noon},
		"a day early":      {noon.Add(-2 * day), noon},
		"clock set back":   {noon.Add(-2*day - 1), noon.Add(-day - 1)},
		"back by ten days": {noon.Add(-10 * day), noon.Add(-9 * day)},
	} {
		assert.Equal(t, test.want, timetable.Next(noon, day, test.now), name)
	}
}

func TestNextIsAlwaysAheadAndNear(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		every := time.Duration(rapid.Int64Range(int64(time.Minute), int64(1000*time.Hour)).Draw(r, "every"))
		now := noon.Add(time.Duration(rapid.Int64Range(-int64(90000*time.Hour), int64(90000*time.Hour)).Draw(r, "now")))
		next := timetable.Next(noon, every, now)
		assert.True(r, next.After(now))
		assert.LessOrEqual(r, next.Sub(now), 2*every)
		assert.Equal(r, next, timetable.Next(next, every, now), "a time that is ahead stays")
	})
}
