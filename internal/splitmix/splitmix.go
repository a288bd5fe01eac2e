// Package splitmix mixes the bits of numbers, for draws that depend only on a seed and a position.
package splitmix

// Mix is one step of splitmix64 (Steele, Lea, Flood 2014): inputs that differ by one give unrelated results.
func Mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Draw returns the i-th number of a stream. Mix is applied to seed, stream and index in a chain, so that neither seeds nor indices
// that differ by one give related numbers.
func Draw(seed, stream, i uint64) uint64 {
	return Mix(Mix(Mix(seed)^stream) ^ i)
}
