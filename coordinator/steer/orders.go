package steer

import (
	"math/bits"

	"misstep/internal/splitmix"
)

// Streams separate the draws for different purposes. Package campaign has others.
const (
	streamOrder  = 0x6f726465
	streamChoice = 0x63686f69
)

// roundRobin visits every combination once per round.
type roundRobin struct {
	stateless
	seed, size uint64
}

func newRoundRobin(c Config) (Strategy, error) { return roundRobin{seed: c.Seed, size: c.Size}, nil }

// Choose implements Strategy. Each round has its own order, so that campaigns cut short in the middle of a round do not
// always miss the same combinations.
func (r roundRobin) Choose(index uint64) uint64 {
	return permute(index%r.size, r.size, splitmix.Draw(r.seed, streamOrder, index/r.size))
}

// random draws each trial's combination independently of all others.
type random struct {
	stateless
	seed, size uint64
}

func newRandom(c Config) (Strategy, error) { return random{seed: c.Seed, size: c.Size}, nil }

// Choose implements Strategy.
func (r random) Choose(index uint64) uint64 {
	k, _ := bits.Mul64(splitmix.Draw(r.seed, streamChoice, index), r.size) // in [0, size)
	return k
}

// permute maps [0, n) onto itself by a permutation that the key chooses: four Feistel rounds over the smallest even number of
// bits that holds n, repeated until the value is in the range (cycle walking: fewer than four repeats on average).
func permute(x, n, key uint64) uint64 {
	half := (bits.Len64(n-1) + 1) / 2
	if half == 0 {
		return 0
	}
	mask := uint64(1)<<half - 1
	for {
		l, r := x>>half, x&mask
		for round := range uint64(4) {
			l, r = r, l^(splitmix.Mix(key+round^splitmix.Mix(r))&mask)
		}
		if x = l<<half | r; x < n {
			return x
		}
	}
}
