// Package batch makes many small updates of a store into few transactions (group commit): updates that wait run one after the other
// in one transaction, each as if it were alone, and are answered when that transaction is durable.
//
// A Store passes storetest's suite: updates stay serial, and one that fails leaves nothing, while the others of its transaction
// stay. Nobody waits for company: the first update of an idle store starts at once, and those that arrive meanwhile are the next
// transaction.
package batch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"misstep/coordinator/store"
)

// Limit is the greatest number of updates in one transaction, and Longest how long updates are added to one. They bound how long
// one of them waits for the others: those of a fleet that comes back take longer than those of one that works.
const (
	Limit   = 1024
	Longest = 250 * time.Millisecond
)

// errAborted answers the updates of a transaction that another one left by runtime.Goexit.
var errAborted = errors.New("an update that shared the transaction left its goroutine")

// errAgain rolls the transaction back to run its updates again without one that cannot be undone by itself.
var errAgain = errors.New("run the other updates again")

// Store is a store whose updates share transactions. It is safe for concurrent use.
type Store struct {
	store.Store
	// Committed, unless nil, is called after each transaction that is durable, with the number of its updates. It is set before the
	// first call.
	Committed func(updates int)
	// Clock returns the time, in which updates arrive; nil is time.Now. It is set before the first call.
	Clock func() time.Time
	// Longest in place of the usual one, unless it is 0. It is set before the first call.
	Longest time.Duration
	// begin is called before each transaction and returns what runs first in it.
	begin func(arrived time.Time) func(store.Tx) error

	mu sync.Mutex
	// waiting updates, in the order of their arrival; guarded by mu.
	waiting []*update
	// working is true while a goroutine works them off; guarded by mu.
	working bool
}

// New returns a store above another one, which it owns. begin, unless nil, is called before each transaction is asked for, which
// may take long, with the time at which its first update arrived: no update that waits arrived earlier. It returns what runs first
// in the transaction, several times if need be; an error of that is one of all updates of the transaction.
func New(below store.Store, begin func(arrived time.Time) func(store.Tx) error) *Store {
	if begin == nil {
		begin = func(time.Time) func(store.Tx) error { return func(store.Tx) error { return nil } }
	}
	return &Store{Store: below, begin: begin}
}

// update is a call of Update.
type update struct {
	ctx     context.Context //nolint:containedctx // of the call that waits for it
	arrived time.Time
	// runner whose leases it will read, if any.
	runner string
	run    func(store.Tx) error
	// taken is set by whoever comes first: the goroutine that runs it, or its caller, who stops waiting.
	taken atomic.Bool
	done  chan struct{}
	// answered is true once done is closed; only the goroutine that runs it uses it.
	answered bool
	// The rest is set before done is closed. failed is true when the update itself failed: with err, or with a panic.
	failed   bool
	err      error
	panicked any
}

// Update implements store.Store. An update whose context ends before it starts does not run; one that has started is waited for.
// f may run several times, if transactions fail; only the last run counts.
func (s *Store) Update(ctx context.Context, f func(store.Tx) error) error {
	return s.UpdateFor(ctx, "", f)
}

// UpdateFor is Update for an f that reads the leases of a runner: those of all updates in a transaction are read at once.
func (s *Store) UpdateFor(ctx context.Context, runner string, f func(store.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	u := &update{ctx: ctx, runner: runner, run: f, done: make(chan struct{})}
	s.mu.Lock()
	u.arrived = s.now()
	s.waiting = append(s.waiting, u)
	if !s.working {
		s.working = true
		go s.work()
	}
	s.mu.Unlock()
	select {
	case <-u.done:
	case <-ctx.Done():
		if u.taken.CompareAndSwap(false, true) {
			return ctx.Err()
		}
		<-u.done
	}
	if u.panicked != nil {
		panic(u.panicked)
	}
	return u.err
}

func (s *Store) now() time.Time {
	if s.Clock == nil {
		return time.Now()
	}
	return s.Clock()
}

// work runs transactions until nothing waits.
func (s *Store) work() {
	for {
		s.mu.Lock()
		n := min(len(s.waiting), Limit)
		if n == 0 {
			s.working, s.waiting = false, nil
			s.mu.Unlock()
			return
		}
		next := s.waiting[:n:n]
		s.waiting = s.waiting[n:]
		s.mu.Unlock()
		s.transact(next)
	}
}

// transact runs updates in as few transactions as possible and answers them.
func (s *Store) transact(all []*update) {
	todo := make([]*update, 0, len(all))
	for _, u := range all {
		if u.taken.CompareAndSwap(false, true) {
			todo = append(todo, u)
		}
	}
	returned := false
	defer func() {
		if returned {
			return
		}
		for _, u := range todo {
			if !u.answered {
				u.err = errAborted
				u.answer()
			}
		}
		go s.work() // this goroutine ends: a test failed, for example
	}()
	s.commit(todo)
	returned = true
}

// commit runs updates in one transaction, or in several when that takes too long or one of them spoils it. Those of a transaction
// are answered at its end.
func (s *Store) commit(todo []*update) {
	for len(todo) > 0 {
		n, err := s.once(todo)
		if errors.Is(err, errAgain) {
			for _, u := range todo {
				if u.failed {
					u.answer()
				}
			}
			todo = unfailed(todo)
			continue
		}
		ran := todo[:n]
		todo = todo[n:]
		if errors.Is(err, store.ErrExists) && n > 1 {
			// One of them made a row that another coordinator or a user made, too. Alone it fails alone.
			for _, u := range ran {
				s.commit([]*update{u})
			}
			continue
		}
		for _, u := range ran {
			if !u.failed {
				u.err = err
			}
			u.answer()
		}
	}
}

// once runs updates in one transaction, those that there is time for. It returns their number, which is that of all after an error.
func (s *Store) once(todo []*update) (n int, err error) {
	first := s.begin(todo[0].arrived)
	ctx, release := contextOf(todo)
	defer release()
	err = s.Store.Update(ctx, func(tx store.Tx) (err error) {
		n, err = apply(ctx, tx, first, todo, cmp.Or(s.Longest, Longest))
		return err
	})
	if err != nil {
		return len(todo), err
	}
	if s.Committed != nil {
		s.Committed(n)
	}
	return n, nil
}

// contextOf returns a context that ends when those of all updates have ended: none of them ends the transaction of the others, but
// one that nobody waits for need not wait for a store that is away. The caller releases it.
func contextOf(todo []*update) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(todo[0].ctx))
	var left atomic.Int64
	left.Store(int64(len(todo)))
	stops := make([]func() bool, len(todo))
	for i, u := range todo {
		stops[i] = context.AfterFunc(u.ctx, func() {
			if left.Add(-1) == 0 {
				cancel()
			}
		})
	}
	return ctx, func() {
		for _, stop := range stops {
			stop()
		}
		cancel()
	}
}

// answer lets the caller go on.
func (u *update) answer() {
	u.answered = true
	close(u.done)
}

func unfailed(all []*update) []*update {
	var rest []*update
	for _, u := range all {
		if !u.failed {
			rest = append(rest, u)
		}
	}
	return rest
}

// apply runs updates in a transaction until longest has passed, and returns their number: at least one. It ends when nobody waits
// for the transaction any more.
func apply(
	ctx context.Context, tx store.Tx, first func(store.Tx) error, todo []*update, longest time.Duration,
) (n int, err error) {
	began := time.Now()
	o := newOverlay(tx, len(todo) == 1)
	runners := make([]string, 0, len(todo))
	for _, u := range todo {
		u.failed, u.err, u.panicked = false, nil, nil
		runners = append(runners, u.runner)
	}
	if err := o.preload(runners); err != nil {
		return 0, err
	}
	if err := first(o); err != nil {
		return 0, err
	}
	o.keep()
	for n < len(todo) && (n == 0 || time.Since(began) < longest) {
		if err := ctx.Err(); err != nil {
			return n, fmt.Errorf("nobody waits for the transaction any more: %w", err)
		}
		u := todo[n]
		n++
		err := u.in(o)
		switch {
		case o.broken != nil:
			u.failed, u.panicked = false, nil
			return n, o.broken
		case !u.failed:
			o.keep()
		case !o.drop():
			return n, errors.Join(errAgain, err)
		}
	}
	return n, o.flush()
}

// in runs the update.
func (u *update) in(tx store.Tx) (err error) {
	u.failed = true // unless run returns nil
	defer func() {
		u.panicked = recover()
		u.err = err
	}()
	err = u.run(tx)
	u.failed = err != nil
	return err
}
