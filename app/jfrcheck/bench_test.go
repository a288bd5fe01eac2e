package jfrcheck

import (
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"testing"
	"time"

	"misstep/runner/recording"
)

// BenchmarkSamples is what a sample costs besides its reading: a chunk of 100,000 samples with 1,000 stacks of 50 frames.
func BenchmarkSamples(b *testing.B) {
	const perChunk, stacks, depth = 100_000, 1000, 50
	random := rand.New(rand.NewPCG(1, 2))
	methods := make([]*recording.Method, 500)
	for i := range methods {
		methods[i] = method("p.Main", fmt.Sprint("m", i), 9)
	}
	for name, list := range map[string]func() []consumer{
		"check": func() []consumer {
			return []consumer{newChunkOrder(), newFrames(), newSites(), &topped{newSamples(), 8}}
		},
		"diff": func() []consumer { return []consumer{&profiles{of: map[string]*profile{}, seed: maphash.MakeSeed()}} },
	} {
		b.Run(name, func(b *testing.B) {
			consumers := list()
			var events []*recording.Event
			for i := range b.N {
				if i%perChunk == 0 {
					events = events[:0]
					for range stacks {
						s := &recording.Stack{}
						for range depth {
							m := methods[random.IntN(len(methods))]
							s.Frames = append(s.Frames, recording.Frame{Method: m, BCI: 5, Line: 7})
						}
						events = append(events, event(0, s))
					}
					for _, c := range consumers {
						_ = c.Visit(chunk(i / perChunk))
					}
				}
				e := *events[i%stacks]
				e.StartNanos += int64(time.Duration(i) * time.Millisecond)
				for _, c := range consumers {
					_ = c.Visit(&e)
				}
			}
		})
	}
}
