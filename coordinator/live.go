package coordinator

import (
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

// liveTable holds what only matters while it is fresh and is not stored: the progress of running trials and the time of each
// runner's last call. Messages in it are never changed.
type liveTable struct {
	mu       sync.Mutex
	progress map[string]liveProgress // by lease
	runners  map[string]liveRunner   // by runner
	swept    time.Time
}

type liveProgress struct {
	*misstepv1.Progress
	at time.Time
}

type liveRunner struct {
	*misstepv1.Runner
	at time.Time
}

// saw records a runner's call and the progress it reported, deletes the progress of its withdrawn leases, and returns the number of
// runners that called within the last period.
func (t *liveTable) saw(
	runner *misstepv1.Runner, running map[string]*misstepv1.Progress, withdrawn []string, now time.Time, period time.Duration,
) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.progress == nil {
		t.progress, t.runners = map[string]liveProgress{}, map[string]liveRunner{}
	}
	t.runners[runner.GetId()] = liveRunner{runner, now}
	for id, p := range running {
		t.progress[id] = liveProgress{p, now}
	}
	for _, id := range withdrawn {
		delete(t.progress, id)
	}
	if now.Sub(t.swept) > period {
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
	return len(t.runners)
}

// Capable implements view.Fleet.
func (t *liveTable) Capable(need recipe.Capability) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, r := range t.runners {
		if need.MetBy(r.GetCapabilities()) {
			return true
		}
	}
	return false
}

// Runners implements view.Fleet.
func (t *liveTable) Runners() []*misstepv1.RunnerStatus {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make([]*misstepv1.RunnerStatus, 0, len(t.runners))
	for _, r := range t.runners {
		all = append(all, &misstepv1.RunnerStatus{Runner: r.Runner, LastCall: timestamppb.New(r.at)})
	}
	return all
}

// lacks reports whether runners called recently and none of them has a capability.
func (t *liveTable) lacks(need recipe.Capability) bool {
	t.mu.Lock()
	known := len(t.runners) > 0
	t.mu.Unlock()
	return known && !t.Capable(need)
}

// Progress implements view.Fleet.
func (t *liveTable) Progress(lease string) *misstepv1.Progress {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.progress[lease].Progress
}
