package coordinator

import (
	"maps"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/internal/shorten"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

// liveTable holds what only matters while it is fresh: the progress of running trials and the time of each runner's last call.
// Nothing of it outlives the process. Coordinators of a shared store tell each other of runners, not of progress. Messages in it
// are never changed.
type liveTable struct {
	mu       sync.Mutex
	progress map[string]liveProgress // by lease
	runners  map[string]liveRunner   // by holder of leases
	others   map[string]liveRunner   // by holder of leases, those that call other coordinators
	swept    time.Time
	// wait is a moving average of how long calls took.
	wait time.Duration
}

type liveProgress struct {
	*misstepv1.Progress
	at time.Time
}

type liveRunner struct {
	reporter
	notReady string
	heldBack string
	at       time.Time
}

// saw records a runner's call and the progress it reported, deletes the progress of its withdrawn leases, and forgets the runners
// that have not called within the last period.
func (t *liveTable) saw(
	runner reporter, req *misstepv1.SynchronizeRequest, heldBack string, running map[string]*misstepv1.Progress,
	withdrawn []string, now time.Time, period time.Duration,
) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.progress == nil {
		t.progress, t.runners = map[string]liveProgress{}, map[string]liveRunner{}
	}
	t.runners[runner.holder()] = liveRunner{runner, shorten.To(req.GetNotReady(), maxLine), heldBack, now}
	for id, p := range running {
		t.progress[id] = liveProgress{p, now}
	}
	for _, id := range withdrawn {
		delete(t.progress, id)
	}
	t.sweep(now, period)
}

// sweep forgets what is old, once in each period. The caller holds t.mu.
func (t *liveTable) sweep(now time.Time, period time.Duration) {
	if now.Sub(t.swept) <= period {
		return
	}
	t.swept = now
	for id, p := range t.progress {
		if now.Sub(p.at) > 2*period {
			delete(t.progress, id)
		}
	}
	for id, r := range t.runners {
		if now.Sub(r.at) > period {
			delete(t.runners, id)
		}
	}
}

// own returns the runners that call this coordinator.
func (t *liveTable) own(now time.Time, period time.Duration) []*misstepv1.RunnerStatus {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sweep(now, period)
	return statuses(t.runners)
}

func statuses(runners map[string]liveRunner) []*misstepv1.RunnerStatus {
	all := make([]*misstepv1.RunnerStatus, 0, len(runners))
	for _, r := range runners {
		all = append(all, &misstepv1.RunnerStatus{
			Runner: r.Runner, Owner: r.owner, LastCall: timestamppb.New(r.at), NotReady: r.notReady, HeldBack: r.heldBack,
		})
	}
	return all
}

// heard replaces what is known of the runners of other coordinators than the one with id self.
func (t *liveTable) heard(self string, all *misstepv1.Coordinators) {
	others := map[string]liveRunner{}
	for id, c := range all.GetById() {
		if id == self {
			continue
		}
		for _, r := range c.GetRunners() {
			runner := reporter{Runner: r.GetRunner(), owner: r.GetOwner()}
			if at := r.GetLastCall().AsTime(); at.After(others[runner.holder()].at) {
				others[runner.holder()] = liveRunner{runner, r.GetNotReady(), r.GetHeldBack(), at}
			}
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.others = others
}

// all returns the runners of all coordinators, each with its last call. The caller holds t.mu.
func (t *liveTable) all() map[string]liveRunner {
	all := maps.Clone(t.others)
	if all == nil {
		all = map[string]liveRunner{}
	}
	for id, r := range t.runners {
		if r.at.After(all[id].at) {
			all[id] = r
		}
	}
	return all
}

// waited records how long a call took and returns the average of about the last hundred.
func (t *liveTable) waited(d time.Duration) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wait += (d - t.wait) / 64
	return t.wait
}

// Capable implements view.Fleet.
func (t *liveTable) Capable(need recipe.Capability) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, runners := range []map[string]liveRunner{t.runners, t.others} {
		for _, r := range runners {
			if need.MetBy(r.GetCapabilities()) {
				return true
			}
		}
	}
	return false
}

// Runners implements view.Fleet.
func (t *liveTable) Runners() []*misstepv1.RunnerStatus {
	t.mu.Lock()
	defer t.mu.Unlock()
	return statuses(t.all())
}

// lacks reports whether runners called recently and none of them has a capability.
func (t *liveTable) lacks(need recipe.Capability) bool {
	t.mu.Lock()
	known := len(t.runners)+len(t.others) > 0
	t.mu.Unlock()
	return known && !t.Capable(need)
}

// Progress implements view.Fleet.
func (t *liveTable) Progress(lease string) *misstepv1.Progress {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.progress[lease].Progress
}
