package custody

import (
	"fmt"
	"sync"
	"time"

	"github.com/dustin/go-humanize"

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

// Shortage is why an owner may write no more evidence.
type Shortage struct {
	// Used bytes are unclaimed, of the Most that an owner may leave so on a day, which ends at Until.
	Used, Most uint64
	Until      time.Time
}

func (s *Shortage) String() string {
	return fmt.Sprintf("%s of the %s of evidence that an owner may write on a day without an outcome that names it are used "+
		"(misstep coordinator --owner-unclaimed): it is counted anew at %s; find out why the outcomes do not arrive, or raise the "+
		"limit", humanize.IBytes(s.Used), humanize.IBytes(s.Most), s.Until.Format("2006-01-02 15:04 MST"))
}

// Short returns a shortage if an owner may not write n bytes more, else nil.
func (u *Unclaimed) Short(owner string, n uint64) *Shortage {
	if u == nil {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.short(owner, n)
}

// short is Short, and forgets what was counted on another day. The caller holds u.mu.
func (u *Unclaimed) short(owner string, n uint64) *Shortage {
	if day := u.clock().UTC().Truncate(24 * time.Hour); !day.Equal(u.day) {
		u.day, u.by = day, map[string]uint64{}
	}
	used := u.by[owner]
	if used <= u.most && n <= u.most-used {
		return nil
	}
	return &Shortage{Used: used, Most: u.most, Until: u.day.Add(24 * time.Hour)}
}

// Take counts n bytes that an owner writes, unless it may not write as many: then it returns the shortage.
func (u *Unclaimed) Take(owner string, n uint64) *Shortage {
	if u == nil {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	short := u.short(owner, n)
	if short == nil {
		u.by[owner] += n
	}
	return short
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
