package explain

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"misstep/schedule"
)

// A program that begins two threads in each round is explained by its last round: who of the two ran while the other was away.
func TestTheLastRoundIsExplained(t *testing.T) {
	r := record("main")
	r.add(1, 0, schedule.EventStart, 0, 0)
	r.run(1, 0, 5, schedule.EndingBlocked, 0)
	for round := range uint64(20) {
		at := 100 + 1000*round
		first := uint64(len(r.Threads) + 1)
		for i, name := range []string{"first", "second"} {
			n := uint32(2*round) + uint32(i)
			r.Threads = append(r.Threads, schedule.Record{
				Kind: schedule.RecordThread, Path: first + uint64(i), Delay: 1, Counter: n, Comm: name,
			})
		}
		second := first + 1
		r.add(first, at, schedule.EventStart, 0, 0)
		r.run(first, at, at+50, schedule.EndingSlice, 0)
		r.add(first, at+50, schedule.EventExpiry, 40, schedule.MarkDelayed)
		r.add(second, at+60, schedule.EventStart, 0, 0)
		r.run(second, at+60, at+85, schedule.EndingSlice, 0)
		r.run(first, at+90, at+200, schedule.EndingExited, 0)
		r.add(second, at+85, schedule.EventExpiry, 300, schedule.MarkDelayed) // longer, but only main runs then
		for i := range uint64(mostListed) {
			r.add(1, at+210+20*i, schedule.EventExpiry, 5, schedule.MarkDelayed)
			r.run(1, at+215+20*i, at+220+20*i, schedule.EndingSlice, 0)
		}
		r.run(second, at+385, at+400, schedule.EndingExited, 0)
		if round == 18 { // its end is late, but it did nothing in the last round
			r.Runs = r.Runs[:len(r.Runs)-1]
			r.run(second, at+2000, at+2001, schedule.EndingExited, 0)
		}
	}
	r.add(1, 22_000, schedule.EventExpiry, 0, 0)
	r.run(1, 22_000, 22_100, schedule.EndingExited, 0)
	x := explained(t, r, Options{})
	assert.Equal(t, "second 0.37", x.Ended)
	assert.Equal(t, []string{"first 0.38", "second 0.39"}, x.Round)
	assert.Contains(t, x.Verdict(), ": how first 0.38 and second 0.39 took turns.")
	assert.Equal(t, 19_100*time.Microsecond, x.From, "the round's beginning")
	var listed []string
	for _, a := range x.Mattered {
		listed = append(listed, a.Sentence())
	}
	assert.Equal(t, []string{
		"second 0.37 away for 1.92ms: delayed; meanwhile ran first 0.38 twice, first 0.36 once, main 0 16 times and 1 more",
		"first 0.38 away for 40µs: delayed; meanwhile ran second 0.39 once",
		"second 0.39 away for 300µs: delayed; meanwhile ran first 0.38 once, main 0 8 times",
	}, listed)
}
