package coordinator

import (
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/coordinator/queue"
	"misstep/coordinator/reproduce"
	"misstep/coordinator/retest"
	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

const (
	// retestConfidence of a verdict, and the most tries of one reproducer on one build: those of `misstep retest` by default.
	retestConfidence = 0.99
	maxRetestTries   = 100
	// maxRetested bounds the reproducers of one build; the newest are taken.
	maxRetested = 1000
	// retestsAtOnce is how many tries of a reproducer wait or run at the same time.
	retestsAtOnce = 4
)

// startRetests puts the first tries of every reproducer on a new build into the queue, and returns how many reproducers there are.
func (s *Server) startRetests(
	tx store.Tx, of *misstepv1.Schedule, e *misstepv1.CatalogueEntry, now time.Time,
) (uint32, error) {
	all, err := tx.Reproductions(false)
	if err != nil {
		return 0, err
	}
	on := &misstepv1.Jdk{Name: e.GetName(), Digest: e.GetDigest(), Version: e.GetJdk().GetVersion()}
	id := s.newID(store.RetestPrefix, 6)
	n, seen := uint32(0), map[string]bool{}
	submission := &misstepv1.SubmitCampaignRequest{
		Campaign: &misstepv1.Campaign{Name: "retest-" + e.GetName()}, Jdks: []*misstepv1.Jdk{on}, ScheduleId: of.GetId(),
	}
	for _, r := range all { // newest first
		reproducer := r.GetReproducer()
		if reproducer == nil || seen[r.GetSpec().GetFindingId()] || n >= maxRetested ||
			reproducer.GetRecipe().GetJdk().GetDigest() == on.GetDigest() {
			continue
		}
		seen[r.GetSpec().GetFindingId()] = true
		known := retest.Known(reproducer)
		tries := retest.Needed(known, retestConfidence)
		if tries == 0 || tries > maxRetestTries {
			tries = maxRetestTries
		}
		row := &misstepv1.Retest{
			Id: retestID(id, n), ScheduleId: of.GetId(), FindingId: r.GetSpec().GetFindingId(), ReproductionId: r.GetId(), Jdk: on,
			Started: timestamppb.New(now), Planned: uint32(tries), Known: reliability(known), // at most maxRetestTries
		}
		submission.Workloads = append(submission.Workloads, reproducer.GetRecipe().GetWorkload()) // kept while this runs
		if err := putTries(tx, id, n, row, reproducer); err != nil {
			return 0, err
		}
		n++
	}
	if n == 0 {
		return 0, nil
	}
	s.config.Logger.Info("reproducers are repeated on a new build", slog.String("jdk", e.GetName()),
		slog.Int("reproducers", int(n)), slog.String("retest", id))
	return n, queue.Begin(tx, &store.Campaign{
		ID: id, Owner: of.GetOwner(), Probes: true, State: misstepv1.CampaignState_CAMPAIGN_STATE_RUNNING, Submitted: now,
		Tally: &misstepv1.CampaignStatus{}, Submission: submission,
	})
}

func retestID(campaign string, n uint32) string {
	return campaign + "/" + strconv.FormatUint(uint64(n), 10)
}

func reliability(c retest.Count) *misstepv1.Reliability {
	low, high := c.Interval()
	return &misstepv1.Reliability{Hits: uint32(c.Hits), Tries: uint32(c.Tries), Low: low, High: high} // they come from 32 bits
}

// putTries puts tries of the n-th reproducer of a campaign into the queue until enough wait or run, and stores its row. A try's
// index says which reproducer it is of.
func putTries(tx store.Tx, campaign string, n uint32, row *misstepv1.Retest, reproducer *misstepv1.Reproducer) error {
	for ; row.GetMade() < row.GetPlanned() && row.GetMade()-row.GetDone() < retestsAtOnce; row.Made++ {
		recipe := proto.CloneOf(reproducer.GetRecipe())
		recipe.Jdk, recipe.AgentDigest = row.GetJdk(), "" // the runner's own agent: an older one may not know the build
		if !reproducer.GetSeedMatters() {                 // the known rate is one over seeds
			recipe.Seed += uint64(row.GetMade()) + 1
		}
		if err := tx.PutJob(store.Job{
			Campaign: campaign, Index: uint64(n)*maxRetestTries + uint64(row.GetMade()), Recipe: recipe, Needs: queue.Needs(recipe),
		}); err != nil {
			return err
		}
	}
	return tx.PutRetest(row)
}

// recordRetest adds a result to the retest that it belongs to, and ends what is complete.
func (s *Server) recordRetest(tx store.Tx, t *store.Trial, now time.Time) error {
	n := uint32(t.Index / maxRetestTries)
	row, err := tx.Retest(retestID(t.Campaign, n))
	if err != nil {
		return err
	}
	r, err := tx.Reproduction(row.GetReproductionId())
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	result, trouble, err := s.resultOf(tx, &misstepv1.Reproduction{
		Spec: &misstepv1.ReproductionSpec{FindingId: row.GetFindingId()},
	}, t)
	if err != nil {
		return err
	}
	if row.Now == nil {
		row.Now = &misstepv1.Reliability{}
	}
	row.Done++
	switch result {
	case reproduce.Hit:
		row.Now.Hits++
		row.Now.Tries++
	case reproduce.Miss, reproduce.Idle:
		row.Now.Tries++
	default:
		row.Trouble = trouble
	}
	if r.GetReproducer() == nil { // there is nothing to repeat any more
		row.Planned = row.GetMade()
	}
	if row.GetDone() >= row.GetPlanned() {
		conclude(row, now)
	}
	if err := putTries(tx, t.Campaign, n, row, r.GetReproducer()); err != nil {
		return err
	}
	return endRetests(tx, t.Campaign, now)
}

// conclude gives the verdict of a retest whose tries have all ended.
func conclude(row *misstepv1.Retest, now time.Time) {
	known := retest.Count{Hits: uint64(row.GetKnown().GetHits()), Tries: uint64(row.GetKnown().GetTries())}
	count := retest.Count{Hits: uint64(row.GetNow().GetHits()), Tries: uint64(row.GetNow().GetTries())}
	v := retest.Judge(known, count, retestConfidence)
	row.Now = reliability(count)
	row.Verdict, row.P, row.Needed, row.Ended = string(v.State), v.P, v.Needed, timestamppb.New(now)
}

// stopProbes ends what waits for the probes of a campaign that is stopped: the retests of a build get the verdicts of the tries
// that ended. A reproduction has a command of its own.
func stopProbes(tx store.Tx, c *store.Campaign, now time.Time) error {
	if !c.Probes || c.State != misstepv1.CampaignState_CAMPAIGN_STATE_RUNNING {
		return nil
	}
	if !strings.HasPrefix(c.ID, store.RetestPrefix) {
		return status.Errorf(codes.FailedPrecondition, "%s is a reproduction: `misstep reproduce cancel %s` ends it", c.ID, c.ID)
	}
	all, err := tx.Retests()
	if err != nil {
		return err
	}
	for _, row := range all {
		if !strings.HasPrefix(row.GetId(), c.ID+"/") || row.GetEnded() != nil {
			continue
		}
		row.Planned, row.Trouble = row.GetDone(), "stopped"
		conclude(row, now)
		if err := tx.PutRetest(row); err != nil {
			return err
		}
	}
	return nil
}

// endRetests ends the campaign of the retests of a build when none of its tries waits or runs.
func endRetests(tx store.Tx, campaign string, now time.Time) error {
	jobs, err := tx.CountJobs(campaign)
	if err != nil || jobs > 0 {
		return err
	}
	leases, err := tx.CountLeases(campaign)
	if err != nil || leases > 0 {
		return err
	}
	c, err := tx.Campaign(campaign)
	if err != nil {
		return fmt.Errorf("end the retests of a build: %w", err)
	}
	return queue.End(tx, c, misstepv1.CampaignState_CAMPAIGN_STATE_DONE, now)
}
