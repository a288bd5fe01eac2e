// Package splitmix mixes the bits of a number, for draws that depend on a seed and a place only.
package splitmix

// Mix is one step of splitmix64 (Steele, Lea, Flood 2014): numbers that differ by one give unrelated ones.
func Mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
