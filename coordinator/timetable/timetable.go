// Package timetable decides when a schedule runs next.
package timetable

import "time"

// Next returns the first time after now that is a multiple of the duration after from, when a schedule was to run: however many
// times were missed, one run makes up for them, and the others stay at their time of day. When from is further ahead than twice the
// duration, the clock was set back; then the next run is one duration from now.
func Next(from time.Time, every time.Duration, now time.Time) time.Time {
	if Astray(from, every, now) {
		return now.Add(every)
	}
	if from.After(now) {
		return from
	}
	return from.Add((now.Sub(from)/every + 1) * every)
}

// Astray reports whether the time of the next run is so far away that the clock must have been set back since.
func Astray(next time.Time, every time.Duration, now time.Time) bool {
	return next.Add(-2 * every).After(now)
}
