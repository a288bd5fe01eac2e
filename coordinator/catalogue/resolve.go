package catalogue

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"misstep/coordinator/campaign"
	"misstep/internal/suggest"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

// Unresolved reports whether a submission leaves a name to the shared catalogue.
func Unresolved(s *misstepv1.SubmitCampaignRequest) bool {
	jdks, loads := submitted(s)
	return slices.ContainsFunc(s.GetCampaign().GetJdks(), func(name string) bool { return !slices.Contains(jdks, name) }) ||
		slices.ContainsFunc(s.GetCampaign().GetWorkloads(), func(w *misstepv1.CampaignWorkload) bool {
			return !slices.Contains(loads, w.GetName())
		})
}

// submitted returns the names that a submission resolves itself.
func submitted(s *misstepv1.SubmitCampaignRequest) (jdks, loads []string) {
	for _, j := range s.GetJdks() {
		jdks = append(jdks, j.GetName())
	}
	for _, w := range s.GetWorkloads() {
		loads = append(loads, w.GetName())
	}
	return jdks, loads
}

// expand replaces the patterns among the JDKs of a submission by the names in entries that they match.
func expand(full *misstepv1.SubmitCampaignRequest, entries []*misstepv1.CatalogueEntry) (wrong []recipe.Violation) {
	var have []string
	for _, e := range entries {
		if e.GetKind() == JDK {
			have = append(have, e.GetName())
		}
	}
	patterns := full.GetCampaign().GetJdks()
	for i, name := range patterns {
		if campaign.IsPattern(name) && len(campaign.Matching(name, have)) == 0 {
			wrong = append(wrong, recipe.Violation{Field: fmt.Sprintf("jdks[%d]", i), Message: fmt.Sprintf(
				"the pattern %s matches no JDK of the shared catalogue; `misstep jdk list --coordinator HOST:PORT` shows those that "+
					"there are", suggest.Quote(name))})
		}
	}
	names := campaign.Expand(patterns, have)
	if len(names) > recipe.MaxList {
		return append(wrong, recipe.Violation{Field: "jdks", Message: fmt.Sprintf(
			"the patterns match %d JDKs of the shared catalogue, expected at most %d: make them narrower",
			len(names), recipe.MaxList,
		)})
	}
	full.Campaign.Jdks = names
	return wrong
}

// Resolve returns a submission whose names are all resolved: those that it resolves itself stay, patterns of JDKs become the names
// that they match in entries, and the others are taken from entries.
// used are the entries that gave one. Names that neither has are violations, with the names that may be meant.
func Resolve(s *misstepv1.SubmitCampaignRequest, entries []*misstepv1.CatalogueEntry) (
	full *misstepv1.SubmitCampaignRequest, used []*misstepv1.CatalogueEntry, wrong []recipe.Violation,
) {
	jdks, loads := submitted(s)
	shared := map[misstepv1.CatalogueKind]map[string]*misstepv1.CatalogueEntry{JDK: {}, Workload: {}}
	for _, e := range entries {
		shared[e.GetKind()][e.GetName()] = e
	}
	full = proto.CloneOf(s)
	wrong = expand(full, entries)
	features := map[string]uint32{} // of JDKs from the shared catalogue
	for i, name := range full.GetCampaign().GetJdks() {
		if slices.Contains(jdks, name) {
			continue
		}
		e := shared[JDK][name]
		if e == nil {
			wrong = append(wrong, unknown(JDK, fmt.Sprintf("jdks[%d]", i), name, jdks, entries))
			continue
		}
		used = append(used, e)
		features[name] = e.GetJdk().GetFeature()
		full.Jdks = append(full.Jdks, &misstepv1.Jdk{Name: name, Digest: e.GetDigest(), Version: e.GetJdk().GetVersion()})
		wrong = append(wrong, addFacts(full, i, e)...)
	}
	for i, w := range s.GetCampaign().GetWorkloads() {
		if slices.Contains(loads, w.GetName()) {
			continue
		}
		e := shared[Workload][w.GetName()]
		if e == nil {
			wrong = append(wrong, unknown(Workload, fmt.Sprintf("workloads[%d].name", i), w.GetName(), loads, entries))
			continue
		}
		loads = append(loads, w.GetName()) // a campaign may name a workload twice
		used = append(used, e)
		full.Workloads = append(full.Workloads, &misstepv1.Workload{Name: w.GetName(), Digest: e.GetDigest()})
		for _, jdk := range full.GetCampaign().GetJdks() {
			if feature, ok := features[jdk]; ok && feature < e.GetWorkload().GetMinFeature() {
				full.Unsuited = append(full.Unsuited, TooOld(jdk, w.GetName(), int(e.GetWorkload().GetMinFeature())))
			}
		}
	}
	return full, used, wrong
}

// TooOld says that a JDK is older than a workload needs.
func TooOld(jdk, workload string, minFeature int) *misstepv1.Unsuited {
	return &misstepv1.Unsuited{Jdk: jdk, Workload: workload, Reason: fmt.Sprintf("it needs JDK %d or newer", minFeature)}
}

// addFacts adds what a campaign's presets and profilers are on a JDK of the shared catalogue.
func addFacts(full *misstepv1.SubmitCampaignRequest, i int, e *misstepv1.CatalogueEntry) (wrong []recipe.Violation) {
	seen := map[string]bool{}
	for _, f := range full.GetCampaign().GetFlagSets() {
		name := f.GetPreset()
		if name == "" || seen[name] {
			continue
		}
		seen[name] = true
		k := slices.IndexFunc(e.GetJdk().GetPresets(), func(p *misstepv1.JdkPreset) bool { return p.GetPreset() == name })
		if k < 0 {
			wrong = append(wrong, recipe.Violation{Field: fmt.Sprintf("jdks[%d]", i), Message: fmt.Sprintf(
				"%s of the shared catalogue does not say what the preset %s is on it: an older misstep has added it; add it again "+
					"with --replace", e.GetName(), suggest.Quote(name))})
			continue
		}
		resolved := proto.CloneOf(e.GetJdk().GetPresets()[k])
		resolved.Jdk = e.GetName()
		full.Presets = append(full.Presets, resolved)
	}
	for _, p := range full.GetCampaign().GetProfiler() {
		if why, lacks := e.GetJdk().GetLacks()[p.GetName()]; lacks && recipe.HasProfiler(p) && !seen["profiler "+p.GetName()] {
			seen["profiler "+p.GetName()] = true
			full.Unsuited = append(full.Unsuited, &misstepv1.Unsuited{Jdk: e.GetName(), Profiler: p.GetName(), Reason: why})
		}
	}
	return wrong
}

func unknown(
	kind misstepv1.CatalogueKind, field, name string, own []string, entries []*misstepv1.CatalogueEntry,
) recipe.Violation {
	have := slices.Clone(own)
	for _, e := range entries {
		if e.GetKind() == kind {
			have = append(have, e.GetName())
		}
	}
	return recipe.Violation{Field: field, Message: fmt.Sprintf("%s is a %s neither of the submission nor of the shared catalogue%s"+
		"; %s",
		suggest.Quote(name), Word(kind), suggest.Among(name, have), howToAdd(kind))}
}

func howToAdd(kind misstepv1.CatalogueKind) string {
	if kind == JDK {
		return "`misstep jdk add SOURCE --name NAME --coordinator HOST:PORT` adds one"
	}
	return "`misstep workload add FOLDER --coordinator HOST:PORT` adds one"
}
