package submission

import (
	"errors"
	"fmt"
	"os"

	"misstep/app/local"
	"misstep/coordinator/campaign"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

// LoadRecipe reads a recipe file, validates it and fills what a hand-written one may omit: digests of JDK, workload and agent. A
// profiler other than nil replaces the recipe's.
func LoadRecipe(i local.Installation, file string, profiler *misstepv1.Profiler) (*misstepv1.Recipe, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read recipe: %w", err)
	}
	r, err := campaign.ParseRecipe(text, file)
	if err != nil {
		return nil, err
	}
	if profiler != nil {
		r.Profiler = profiler
	}
	if r.GetJdk().GetName() == "" && r.GetJdk().GetDigest() == "" {
		return nil, fmt.Errorf("%s: jdk: name a JDK of the catalogue, e.g. jdk: {name: jdk17}", file)
	}
	if r.GetWorkload().GetName() == "" {
		return nil, fmt.Errorf("%s: workload: name a workload of the catalogue, e.g. workload: {name: clinit}", file)
	}
	var wrong []error
	for _, v := range recipe.Validate(r) {
		wrong = append(wrong, fmt.Errorf("%s: %v", file, v))
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, err
	}
	if r.Jdk, err = i.ResolveJDK(r.GetJdk()); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if r.Workload, err = i.ResolveWorkload(r.GetWorkload()); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	artefacts, err := i.Agent()
	if err != nil {
		return nil, err
	}
	if d := r.GetAgentDigest(); d != "" && d != artefacts.Digest {
		return nil, fmt.Errorf("%s: agent_digest: the recipe wants %s, but the agent here is %s; "+
			"omit it or name the folder of that agent with --agent", file, d, artefacts.Digest)
	}
	r.AgentDigest = artefacts.Digest
	return r, nil
}
