package schedule

import (
	"debug/elf"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	loop    = 0x401000 // where threads run nearly all the time
	window  = 0x401080 // the bug's window, in the same page
	message = 0x44f000 // in a page that is executed only after the failure
)

// failed returns the log of a program with the given number of rounds of two threads each; in the last one the second thread was
// stopped in the window, and then wrote a message.
func failed(rounds int) *Log {
	main := Child(0x6d69737374657000, 0)
	l := &Log{Threads: []Record{{Kind: RecordThread, Path: main, Comm: "race"}}}
	at := time.Duration(0)
	for i := range uint64(2 * rounds) {
		path := Child(main, i)
		l.Threads = append(l.Threads, Record{Kind: RecordThread, Path: path, Delay: main, Counter: uint32(i), Comm: "race"})
		places := []uint64{0, loop, loop + 8, loop}
		if i == uint64(2*rounds-1) {
			places = []uint64{0, loop, window, loop, message, message + 100, message + 200}
		}
		for counter, place := range places {
			at += 100 * time.Microsecond
			d := Record{
				Kind: RecordDecision, Path: path, Counter: uint32(counter), Event: EventExpiry, Slice: 15e3, Place: place,
				Elapsed: at, Comm: "race",
			}
			if place >= message {
				d.Delay = 2e6
			}
			l.Decisions = append(l.Decisions, d)
		}
	}
	return l
}

func placesOf(stops []Stop) (all []uint64) {
	for _, s := range stops {
		all = append(all, s.Place)
	}
	return all
}

func TestTheRarePlaceOfTheFailureComesFirst(t *testing.T) {
	l := failed(40)
	for _, threads := range []int{0, 2} { // the log's end, and its last round
		stops, err := l.Stops(threads)
		require.NoError(t, err)
		assert.Equal(t, []uint64{window, message, message + 100, message + 200}, placesOf(stops),
			"not the loop; code that was not seen before comes last")
		assert.Equal(t, 1, stops[0].Seen)
		assert.Equal(t, 40*2*3+3, stops[0].Of)
		assert.Equal(t, holdLeast, stops[0].Held, "it was off its CPU for only 85 µs")
		assert.Equal(t, uint64(2e6), stops[1].Held, "its delay, though that is above holdMost")
	}
}

func TestAPlaceThatWasSeenBeforeIsNotRare(t *testing.T) {
	l := failed(40)
	for i := range l.Decisions {
		if l.Decisions[i].Place == loop+8 {
			l.Decisions[i].Place = window + 4 // an instruction away
		}
	}
	stops, err := l.Stops(2)
	require.NoError(t, err)
	assert.NotContains(t, placesOf(stops), uint64(window))
}

func TestAThreadIsHeldAsLongAsItWasOffItsCPU(t *testing.T) {
	l := failed(40)
	for i := range l.Decisions[len(l.Decisions)-4:] { // those after the window
		l.Decisions[len(l.Decisions)-4+i].Elapsed += 300 * time.Microsecond
	}
	stops, err := l.Stops(2)
	require.NoError(t, err)
	assert.Equal(t, uint64(400e3-15e3), stops[0].Held, "the time from one decision to the next, minus its slice")
}

func TestEachThreadsFirstPlaceComesBeforeItsSecond(t *testing.T) {
	l := failed(60)
	n := len(l.Decisions)
	l.Decisions[n-7-3].Place = window + 0x400 // of the other thread of the round
	l.Decisions[n-7-1].Place = window + 0x800
	l.Decisions[n-7].Place = window + 0xc00
	for i := range 3 {
		l.Decisions[i].Place = window + 0x300 // so that the page is known
	}
	l.Decisions[n-4].Place = loop
	stops, err := l.Stops(2)
	require.NoError(t, err)
	got := placesOf(stops)[:4]
	assert.ElementsMatch(t, []uint64{window + 0x400, window + 0xc00}, got[:2], "first ones")
	assert.ElementsMatch(t, []uint64{window + 0x800, window}, got[2:], "second ones")
}

func TestChooseLimitsTheNumberOfPlaces(t *testing.T) {
	at := func(places ...uint64) (stops []Stop) {
		for i, p := range places {
			stops = append(stops, Stop{Record: Record{Place: p, Path: uint64(i % 6)}, Held: uint64(i)})
		}
		return stops
	}
	stops := at(1000, 2000, 1010, 3000, 4000, 5000, 2004)
	assert.Equal(t, []uint64{1000, 2000, 1000, 2000}, placesOf(Choose(stops, 2)),
		"addresses near each other are one place, for other threads, too")
	assert.Equal(t, []uint64{1000, 2000, 1000, 3000, 4000, 2000}, placesOf(Choose(stops, 100)),
		"no more than there are breakpoints")
	assert.Empty(t, Choose(stops, 0))
	assert.Len(t, Choose(append(stops, stops[0]), 4), 6, "only a thread's first stop at a place")
}

func TestKernelAddressesAreNotPlaces(t *testing.T) {
	l := failed(40)
	for i := range l.Decisions {
		if l.Decisions[i].Place == window {
			l.Decisions[i].Place = 0xffffffff81000000
		}
	}
	stops, err := l.Stops(2)
	require.NoError(t, err)
	for _, p := range placesOf(stops) {
		assert.Less(t, p, uint64(userSpace))
	}
}

func TestPlacesHaveNames(t *testing.T) {
	program, err := exec.LookPath("go") // this test's own symbols are stripped
	require.NoError(t, err)
	f, err := elf.Open(program)
	require.NoError(t, err)
	defer f.Close()
	all, err := f.Symbols()
	require.NoError(t, err)
	i := slices.IndexFunc(all, func(x elf.Symbol) bool { return x.Name == "main.main" })
	require.GreaterOrEqual(t, i, 0)
	address := all[i].Value
	if f.Type == elf.ET_DYN {
		address += pieBase
	}
	s := symbolsOf(Header{Command: []string{"go", "version"}, FixedAddresses: true})
	assert.Equal(t, "main.main+0x4", s.name(address+4))
	assert.Equal(t, "0x10", s.name(16))
	assert.Equal(t, "0x7fffffff0000", s.name(0x7fffffff0000))
	assert.Equal(t, "0x401000", symbolsOf(Header{Command: []string{"/no/such"}}).name(0x401000))
	assert.Equal(t, "0x401000", symbolsOf(Header{}).name(0x401000))
}
