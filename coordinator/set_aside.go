package coordinator

import (
	"context"
	"errors"
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

// trustTable compares the owners of runners and knows those that are set aside, who stay so until an admin says otherwise. Of what
// it compares, the results of trials that were repeated outlive the process, as they are few; the others do not.
type trustTable struct {
	mu    sync.Mutex
	judge *trust.Judge
	pairs *trust.Pairs
	aside map[string]*misstepv1.OwnerSetAside // by owner
	// stored is when the pairs were last stored.
	stored time.Time
}

func newTrustTable() trustTable {
	p := trust.DefaultPolicy()
	return trustTable{judge: trust.New(p), pairs: trust.NewPairs(p, maxFacts())}
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
			t.pairs.Forget(owner)
		}
	}
	t.aside = all.GetByOwner()
}

// hear compares results of an owner, which are durable, and returns why owners are accused.
func (t *trustTable) hear(owner string, all []heard) map[string]string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.aside[owner] != nil {
		return nil // its last results are not compared with the others
	}
	accused := map[string]string{}
	for _, h := range all {
		if a := t.judge.Add(owner, h.combination, h.class); a != nil {
			accused[a.Owner] = a.String()
		}
		if h.first == nil || h.first.GetOwner() == "" || t.aside[h.first.GetOwner()] != nil {
			continue
		}
		for _, c := range t.pairs.Add(h.first.GetOwner(), owner, h.first.GetFacts(), h.facts) {
			accused[c.Owner] = c.String()
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
		return errors.Join(tx.PutWorkerState(setAsideState, raw), forgetPairs(tx, all.GetByOwner()))
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
	// first is the earlier result of the trial, and facts are those of this one; nil and none for a trial that ran once.
	first *misstepv1.Repetition
	facts []string
}

// heardOf returns what is compared of a result; false when nothing is.
func heardOf(l *store.Lease, r report, refused string) (heard, bool) {
	campaign, _ := store.Repeated(l.Job.Campaign)
	c := rates.CombinationOf(campaign, l.Recipe)
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
	if r.first != nil {
		h.first, h.facts = r.first, factsOf(l.Recipe, r)
	}
	return h, true
}

// compare holds the results of a call against those of other owners.
func (s *Server) compare(ctx context.Context, runner reporter, all []heard) {
	if !runner.known() || len(all) == 0 {
		return
	}
	accused := s.trust.hear(runner.owner, all)
	if len(accused) == 0 {
		return
	}
	for owner, why := range accused {
		s.config.Logger.WarnContext(ctx, "an owner of runners disagrees with the others and gets no more leases",
			slog.String("owner", owner), slog.String("why", why))
	}
	err := s.changeAside(context.WithoutCancel(ctx), func(all map[string]*misstepv1.OwnerSetAside, now time.Time) error {
		for owner, why := range accused {
			all[owner] = &misstepv1.OwnerSetAside{Reason: why, At: timestamppb.New(now)}
		}
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
