package coordinator

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/coordinator/rates"
	"misstep/coordinator/store"
	"misstep/coordinator/trust"
	misstepv1 "misstep/proto/misstep/v1"
)

// setAsideState is the name under which the store keeps SetAside.
const setAsideState = "set-aside"

// trustTable compares the owners of runners and knows those that are set aside. What it compares does not outlive the process; who
// is set aside stays so until an admin says otherwise.
type trustTable struct {
	mu    sync.Mutex
	judge *trust.Judge
	aside map[string]*misstepv1.OwnerSetAside // by owner
}

func (t *trustTable) reason(owner string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.aside[owner].GetReason()
}

func (t *trustTable) isAside(owner string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.aside[owner] != nil
}

// load takes over what coordinators have stored.
func (t *trustTable) load(tx store.Tx) error {
	all, err := setAside(tx)
	if err != nil {
		return err
	}
	t.take(all)
	return nil
}

// take replaces those that are set aside; of new ones, what was compared is forgotten.
func (t *trustTable) take(all *misstepv1.SetAside) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for owner := range all.GetByOwner() {
		if t.aside[owner] == nil {
			t.judge.Forget(owner)
		}
	}
	t.aside = all.GetByOwner()
}

// hear compares results of an owner, which are durable, and returns the last accusation.
func (t *trustTable) hear(owner string, all []heard) (accused *trust.Accusation) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.aside[owner] != nil {
		return nil // its last results are not compared with the others
	}
	for _, h := range all {
		if a := t.judge.Add(owner, h.combination, h.class); a != nil {
			accused = a
		}
	}
	return accused
}

func setAside(tx store.Tx) (*misstepv1.SetAside, error) {
	raw, err := tx.WorkerState(setAsideState)
	if err != nil {
		return nil, err
	}
	all := &misstepv1.SetAside{}
	if err := proto.Unmarshal(raw, all); err != nil {
		return nil, fmt.Errorf("read which owners of runners are set aside: %w", err)
	}
	return all, nil
}

// changeAside changes who is set aside, in the store and then here.
func (s *Server) changeAside(ctx context.Context, change func(map[string]*misstepv1.OwnerSetAside, time.Time) error) error {
	var all *misstepv1.SetAside
	err := s.updateWhole(ctx, func(tx store.Tx, now time.Time) (err error) {
		if all, err = setAside(tx); err != nil {
			return err
		}
		if all.ByOwner == nil {
			all.ByOwner = map[string]*misstepv1.OwnerSetAside{}
		}
		if err := change(all.GetByOwner(), now); err != nil {
			return err
		}
		raw, err := proto.Marshal(all)
		if err != nil {
			return fmt.Errorf("write which owners of runners are set aside: %w", err)
		}
		return tx.PutWorkerState(setAsideState, raw)
	})
	if err != nil {
		return err
	}
	s.trust.take(all)
	return nil
}

// heard is what a result says about who reported it.
type heard struct {
	combination string
	class       trust.Class
}

// heardOf returns what is compared of a result; false when nothing is.
func heardOf(l *store.Lease, r report, refused string) (heard, bool) {
	c := rates.CombinationOf(l.Job.Campaign, l.Recipe)
	h := heard{combination: strings.Join([]string{
		c.Campaign, c.JDK, c.Workload, c.FlagSet, c.Checks, c.Perturbation, c.Ratio, c.Interval, c.Profiler,
	}, "\x00")}
	switch f := r.GetFailure(); {
	case refused != "", f != nil && !f.GetInterrupted():
		h.class = trust.Failed
	case r.outcome == nil:
		return heard{}, false
	case len(r.hits) > 0:
		h.class = trust.Finding
	case r.outcome.GetKind() == misstepv1.OutcomeKind_OUTCOME_KIND_VOID,
		r.outcome.GetKind() == misstepv1.OutcomeKind_OUTCOME_KIND_APPLICATION_FAILURE:
		h.class = trust.Unproved
	}
	return h, true
}

// compare holds the results of a call against those of other owners.
func (s *Server) compare(ctx context.Context, runner reporter, all []heard) {
	if !runner.known() || len(all) == 0 {
		return
	}
	a := s.trust.hear(runner.owner, all)
	if a == nil {
		return
	}
	s.config.Logger.WarnContext(ctx, "an owner of runners disagrees with the others and gets no more leases",
		slog.String("owner", runner.owner), slog.String("why", a.String()))
	err := s.changeAside(context.WithoutCancel(ctx), func(all map[string]*misstepv1.OwnerSetAside, now time.Time) error {
		all[runner.owner] = &misstepv1.OwnerSetAside{Reason: a.String(), At: timestamppb.New(now)}
		return nil
	})
	if err != nil { // it will disagree again
		s.config.Logger.ErrorContext(ctx, "an owner of runners is not set aside", slog.Any("error", err))
	}
}

// TrustOwner implements the AdminService.
func (s *Server) TrustOwner(ctx context.Context, req *misstepv1.TrustOwnerRequest) (*misstepv1.TrustOwnerResponse, error) {
	err := s.changeAside(ctx, func(all map[string]*misstepv1.OwnerSetAside, _ time.Time) error {
		if all[req.GetOwner()] == nil {
			return status.Errorf(codes.NotFound, "owner %q is not set aside; `misstep runners` lists the owners", clip(req.GetOwner()))
		}
		delete(all, req.GetOwner())
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &misstepv1.TrustOwnerResponse{}, nil
}
