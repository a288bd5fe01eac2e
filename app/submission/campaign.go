// Package submission turns campaign and recipe files into what a coordinator or an executor takes, resolved in the local
// catalogues.
package submission

import (
	"context"
	"fmt"
	"os"
	"slices"

	"misstep/app/local"
	"misstep/app/station"
	"misstep/coordinator/campaign"
	"misstep/coordinator/catalogue"
	"misstep/corpus"
	"misstep/corpus/tree"
	"misstep/deploy/jdk/preset"
	misstepv1 "misstep/proto/misstep/v1"
)

// Load reads a campaign file and resolves its names in the local catalogues. skipped says, a line each, which combinations of the
// campaign are left out because a JDK cannot run them.
func Load(ctx context.Context, i local.Installation, file string) (request *misstepv1.SubmitCampaignRequest, skipped []string,
	err error,
) {
	return LoadAs(ctx, i, file, func(*misstepv1.Campaign) {})
}

// LoadAs is Load of a campaign that is changed before its names are resolved.
func LoadAs(ctx context.Context, i local.Installation, file string, change func(*misstepv1.Campaign)) (
	request *misstepv1.SubmitCampaignRequest, skipped []string, err error,
) {
	text, err := read(file)
	if err != nil {
		return nil, nil, err
	}
	spec, err := parse(&i, text, file, Shared{}, change)
	if err != nil {
		return nil, nil, err
	}
	have, err := i.JDKNames()
	if err != nil {
		return nil, nil, err
	}
	spec.Jdks = campaign.Expand(spec.GetJdks(), have)
	artefacts, err := i.Agent()
	if err != nil {
		return nil, nil, err
	}
	request = &misstepv1.SubmitCampaignRequest{Campaign: spec, AgentDigest: artefacts.Digest}
	if err := resolve(ctx, i, request, Shared{}); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", file, err)
	}
	expansion, err := campaign.NewExpansion(request)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", file, err)
	}
	return request, expansion.Skipped(), nil
}

// Parse reads a campaign file whose names are all those of the shared catalogue of a coordinator.
func Parse(file string) (*misstepv1.Campaign, error) {
	text, err := read(file)
	if err != nil {
		return nil, err
	}
	document, err := campaign.Parse(text, file)
	if err != nil {
		return nil, err
	}
	if err := document.Resolve(campaign.Names{Presets: preset.Names(), Strategies: station.Strategies()}); err != nil {
		return nil, err
	}
	return document.Campaign, nil
}

func read(file string) ([]byte, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read campaign: %w", err)
	}
	return text, nil
}

// parse reads a campaign, changes it, and checks it against what the catalogues have.
func parse(i *local.Installation, text []byte, name string, shared Shared, change func(*misstepv1.Campaign)) (
	*misstepv1.Campaign, error,
) {
	document, err := campaign.Parse(text, name)
	if err != nil {
		return nil, err
	}
	change(document.Campaign)
	names := campaign.Names{Presets: preset.Names(), Strategies: station.Strategies()}
	if names.JDKs, names.Workloads, err = shared.names(i); err != nil {
		return nil, err
	}
	if err := document.Resolve(names); err != nil {
		return nil, err
	}
	return document.Campaign, nil
}

// resolve fills the JDKs, presets and workloads of a request whose campaign is set, except for those that the coordinator takes
// from its shared catalogue.
func resolve(ctx context.Context, i local.Installation, request *misstepv1.SubmitCampaignRequest, shared Shared) error {
	spec := request.GetCampaign()
	features, own := map[string]int{}, map[string]bool{}
	var jdks []string
	for _, name := range spec.GetJdks() {
		if campaign.IsPattern(name) { // the coordinator takes what it matches by then
			for _, one := range shared.matching(name) {
				features[one.GetName()] = int(one.GetJdk().GetFeature())
				if !slices.Contains(jdks, one.GetName()) {
					jdks = append(jdks, one.GetName())
				}
			}
			continue
		}
		if !slices.Contains(jdks, name) {
			jdks = append(jdks, name)
		}
		left, err := shared.takes(i, jdkKind, name)
		if err != nil {
			return err
		}
		if left != nil {
			features[name] = int(left.GetJdk().GetFeature())
			continue
		}
		j, err := i.ResolveJDK(&misstepv1.Jdk{Name: name})
		if err != nil {
			return err
		}
		request.Jdks = append(request.Jdks, j)
		presets, err := resolvePresets(ctx, i.JDKs(), spec, name)
		if err != nil {
			return err
		}
		request.Presets = append(request.Presets, presets...)
		entry, err := i.JDKs().Get(name)
		if err != nil {
			return err
		}
		features[name], own[name] = entry.Feature, true
		lacking, err := lackProfilers(entry, spec.GetProfiler())
		if err != nil {
			return err
		}
		request.Unsuited = append(request.Unsuited, lacking...)
	}
	for _, w := range spec.GetWorkloads() {
		left, err := shared.takes(i, workloadKind, w.GetName())
		if err != nil {
			return err
		}
		minFeature := int(left.GetWorkload().GetMinFeature())
		if left == nil {
			resolved, err := i.ResolveWorkload(&misstepv1.Workload{Name: w.GetName()})
			if err != nil {
				return err
			}
			request.Workloads = append(request.Workloads, resolved)
			entry, err := i.Workloads().Get(w.GetName())
			if err != nil {
				return err
			}
			minFeature = entry.MinFeature
		}
		for _, name := range jdks {
			// The coordinator compares what both are in its catalogue.
			if features[name] < minFeature && (left == nil || own[name]) {
				request.Unsuited = append(request.Unsuited, catalogue.TooOld(name, w.GetName(), minFeature))
			}
		}
	}
	return nil
}

// PushTrees sends a corpus the files of a campaign's JDKs and workloads that it lacks.
func PushTrees(ctx context.Context, i local.Installation, blobs corpus.Store, r *misstepv1.SubmitCampaignRequest) error {
	for _, j := range r.GetJdks() {
		if err := i.JDKs().Push(ctx, blobs, j.GetName()); err != nil {
			return err
		}
	}
	for _, w := range r.GetWorkloads() {
		entry, err := i.Workloads().Get(w.GetName())
		if err != nil {
			return err
		}
		m, err := tree.Scan(entry.Path)
		if err == nil {
			err = tree.Push(ctx, blobs, entry.Path, m)
		}
		if err != nil {
			return fmt.Errorf("send workload %s: %w", entry.Name, err)
		}
	}
	return nil
}
