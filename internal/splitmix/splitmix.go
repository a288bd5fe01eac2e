// Package splitmix mixes the bits of a number, for draws that depend on a seed and a place only.
package splitmix

// Mix is one step of splitmix64 (Steele, Lea, Flood 2014): numbers that differ by one give unrelated ones.
func Mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Draw returns the i-th number of a stream: Mix over the three, chained so that neither seeds nor indices that differ by one
// give related numbers.
func Draw(seed, stream, i uint64) uint64 {
	return Mix(Mix(Mix(seed)^stream) ^ i)
}
