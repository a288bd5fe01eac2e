package recording

import (
	"math/bits"
	"math/rand/v2"
)

// spread is odd, and another one in each process, so that a recording cannot have ids that all want the same slot.
var spread = rand.Uint64() | 1

// ids numbers distinct ids in the order in which they are added, by open addressing: a chunk refers to its constants millions of
// times.
type ids struct {
	keys    []uint64
	numbers []int32 // from 1; 0 is a free slot
	size    int
	shift   uint8 // of a product, so that it is a slot
}

// add returns the number of an id, from 0, and whether it is new.
func (s *ids) add(id uint64) (number int, fresh bool) {
	if s.size*2 >= len(s.keys) {
		s.grow()
	}
	slot := s.slot(id)
	if n := s.numbers[slot]; n != 0 {
		return int(n - 1), false
	}
	s.size++
	s.keys[slot], s.numbers[slot] = id, int32(s.size)
	return s.size - 1, true
}

// find returns the number of an id, -1 if it was not added.
func (s *ids) find(id uint64) int {
	if s.size == 0 {
		return -1
	}
	return int(s.numbers[s.slot(id)]) - 1
}

// clear forgets all ids and keeps the room for them.
func (s *ids) clear() {
	if s.size > 0 {
		clear(s.numbers)
		s.size = 0
	}
}

func (s *ids) slot(id uint64) int {
	mask := len(s.keys) - 1
	slot := int(id * spread >> (s.shift & 63))
	for s.numbers[slot] != 0 && s.keys[slot] != id {
		slot = (slot + 1) & mask
	}
	return slot
}

func (s *ids) grow() {
	const least = 16
	old := *s
	size := max(least, 2*len(old.keys))
	s.keys, s.numbers, s.shift = make([]uint64, size), make([]int32, size), uint8(64-bits.TrailingZeros(uint(size)))
	for i, n := range old.numbers {
		if n != 0 {
			slot := s.slot(old.keys[i])
			s.keys[slot], s.numbers[slot] = old.keys[i], n
		}
	}
}
