package coordinator

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"misstep/coordinator/reproduce"
	"misstep/coordinator/store"
	"misstep/coordinator/view"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

// Bounds of a request to reproduce.
const (
	maxBuilds        = 256
	maxPerturbations = 16
	maxProbes        = 1_000_000
	maxInstrumented  = 4096
)

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
	case req.GetAgentDigest() != "" && !isDigest(req.GetAgentDigest()):
		return fmt.Errorf("agent_digest: expected sha256: and 64 hex digits, got %q", clip(req.GetAgentDigest()))
	case proto.Size(req) > maxSubmission:
		return fmt.Errorf("expected a request of at most %d bytes, got %d", maxSubmission, proto.Size(req))
	}
	for i, b := range req.GetBuilds() {
		if !isDigest(b.GetJdk().GetDigest()) {
			return fmt.Errorf("builds[%d].jdk.digest: expected sha256: and 64 hex digits for %q", i, clip(b.GetJdk().GetName()))
		}
	}
	return nil
}

// budget returns the budget of a request, with defaults for what it leaves out.
func budget(req *misstepv1.StartReproductionRequest) (trials uint64, limit *durationpb.Duration) {
	limit = req.GetTime()
	if limit.AsDuration() == 0 {
		limit = durationpb.New(reproduce.DefaultTime)
	}
	return cmp.Or(req.GetTrials(), reproduce.DefaultTrials), limit
}

// applicable returns the perturbations that can be applied to a recipe.
func applicable(all []*misstepv1.Perturbation, r *misstepv1.Recipe) []*misstepv1.Perturbation {
	return slices.DeleteFunc(slices.Clone(all), func(p *misstepv1.Perturbation) bool { return !recipe.CanPerturb(r, p) })
}

// reproductionFor returns the id of the existing reproduction that satisfies a request: the finding's running one, or its newest
// when that is done and was requested in the same way; else "".
func reproductionFor(tx store.Tx, g view.Groups, id string, req *misstepv1.StartReproductionRequest) (string, error) {
	all, err := tx.Reproductions(false)
	if err != nil {
		return "", err
	}
	all = slices.DeleteFunc(all, func(r *misstepv1.Reproduction) bool { return g.Head(r.GetSpec().GetFindingId()) != id })
	if i := slices.IndexFunc(all, running); i >= 0 {
		return all[i].GetId(), nil
	}
	if len(all) > 0 && all[0].GetState() == misstepv1.ReproductionState_REPRODUCTION_STATE_DONE && !req.GetAgain() &&
		sameRequest(req, all[0].GetSpec()) {
		return all[0].GetId(), nil
	}
	return "", nil
}

func running(r *misstepv1.Reproduction) bool {
	return r.GetState() == misstepv1.ReproductionState_REPRODUCTION_STATE_RUNNING
}

// sameRequest reports whether a request asks for what a spec specifies. What follows from the finding's example does not count,
// since a hit of a probe may have replaced the example.
func sameRequest(req *misstepv1.StartReproductionRequest, spec *misstepv1.ReproductionSpec) bool {
	asked := &misstepv1.ReproductionSpec{
		Builds: req.GetBuilds(), Perturbations: applicable(req.GetPerturbations(), spec.GetRecipe()), Seed: req.GetSeed(),
	}
	asked.Trials, asked.Time = budget(req)
	had := &misstepv1.ReproductionSpec{
		Builds: spec.GetBuilds(), Perturbations: spec.GetPerturbations(), Seed: spec.GetSeed(),
		Trials: spec.GetTrials(), Time: spec.GetTime(),
	}
	return proto.Equal(asked, had) && (req.GetAgentDigest() == "" || req.GetAgentDigest() == spec.GetRecipe().GetAgentDigest())
}
