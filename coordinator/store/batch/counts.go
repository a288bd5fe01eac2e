package batch

// counts are numbers of rows by campaign: those below with the changes that are held back.
type counts struct {
	journal *journal
	read    func(campaign string) (uint64, error)
	below   map[string]uint64
	changes map[string]int64
}

func newCounts(j *journal, read func(string) (uint64, error)) counts {
	return counts{journal: j, read: read, below: map[string]uint64{}, changes: map[string]int64{}}
}

func (c *counts) add(campaign string, by int64) {
	c.changes[campaign] += by
	c.journal.note(func() { c.changes[campaign] -= by })
}

func (c *counts) of(campaign string) (uint64, error) {
	n, known := c.below[campaign]
	if !known {
		var err error
		if n, err = c.read(campaign); err != nil {
			return 0, err
		}
		c.below[campaign] = n
	}
	return uint64(max(0, int64(n)+c.changes[campaign])), nil // both are far below the limits of their types
}

// written notes that the changes are now in the store below.
func (c *counts) written() {
	for campaign, by := range c.changes {
		if n, known := c.below[campaign]; known {
			c.below[campaign] = uint64(max(0, int64(n)+by))
		}
	}
	clear(c.changes)
}
