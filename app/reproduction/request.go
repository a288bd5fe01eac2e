package reproduction

import (
	"context"
	"fmt"
	"io"
	"slices"

	"google.golang.org/protobuf/types/known/durationpb"

	"misstep/agent"
	"misstep/app/local"
	"misstep/app/station"
	misstepv1 "misstep/proto/misstep/v1"
)

// request resolves the builds in the catalogue and sends a remote coordinator what it lacks of them.
func (d Driver) request(ctx context.Context, id string) (*misstepv1.StartReproductionRequest, error) {
	st, i, limits := d.Bundles.Station, d.Bundles.Installation, d.Limits
	artefacts, err := i.Agent()
	if err != nil {
		return nil, err
	}
	request := &misstepv1.StartReproductionRequest{
		FindingId: id, Trials: limits.Trials, Time: durationpb.New(limits.Time), AgentDigest: artefacts.Digest, Again: limits.Again,
	}
	response, err := st.GetFinding(ctx, &misstepv1.GetFindingRequest{FindingId: id})
	if err != nil {
		return nil, err
	}
	if request.Instrumented, err = instrumented(ctx, st, response.GetFinding()); err != nil {
		return nil, err
	}
	if request.Perturbations, err = perturbations(limits.Perturb); err != nil {
		return nil, fmt.Errorf("--perturb %w", err)
	}
	if len(limits.Perturb) > 0 {
		if err := checkPerturbations(ctx, st, i.Home, request, response.GetFinding().GetExampleRecipe()); err != nil {
			return nil, fmt.Errorf("--perturb %w", err)
		}
	}
	entries, err := i.JDKs().List()
	if err != nil {
		return nil, err
	}
	if err := limits.Check(i); err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if len(limits.JDKs) > 0 && !slices.Contains(limits.JDKs, entry.Name) {
			continue
		}
		request.Builds = append(request.Builds, &misstepv1.JdkBuild{
			Jdk:     &misstepv1.Jdk{Name: entry.Name, Digest: entry.Digest.String(), Version: entry.Version},
			Feature: uint32(entry.Feature), Vendor: entry.Vendor, // a feature release is a small number
		})
		if st.Remote {
			if err := i.JDKs().Push(ctx, st.Blobs, entry.Name); err != nil {
				return nil, err
			}
		}
	}
	return request, nil
}

// instrumented lists the methods that were instrumented in the trial of a finding's example, from its evidence; none when that has
// no list.
func instrumented(ctx context.Context, st *station.Station, f *misstepv1.Finding) ([]string, error) {
	for _, ev := range f.GetExample().GetEvidence() {
		if ev.GetName() != agent.FileMethods {
			continue
		}
		r, err := station.Evidence(ctx, st.Blobs, ev)
		if err != nil {
			return nil, fmt.Errorf("read the instrumented methods: %w", err)
		}
		defer r.Close()
		data, err := io.ReadAll(io.LimitReader(r, agent.MaxMethodsBytes))
		if err != nil {
			return nil, fmt.Errorf("read the instrumented methods: %w", err)
		}
		return agent.MethodsAsEvidence(data), nil
	}
	return nil, nil
}

// Unfinished lists the ids of findings whose reproduction has not ended, with those merged into them. If clean tries are asked
// for, a reproduction that lacks them has not ended.
func Unfinished(ctx context.Context, st *station.Station, cleanTries uint32) ([]string, error) {
	list, err := st.ListReproductions(ctx, &misstepv1.ListReproductionsRequest{})
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, r := range list.GetReproductions() {
		untried := cleanTries > 0 && r.GetState() == misstepv1.ReproductionState_REPRODUCTION_STATE_DONE &&
			r.GetReproducer().GetClean() == nil
		if r.GetState() != misstepv1.ReproductionState_REPRODUCTION_STATE_RUNNING && !untried {
			continue
		}
		response, err := st.GetFinding(ctx, &misstepv1.GetFindingRequest{FindingId: r.GetFindingId()})
		if err != nil {
			return nil, err
		}
		ids = append(append(ids, response.GetFinding().GetId()), response.GetFinding().GetAliases()...)
	}
	return ids, nil
}

// Check returns which limit names what is not there, as far as that is known before there is a finding.
func (l Limits) Check(i local.Installation) error {
	if _, err := perturbations(l.Perturb); err != nil {
		return fmt.Errorf("--perturb %w", err)
	}
	for _, name := range l.JDKs {
		if _, err := i.ResolveJDK(&misstepv1.Jdk{Name: name}); err != nil {
			return fmt.Errorf("--jdks: %w", err)
		}
	}
	return nil
}
