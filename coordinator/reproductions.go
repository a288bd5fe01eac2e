package coordinator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/coordinator/campaign"
	"misstep/coordinator/reproduce"
	"misstep/coordinator/store"
	"misstep/coordinator/triage"
	"misstep/internal/interval"
	misstepv1 "misstep/proto/misstep/v1"
)

// Bounds of a reproduction.
const (
	maxBuilds        = 256
	maxPerturbations = 16
	maxProbes        = 1_000_000
	maxMethods       = 64
	maxInstrumented  = 4096
	maxOthers        = 1000
	maxTrouble       = 400
	// searchShare of the time is for everything but verifying.
	searchShare = 0.9
	// timesEvery is how often running reproductions are held against their time.
	timesEvery = time.Second
	// reproductionPrefix begins the ids of reproductions and of their campaigns of probes; those of others begin with C.
	reproductionPrefix = "R"
)

// StartReproduction implements the AdminService.
func (s *Server) StartReproduction(ctx context.Context, req *misstepv1.StartReproductionRequest) (*misstepv1.StartReproductionResponse, error) {
	if err := checkReproduction(req); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	resp := &misstepv1.StartReproductionResponse{ReproductionId: s.newID(reproductionPrefix, 6)}
	err := s.update(ctx, func(tx store.Tx, now time.Time) error {
		g, err := loadGroups(tx)
		if err != nil {
			return err
		}
		id, err := g.find(req.GetFindingId())
		if err != nil {
			return err
		}
		id = g.Head(id)
		existing, err := reproductionFor(tx, g, id, req)
		if err != nil {
			return err
		}
		if existing != "" {
			resp.ReproductionId, resp.Existing = existing, true
			return nil
		}
		f := g.rows[id]
		if f.GetExampleRecipe() == nil {
			return status.Errorf(codes.FailedPrecondition, "finding %s has no recipe to begin with", id)
		}
		for _, p := range suited(req.GetPerturbations(), f.GetExampleRecipe()) {
			if need := campaign.Need(f.GetExampleRecipe().GetExecutor(), p); need != "" && s.live.lacks(need) {
				return status.Errorf(codes.FailedPrecondition, "perturbations: %s takes %s, which no connected runner has", p.GetStrategy(), need)
			}
		}
		spec := &misstepv1.ReproductionSpec{
			FindingId: id, Signature: f.GetSignature(), Recipe: f.GetExampleRecipe(), Builds: req.GetBuilds(),
			Perturbations: suited(req.GetPerturbations(), f.GetExampleRecipe()),
			Methods:       methodsOf(f), Instrumented: req.GetInstrumented(), Seed: req.GetSeed(),
		}
		spec.Trials, spec.Time = budget(req)
		spec.Instrumented = slices.DeleteFunc(slices.Clone(spec.GetInstrumented()), func(m string) bool { return slices.Contains(spec.GetMethods(), m) })
		if req.GetAgentDigest() != "" {
			spec.Recipe.AgentDigest = req.GetAgentDigest()
		}
		if err := tx.PutCampaign(&store.Campaign{
			ID: resp.GetReproductionId(), Probes: true, State: misstepv1.CampaignState_CAMPAIGN_STATE_RUNNING, Submitted: now, Tally: &misstepv1.CampaignStatus{},
			Submission: &misstepv1.SubmitCampaignRequest{
				Campaign: &misstepv1.Campaign{Name: "reproduce-" + id}, AgentDigest: spec.GetRecipe().GetAgentDigest(),
			},
		}); err != nil {
			return err
		}
		return s.pursue(tx, &misstepv1.Reproduction{
			Id: resp.GetReproductionId(), Spec: spec, State: misstepv1.ReproductionState_REPRODUCTION_STATE_RUNNING, Started: timestamppb.New(now),
		}, now)
	})
	if err != nil {
		return nil, err
	}
	s.config.Logger.Info("reproduction started", slog.String("reproduction", resp.GetReproductionId()), slog.String("finding", req.GetFindingId()))
	return resp, nil
}

// reproductionFor is the id of the one to go on with: that which runs for the finding, or the newest when it is done and was asked for
// likewise; else none.
func reproductionFor(tx store.Tx, g groups, id string, req *misstepv1.StartReproductionRequest) (string, error) {
	all, err := tx.Reproductions(false)
	if err != nil {
		return "", err
	}
	all = slices.DeleteFunc(all, func(r *misstepv1.Reproduction) bool { return g.Head(r.GetSpec().GetFindingId()) != id })
	if i := slices.IndexFunc(all, running); i >= 0 {
		return all[i].GetId(), nil
	}
	if len(all) > 0 && all[0].GetState() == misstepv1.ReproductionState_REPRODUCTION_STATE_DONE && !req.GetAgain() && asksFor(req, all[0].GetSpec()) {
		return all[0].GetId(), nil
	}
	return "", nil
}

func running(r *misstepv1.Reproduction) bool {
	return r.GetState() == misstepv1.ReproductionState_REPRODUCTION_STATE_RUNNING
}

// asksFor says whether a request is for what a spec has. What follows from the finding's example does not count: a hit of a probe may have
// replaced it.
func asksFor(req *misstepv1.StartReproductionRequest, spec *misstepv1.ReproductionSpec) bool {
	asked := &misstepv1.ReproductionSpec{Builds: req.GetBuilds(), Perturbations: suited(req.GetPerturbations(), spec.GetRecipe()), Seed: req.GetSeed()}
	asked.Trials, asked.Time = budget(req)
	had := &misstepv1.ReproductionSpec{
		Builds: spec.GetBuilds(), Perturbations: spec.GetPerturbations(), Seed: spec.GetSeed(), Trials: spec.GetTrials(), Time: spec.GetTime(),
	}
	return proto.Equal(asked, had) && (req.GetAgentDigest() == "" || req.GetAgentDigest() == spec.GetRecipe().GetAgentDigest())
}

// suited are the perturbations that a recipe's trials can have.
func suited(all []*misstepv1.Perturbation, r *misstepv1.Recipe) []*misstepv1.Perturbation {
	return slices.DeleteFunc(slices.Clone(all), func(p *misstepv1.Perturbation) bool { return !campaign.Suits(p, r) })
}

// budget of a request, with what is taken where it names none.
func budget(req *misstepv1.StartReproductionRequest) (trials uint64, time *durationpb.Duration) {
	time = req.GetTime()
	if time.AsDuration() == 0 {
		time = durationpb.New(reproduce.DefaultTime)
	}
	return cmp.Or(req.GetTrials(), reproduce.DefaultTrials), time
}

func checkReproduction(req *misstepv1.StartReproductionRequest) error {
	switch {
	case len(req.GetBuilds()) > maxBuilds:
		return fmt.Errorf("builds: expected at most %d, got %d", maxBuilds, len(req.GetBuilds()))
	case len(req.GetPerturbations()) > maxPerturbations:
		return fmt.Errorf("perturbations: expected at most %d, got %d", maxPerturbations, len(req.GetPerturbations()))
	case len(req.GetInstrumented()) > maxInstrumented:
		return fmt.Errorf("instrumented: expected at most %d methods, got %d", maxInstrumented, len(req.GetInstrumented()))
	case req.GetTrials() > maxProbes:
		return fmt.Errorf("trials: expected at most %d, got %d", maxProbes, req.GetTrials())
	case req.GetTime() != nil && (!req.GetTime().IsValid() || req.GetTime().AsDuration() < 0):
		return errors.New("time: expected a positive duration")
	case req.GetAgentDigest() != "" && !digestRE.MatchString(req.GetAgentDigest()):
		return fmt.Errorf("agent_digest: expected sha256: and 64 hex digits, got %q", clip(req.GetAgentDigest()))
	case proto.Size(req) > maxSubmission:
		return fmt.Errorf("the request has %d bytes, at most %d are taken", proto.Size(req), maxSubmission)
	}
	for i, b := range req.GetBuilds() {
		if !digestRE.MatchString(b.GetJdk().GetDigest()) {
			return fmt.Errorf("builds[%d].jdk.digest: expected sha256: and 64 hex digits for %q", i, clip(b.GetJdk().GetName()))
		}
	}
	return nil
}

// hs_err's line of a Java frame: "J 12 c1 a.B.c(I)V (5 bytes) …" or "j  a.B.c(I)V+3".
var javaFrameRE = regexp.MustCompile(`^[Jj]\s+(?:\d+%?\s+(?:c\d|jvmci)\s+)?([\p{L}\p{N}_.$]+)\.([\p{L}\p{N}_$<>]+)(\([^)\s]*\)[^\s+]+)`)

// methodsOf a finding's evidence, the one on top first: where the walk began.
func methodsOf(f *misstepv1.Finding) (out []string) {
	add := func(class, method, descriptor string) {
		name := strings.ReplaceAll(class, ".", "/") + "." + method + descriptor
		ours := strings.HasPrefix(name, "java/lang/Misstep") || strings.HasPrefix(name, "misstep/agent/") // never instrumented
		if class != "" && descriptor != "" && !ours && len(out) < maxMethods && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	for _, m := range f.GetExample().GetMismatches() {
		if sig, _ := triage.Mismatch(m); len(m.GetReference().GetFrames()) == 0 || !proto.Equal(sig, f.GetSignature()) {
			continue
		}
		for _, fr := range append(slices.Clone(m.GetReference().GetFrames()), m.GetSuspect().GetFrames()...) {
			add(fr.GetClassName(), fr.GetMethod(), fr.GetDescriptor_())
		}
	}
	for _, line := range f.GetExample().GetCrash().GetJavaFrames() {
		if m := javaFrameRE.FindStringSubmatch(line); m != nil {
			add(m[1], m[2], m[3])
		}
	}
	return out
}

// pursue stores r with what follows from its results: further jobs, or its end.
func (s *Server) pursue(tx store.Tx, r *misstepv1.Reproduction, now time.Time) error {
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
			try := reproduce.Give(r.Arms[i])
			if err := tx.PutJob(store.Job{Campaign: r.GetId(), Index: r.GetNext(), Recipe: p.Recipe(try)}); err != nil {
				return err
			}
			r.Pending = append(r.Pending, &misstepv1.ReproductionTrial{Index: r.GetNext(), Arm: uint32(i), Try: uint32(try)}) // bounded by maxProbes
			r.Next++
		}
	}
	return tx.PutReproduction(r)
}

func (s *Server) concludeReproduction(tx store.Tx, r *misstepv1.Reproduction, plan reproduce.Plan, now time.Time) error {
	r.State, r.Failure = misstepv1.ReproductionState_REPRODUCTION_STATE_FAILED, plan.Failure
	if p := plan.Reproducer; p != nil {
		r.State = misstepv1.ReproductionState_REPRODUCTION_STATE_DONE
		g, err := loadGroups(tx)
		if err != nil {
			return err
		}
		if p.Finding, _, err = s.whole(tx, g, r.GetSpec().GetFindingId()); err != nil {
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
	s.config.Logger.Info("reproduction ended", slog.String("reproduction", r.GetId()), slog.String("finding", r.GetSpec().GetFindingId()), slog.String("failure", r.GetFailure()))
	return s.endReproduction(tx, r, now)
}

// signAsShown gives a merged finding the signature by which its example shows it, unless that is its own: a bundle's tries are held against it.
func signAsShown(f *misstepv1.Finding) {
	shown := triage.Triage(f.GetExample())
	if slices.ContainsFunc(shown, func(h triage.Hit) bool { return h.ID == f.GetId() }) {
		return
	}
	for _, h := range shown {
		if slices.Contains(f.GetAliases(), h.ID) {
			f.Signature, f.Title = h.Signature, h.Title
			return
		}
	}
}

// endReproduction stores r, whose state says how it ended, and cancels what it has under way.
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

// probed files the result of a probe and wants what follows from it.
func (s *Server) probed(tx store.Tx, t *store.Trial, now time.Time) error {
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
	if result == reproduce.Hit && strings.HasPrefix(arm.GetKey(), reproduce.StepVerify+"/") && (r.GetExample() == nil || shorter(t.Outcome, r.GetExample()) < 0) {
		r.Example = t.Outcome
	}
	return s.pursue(tx, r, now)
}

// shorter compares outcomes by their frames, then by their recipes, since which of two trials ended first is chance.
func shorter(a, b *misstepv1.Outcome) int {
	return cmp.Or(cmp.Compare(frames(a), frames(b)), cmp.Compare(a.GetRecipeDigest(), b.GetRecipeDigest()))
}

func frames(o *misstepv1.Outcome) (n int) {
	for _, m := range o.GetMismatches() {
		n += len(m.GetReference().GetFrames()) + len(m.GetSuspect().GetFrames())
	}
	return n + len(o.GetCrash().GetNativeFrames()) + len(o.GetCrash().GetJavaFrames())
}

// resultOf a trial: a hit shows the pinned signature, or one that people said is the same; others are noted.
func (s *Server) resultOf(tx store.Tx, r *misstepv1.Reproduction, t *store.Trial) (reproduce.Result, string, error) {
	if t.Outcome == nil {
		return reproduce.Failed, clipLine(t.Failure.GetMessage()), nil
	}
	decisions, err := tx.Decisions()
	if err != nil {
		return 0, "", err
	}
	g := triage.NewGrouping(decisions)
	hit := false
	for _, id := range t.FindingIDs {
		switch {
		case g.Head(id) == g.Head(r.GetSpec().GetFindingId()):
			hit = true
		case len(r.GetOthers()) < maxOthers && !slices.Contains(r.GetOthers(), id):
			r.Others = append(r.Others, id)
		}
	}
	switch o := t.Outcome; {
	case hit:
		return reproduce.Hit, "", nil
	case triage.Idle(o):
		return reproduce.Idle, clipLine(o.GetReason()), nil
	case triage.Void(o):
		return reproduce.Void, clipLine(o.GetReason()), nil
	}
	return reproduce.Miss, "", nil
}

func clipLine(s string) string {
	if len(s) > maxTrouble {
		s = strings.ToValidUTF8(s[:maxTrouble], "") + "…"
	}
	return s
}

// watchTimes ends the search, then the whole, of reproductions whose time is over.
func (s *Server) watchTimes(tx store.Tx, now time.Time) error {
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
		if over || !verifying { // what is under way would come too late to count
			if err := s.queue.Discard(tx, r.GetId()); err != nil {
				return err
			}
			reproduce.CancelPending(r)
		}
		if err := s.pursue(tx, r, now); err != nil {
			return fmt.Errorf("end the time of reproduction %s: %w", r.GetId(), err)
		}
	}
	return nil
}

// CancelReproduction implements the AdminService.
func (s *Server) CancelReproduction(ctx context.Context, req *misstepv1.CancelReproductionRequest) (*misstepv1.CancelReproductionResponse, error) {
	err := s.update(ctx, func(tx store.Tx, now time.Time) error {
		r, err := findReproduction(tx, req.GetReproductionId())
		if err != nil || r.GetState() != misstepv1.ReproductionState_REPRODUCTION_STATE_RUNNING {
			return err
		}
		r.State = misstepv1.ReproductionState_REPRODUCTION_STATE_CANCELLED
		return s.endReproduction(tx, r, now)
	})
	if err != nil {
		return nil, err
	}
	return &misstepv1.CancelReproductionResponse{}, nil
}

// RecordClean implements the AdminService.
func (s *Server) RecordClean(ctx context.Context, req *misstepv1.RecordCleanRequest) (*misstepv1.RecordCleanResponse, error) {
	hits, tries := req.GetClean().GetHits(), req.GetClean().GetTries()
	if hits > tries || tries == 0 {
		return nil, status.Errorf(codes.InvalidArgument, "clean: expected hits of at least one try, got %d of %d", hits, tries)
	}
	err := s.update(ctx, func(tx store.Tx, _ time.Time) error {
		r, err := findReproduction(tx, req.GetReproductionId())
		if err != nil {
			return err
		}
		if r.GetReproducer() == nil {
			return status.Errorf(codes.FailedPrecondition, "reproduction %s has no reproducer", r.GetId())
		}
		low, high := interval.Wilson(uint64(hits), uint64(tries))
		r.Reproducer.Clean = &misstepv1.Reliability{Hits: hits, Tries: tries, Low: low, High: high}
		return tx.PutReproduction(r)
	})
	if err != nil {
		return nil, err
	}
	return &misstepv1.RecordCleanResponse{}, nil
}

func findReproduction(tx store.Tx, id string) (*misstepv1.Reproduction, error) {
	if r, err := tx.Reproduction(id); err == nil || !errors.Is(err, store.ErrNotFound) {
		return r, err
	}
	all, err := tx.Reproductions(false)
	if err != nil {
		return nil, err
	}
	return only(all, "reproduction", id, (*misstepv1.Reproduction).GetId)
}

// GetReproduction implements the AdminService.
func (s *Server) GetReproduction(ctx context.Context, req *misstepv1.GetReproductionRequest) (*misstepv1.GetReproductionResponse, error) {
	resp := &misstepv1.GetReproductionResponse{}
	err := s.update(ctx, func(tx store.Tx, now time.Time) error {
		r, err := findReproduction(tx, req.GetReproductionId())
		if err != nil {
			return err
		}
		decisions, err := tx.Decisions()
		if err != nil {
			return err
		}
		resp.Reproduction, err = reproductionStatus(tx, triage.NewGrouping(decisions), r, now)
		return err
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// ListReproductions implements the AdminService.
func (s *Server) ListReproductions(ctx context.Context, req *misstepv1.ListReproductionsRequest) (*misstepv1.ListReproductionsResponse, error) {
	resp := &misstepv1.ListReproductionsResponse{}
	err := s.update(ctx, func(tx store.Tx, now time.Time) error {
		all, err := tx.Reproductions(false)
		if err != nil {
			return err
		}
		decisions, err := tx.Decisions()
		if err != nil {
			return err
		}
		g := triage.NewGrouping(decisions)
		resp.Reproductions = nil
		for _, r := range all {
			if req.GetFindingId() != "" && g.Head(r.GetSpec().GetFindingId()) != g.Head(req.GetFindingId()) {
				continue
			}
			st, err := reproductionStatus(tx, g, r, now)
			if err != nil {
				return err
			}
			resp.Reproductions = append(resp.Reproductions, st)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

func reproductionStatus(tx store.Tx, g triage.Grouping, r *misstepv1.Reproduction, now time.Time) (*misstepv1.ReproductionStatus, error) {
	plan := reproduce.Next(r)
	if f := r.GetReproducer().GetFinding(); f != nil { // which may have been merged since
		f.Id = g.Head(f.GetId())
		f.Aliases = g.Aliases(f.GetId())
	}
	st := &misstepv1.ReproductionStatus{
		Id: r.GetId(), FindingId: r.GetSpec().GetFindingId(), State: r.GetState(), Started: r.GetStarted(), Ended: r.GetEnded(), Steps: plan.Steps,
		Others: r.GetOthers(), Reproducer: r.GetReproducer(), Failure: r.GetFailure(), Trials: r.GetNext() - uint64(len(r.GetPending())),
	}
	if plan.Tries > 0 {
		low, high := interval.Wilson(uint64(plan.Hits), uint64(plan.Tries))
		st.Rate = &misstepv1.Reliability{Hits: uint32(plan.Hits), Tries: uint32(plan.Tries), Low: low, High: high} // bounded by maxProbes
	}
	if r.GetState() != misstepv1.ReproductionState_REPRODUCTION_STATE_RUNNING {
		return st, nil
	}
	st.Doing = plan.Doing
	if st.GetTrials() > 0 {
		each := float64(now.Sub(r.GetStarted().AsTime())) / float64(st.GetTrials())
		st.Left = durationpb.New(min(time.Duration(each*float64(plan.Left)), r.GetStarted().AsTime().Add(r.GetSpec().GetTime().AsDuration()).Sub(now)))
	}
	jobs, err := tx.Jobs(r.GetId())
	if err != nil {
		return nil, err
	}
	st.Queued = uint64(len(jobs))
	st.Running, err = tx.CountLeases(r.GetId())
	return st, err
}
