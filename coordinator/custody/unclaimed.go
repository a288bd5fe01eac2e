package custody

import (
	"sync"
	"time"

	misstepv1 "misstep/proto/misstep/v1"
)

// Unclaimed counts, by owner, the bytes that runners wrote on a day in UTC and that no outcome has named: a runner that writes for
// ever and reports nothing costs that much a day and no more. It is kept in memory, for the runners that call this coordinator; a
// restart begins anew. It is safe for concurrent use; nil bounds nothing.
//
// An outcome that names a blob twice, or one of another day, takes more off than was counted. Whoever does that has it counted by
// the quotas of the campaigns instead.
type Unclaimed struct {
	most  uint64
	clock func() time.Time

	mu  sync.Mutex
	day time.Time
	by  map[string]uint64
}

// NewUnclaimed bounds what each owner may leave unclaimed on a day, in bytes.
func NewUnclaimed(most uint64, clock func() time.Time) *Unclaimed {
	return &Unclaimed{most: most, clock: clock}
}

// Take reports whether an owner may write n bytes more, and counts them.
func (u *Unclaimed) Take(owner string, n uint64) bool {
	if u == nil {
		return true
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if day := u.clock().UTC().Truncate(24 * time.Hour); !day.Equal(u.day) {
		u.day, u.by = day, map[string]uint64{}
	}
	if before := u.by[owner]; before > u.most || n > u.most-before {
		return false
	}
	u.by[owner] += n
	return true
}

// Claim takes off what a recorded outcome of the owner's names.
func (u *Unclaimed) Claim(owner string, all []*misstepv1.Evidence) {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, e := range all {
		if left := u.by[owner]; left > e.GetSize() {
			u.by[owner] -= e.GetSize()
		} else {
			delete(u.by, owner)
		}
	}
}
