package coordinator

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/coordinator/projects"
	"misstep/coordinator/queue"
	"misstep/coordinator/reproduce"
	"misstep/coordinator/store"
	"misstep/coordinator/store/scoped"
	"misstep/coordinator/view"
	misstepv1 "misstep/proto/misstep/v1"
)

const (
	// searchShare is the share of the time for everything but verifying.
	searchShare = 0.9
	// timeCheckInterval is how often running reproductions are compared with their time limit.
	timeCheckInterval = time.Second
)

// continueReproduction stores r together with what follows from its results: further jobs, or its end.
func (s *Server) continueReproduction(tx store.Tx, r *misstepv1.Reproduction, now time.Time) error {
	plan := reproduce.Next(r)
	if plan.Done {
		return s.concludeReproduction(tx, r, plan, now)
	}
	for _, p := range plan.Probes {
		i := slices.IndexFunc(r.GetArms(), func(a *misstepv1.ReproductionArm) bool { return a.GetKey() == p.Key })
		if i < 0 {
			i = len(r.GetArms())
			r.Arms = append(r.Arms, &misstepv1.ReproductionArm{Key: p.Key})
		}
		for range p.Want - p.Have {
			try := reproduce.AddPending(r.Arms[i])
			recipe := p.Recipe(try)
			if err := tx.PutJob(store.Job{
				Campaign: r.GetId(), Index: r.GetNext(), Recipe: recipe, Needs: queue.Needs(recipe),
			}); err != nil {
				return err
			}
			// Arms and tries are bounded by maxProbes.
			r.Pending = append(r.Pending, &misstepv1.ReproductionTrial{Index: r.GetNext(), Arm: uint32(i), Try: uint32(try)})
			r.Next++
		}
	}
	return tx.PutReproduction(r)
}

func (s *Server) concludeReproduction(tx store.Tx, r *misstepv1.Reproduction, plan reproduce.Plan, now time.Time) error {
	r.State, r.Failure = misstepv1.ReproductionState_REPRODUCTION_STATE_FAILED, plan.Failure
	if p := plan.Reproducer; p != nil {
		r.State = misstepv1.ReproductionState_REPRODUCTION_STATE_DONE
		g, err := view.LoadGroups(tx)
		if err != nil {
			return err
		}
		if p.Finding, err = s.view.Finding(tx, g, r.GetSpec().GetFindingId()); err != nil {
			return err
		}
		p.Finding.ExampleRecipe = p.GetRecipe()
		if r.GetExample() != nil {
			p.Finding.Example = r.GetExample()
			signAsShown(p.GetFinding())
		}
		p.Evidence = p.GetFinding().GetExample().GetEvidence()
		r.Reproducer, r.Example = p, nil
	}
	s.config.Logger.Info("reproduction ended", slog.String("reproduction", r.GetId()),
		slog.String("finding", r.GetSpec().GetFindingId()), slog.String("failure", r.GetFailure()))
	return s.endReproduction(tx, r, now)
}

// endReproduction stores r, whose state tells how it ended, and cancels its jobs and leases.
func (s *Server) endReproduction(tx store.Tx, r *misstepv1.Reproduction, now time.Time) error {
	r.Ended = timestamppb.New(now)
	reproduce.CancelPending(r)
	if err := tx.PutReproduction(r); err != nil {
		return err
	}
	c, err := tx.Campaign(r.GetId())
	if err != nil {
		return err
	}
	return s.queue.Stop(tx, c, now)
}

// recordProbe adds the result of a probe to its reproduction and continues the reproduction.
func (s *Server) recordProbe(tx store.Tx, t *store.Trial, now time.Time) error {
	r, err := tx.Reproduction(t.Campaign)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(r.GetPending(), func(p *misstepv1.ReproductionTrial) bool { return p.GetIndex() == t.Index })
	if i < 0 || r.GetState() != misstepv1.ReproductionState_REPRODUCTION_STATE_RUNNING {
		return nil
	}
	p := r.GetPending()[i]
	r.Pending = slices.Delete(r.Pending, i, i+1)
	arm := r.GetArms()[p.GetArm()]
	result, trouble, err := s.resultOf(tx, r, t)
	if err != nil {
		return err
	}
	reproduce.Apply(arm, int(p.GetTry()), result, t.Outcome.GetWall().AsDuration(), trouble)
	if result == reproduce.Hit && strings.HasPrefix(arm.GetKey(), reproduce.StepVerify+"/") &&
		(r.GetExample() == nil || shorter(t.Outcome, r.GetExample()) < 0) {
		r.Example = t.Outcome
	}
	return s.continueReproduction(tx, r, now)
}

// watchTimes ends the search of reproductions whose time for searching is over, and those whose whole time is over.
func (s *Server) watchTimes(tx store.Tx, now time.Time) error {
	running, err := tx.Reproductions(true)
	if err != nil {
		return err
	}
	for _, project := range projects.Of(running, (*misstepv1.Reproduction).GetId) {
		if err := s.watchTimesIn(scoped.In(tx, project), now); err != nil {
			return err
		}
	}
	return nil
}

// watchTimesIn is watchTimes in one project.
func (s *Server) watchTimesIn(tx store.Tx, now time.Time) error {
	running, err := tx.Reproductions(true)
	if err != nil {
		return err
	}
	for _, r := range running {
		all := r.GetSpec().GetTime().AsDuration()
		elapsed := now.Sub(r.GetStarted().AsTime())
		over, searchOver := elapsed >= all, elapsed >= time.Duration(searchShare*float64(all))
		if over == r.GetTimeOver() && searchOver == r.GetSearchOver() {
			continue
		}
		r.TimeOver, r.SearchOver = over, searchOver
		verifying := slices.ContainsFunc(r.GetArms(), func(a *misstepv1.ReproductionArm) bool {
			return strings.HasPrefix(a.GetKey(), reproduce.StepVerify+"/")
		})
		if over || !verifying { // pending results would arrive too late to count
			if err := s.queue.Discard(tx, r.GetId()); err != nil {
				return err
			}
			reproduce.CancelPending(r)
		}
		if err := s.continueReproduction(tx, r, now); err != nil {
			return fmt.Errorf("apply the time limit of reproduction %s: %w", r.GetId(), err)
		}
	}
	return nil
}
