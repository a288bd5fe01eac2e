package jfrcheck

// blockCount is the number of blocks of time in which the samples of a recording are counted, between half and all of it in use.
const blockCount = 64

// blocks counts samples by blocks of time. Stacks next to each other in time are alike, so that samples are not independent, while
// blocks that are long enough nearly are: their counts say how much a share varies (batch means). How long a recording is becomes
// known at its end; a block gets twice as long when there are too many.
type blocks struct {
	origin, width int64 // in nanoseconds; width 0 before the first sample
	count         int   // of blocks in use
	all           [blockCount]uint32
	// shift is how often the width was doubled, by which counts of others are brought up to date.
	shift uint
}

// firstWidth is the length of a block at first.
const firstWidth = int64(100_000_000)

// counts are those of one thing by block, as of a shift.
type counts struct {
	in    [blockCount]uint32
	shift uint
	total uint64
}

// at returns the number of the block at a time. Times before the first one, which chunks may have in them, are in the first block.
func (b *blocks) at(nanos int64) int {
	if b.width == 0 {
		b.origin, b.width = nanos, firstWidth
	}
	for max(nanos-b.origin, 0)/b.width >= blockCount {
		b.width *= 2
		b.shift++
		halve(&b.all)
		b.count = (b.count + 1) / 2
	}
	number := int(max(nanos-b.origin, 0) / b.width)
	b.count = max(b.count, number+1)
	return number
}

// halve adds up pairs of blocks.
func halve(in *[blockCount]uint32) {
	for i := range blockCount / 2 {
		in[i] = in[2*i] + in[2*i+1]
	}
	clear(in[blockCount/2:])
}

// add counts one in a block.
func (c *counts) add(b *blocks, block int) {
	c.update(b)
	c.in[block]++
	c.total++
}

// update brings the counts to the blocks' width.
func (c *counts) update(b *blocks) {
	for c.shift < b.shift {
		halve(&c.in)
		c.shift++
	}
}
