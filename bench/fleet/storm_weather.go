package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// weather is how a fleet fared around a storm: those of its runners that stay.
type weather struct {
	// Before and After are results a second in the quiet time before and once all is back; P99Before the 99th percentile of calls.
	Before, After float64
	P99Before     float64
	// Silence is the longest time without a result, and Beyond what of it the outage does not explain, in seconds.
	Silence, Beyond float64
	// RateBack and P99Back are the seconds from the end of the storm until the rate, and the 99th percentile, were as before; what
	// was watched, and more, when they were not.
	RateBack, P99Back float64
	// Patience are the seconds within which both should be back: twice the length of the storm.
	Patience float64
	// Returned are results of the runners that came back.
	Returned uint64
}

func (w weather) String() string {
	return fmt.Sprintf("%.0f results a second, longest without %.1f s (%.1f beyond the outage), rate back after %.1f s, p99 "+
		"(%.0f ms) after %.1f s of %.0f, %d results of those that came back", w.Before, w.Silence, w.Beyond, w.RateBack,
		1000*w.P99Before, w.P99Back, w.Patience, w.Returned)
}

// lengthOf is the length of a storm, for how long it may take until all is back: at least the lease time of runners that were lost.
func (s *stormScene) lengthOf(begin, end time.Time, outage time.Duration) time.Duration {
	if outage > 0 {
		return outage
	}
	return max(end.Sub(begin), s.lease)
}

// recover watches until all is back after a storm, or for as long as that may take and some seconds more.
func (s *stormScene) recover(ctx context.Context, begin, end time.Time, outage time.Duration) (weather, error) {
	patience := max(2*s.lengthOf(begin, end, outage), leastLength)
	for {
		if err := s.watch(ctx, time.Second); err != nil {
			return weather{}, err
		}
		w := weatherOf(s.crew.all, s.quiet, begin, end, outage)
		w.Patience = patience.Seconds()
		watched := time.Since(end)
		if w.RateBack >= 0 && w.P99Back >= 0 || watched > patience+backWindow*time.Second {
			if w.RateBack < 0 {
				w.RateBack = watched.Seconds()
			}
			if w.P99Back < 0 {
				w.P99Back = watched.Seconds()
			}
			return w, nil
		}
	}
}

// backWindow is the number of seconds over which the rate and the percentile are taken.
const backWindow = 3

// weatherOf returns the weather around a storm; times until all is back are -1 when it is not.
func weatherOf(all []second, quiet time.Duration, begin, end time.Time, outage time.Duration) weather {
	before := between(all, begin.Add(-quiet), begin)
	w := weather{Before: rate(before), RateBack: -1, P99Back: -1}
	var normal []time.Duration
	for _, s := range before {
		normal = append(normal, s.P99)
	}
	slices.Sort(normal)
	var limit time.Duration
	if len(normal) > 0 {
		w.P99Before = normal[len(normal)/2].Seconds()
		limit = max(2*normal[len(normal)/2], normal[len(normal)-1])
	}
	w.Silence = longestSilence(all, begin).Seconds()
	w.Beyond = max(0, w.Silence-outage.Seconds())
	for _, s := range all {
		if s.At >= begin.Unix() {
			w.Returned += s.Results[returning]
		}
	}
	after := between(all, end, time.Unix(1<<40, 0))
	for i := 0; i+backWindow <= len(after); i++ {
		window := after[i : i+backWindow]
		since := max(0, time.Unix(window[0].At, 0).Sub(end).Seconds())
		if w.RateBack < 0 && rate(window) >= 0.8*w.Before {
			w.RateBack, w.After = since, rate(window)
		}
		if w.P99Back < 0 && !slices.ContainsFunc(window, func(s second) bool { return s.P99 > limit }) {
			w.P99Back = since
		}
	}
	return w
}

// between returns the seconds that begin from a time on and end by another, those without a call included.
func between(all []second, from, to time.Time) (part []second) {
	if len(all) == 0 {
		return nil
	}
	byNumber := map[int64]second{}
	for _, s := range all {
		byNumber[s.At] = s
	}
	for at := from.Unix() + 1; at < to.Unix() && at <= all[len(all)-1].At; at++ {
		s := byNumber[at]
		s.At = at
		part = append(part, s)
	}
	return part
}

// rate is the number of results a second of the group that stays.
func rate(all []second) float64 {
	var n uint64
	for _, s := range all {
		n += s.Results[staying]
	}
	return float64(n) / float64(max(1, len(all)))
}

// longestSilence is the longest time without a result of the group that stays, from a time on, to a tenth of a second.
func longestSilence(all []second, from time.Time) (longest time.Duration) {
	last := from
	for _, s := range all {
		for i, n := range s.Tenths {
			at := time.Unix(s.At, int64(i)*100_000_000)
			if n == 0 || at.Before(from) {
				continue
			}
			longest = max(longest, at.Sub(last)-100*time.Millisecond)
			last = at
		}
	}
	if len(all) > 0 {
		longest = max(longest, time.Unix(all[len(all)-1].At+1, 0).Sub(last)-100*time.Millisecond)
	}
	return longest
}

// load is the load average of the last minute, empty where it is unknown.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}
