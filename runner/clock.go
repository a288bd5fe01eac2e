package runner

import "time"

// Clock is the time as the loop and the decorators see it.
type Clock interface {
	// Now is the time of day.
	Now() time.Time
	// After returns a channel that receives once after d, and a function that releases the timer early.
	After(d time.Duration) (fired <-chan time.Time, release func())
}

// SystemClock is the machine's own clock.
type SystemClock struct{}

// Now is time.Now.
func (SystemClock) Now() time.Time { return time.Now() }

// After is a timer of the Go runtime.
func (SystemClock) After(d time.Duration) (<-chan time.Time, func()) {
	timer := time.NewTimer(d)
	return timer.C, func() { timer.Stop() }
}
