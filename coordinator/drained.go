package coordinator

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/coordinator/access"
	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

// drainedState is the name under which the store keeps DrainedRunners.
const drainedState = "drained-runners"

// maxDrain is how long a runner is asked to exit; the ids of runners do not come back.
const maxDrain = 7 * 24 * time.Hour

// drainedTable knows the runners that are to exit, as the store has them.
type drainedTable struct {
	mu  sync.Mutex
	all map[string]*misstepv1.DrainedRunner // by holder; guarded by mu, what is in it is never changed
}

// of returns who drains a runner; nil when nobody does.
func (t *drainedTable) of(holder string) *misstepv1.DrainedRunner {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all[holder]
}

func (t *drainedTable) take(all *misstepv1.DrainedRunners) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = all.GetByHolder()
}

// load takes over what coordinators have stored.
func (t *drainedTable) load(tx store.Tx) error {
	all, err := drained(tx)
	if err == nil {
		t.take(all)
	}
	return err
}

func drained(tx store.Tx) (*misstepv1.DrainedRunners, error) {
	raw, err := tx.WorkerState(drainedState)
	if err != nil {
		return nil, err
	}
	all := &misstepv1.DrainedRunners{}
	if err := proto.Unmarshal(raw, all); err != nil {
		return nil, fmt.Errorf("read which runners are drained: %w", err)
	}
	if all.ByHolder == nil {
		all.ByHolder = map[string]*misstepv1.DrainedRunner{}
	}
	return all, nil
}

// DrainRunner implements the AdminService.
func (s *Server) DrainRunner(ctx context.Context, req *misstepv1.DrainRunnerRequest) (*misstepv1.DrainRunnerResponse, error) {
	var callers []*misstepv1.RunnerStatus
	for _, r := range s.live.Runners() {
		if req.GetOwner() == "" || req.GetOwner() == r.GetOwner() {
			callers = append(callers, r)
		}
	}
	named := func(r *misstepv1.RunnerStatus) bool { return r.GetRunner().GetId() == req.GetRunnerId() }
	if slices.ContainsFunc(callers, named) { // others' ids may begin with it
		callers = slices.DeleteFunc(callers, func(r *misstepv1.RunnerStatus) bool { return !named(r) })
	}
	id := func(r *misstepv1.RunnerStatus) string { return r.GetRunner().GetId() }
	runner, err := only(callers, "runner", req.GetRunnerId(), id)
	if err != nil {
		return nil, err
	}
	holder := store.Holder(runner.GetOwner(), runner.GetRunner().GetId())
	var all *misstepv1.DrainedRunners
	err = s.updateWhole(ctx, func(tx store.Tx, now time.Time) (err error) {
		if all, err = drained(tx); err != nil {
			return err
		}
		old := func(_ string, d *misstepv1.DrainedRunner) bool { return now.Sub(d.GetAt().AsTime()) > maxDrain }
		maps.DeleteFunc(all.GetByHolder(), old)
		if req.GetUndo() {
			delete(all.GetByHolder(), holder)
		} else {
			all.GetByHolder()[holder] = &misstepv1.DrainedRunner{By: access.From(ctx).Name, At: timestamppb.New(now)}
		}
		raw, err := proto.Marshal(all)
		if err != nil {
			return fmt.Errorf("write which runners are drained: %w", err)
		}
		return tx.PutWorkerState(drainedState, raw)
	})
	if err != nil {
		return nil, err
	}
	s.drained.take(all)
	return &misstepv1.DrainRunnerResponse{RunnerId: runner.GetRunner().GetId()}, nil
}
