package main

import (
	"context"
	"fmt"
	"strings"

	"misstep/deploy/jdk"
	"misstep/deploy/jdk/preset"
	misstepv1 "misstep/proto/misstep/v1"
)

// resolvePresets says what the campaign's presets are on one of its JDKs.
func (e *env) resolvePresets(ctx context.Context, spec *misstepv1.Campaign, name string) ([]*misstepv1.JdkPreset, error) {
	var resolved []*misstepv1.JdkPreset
	for _, f := range spec.GetFlagSets() {
		p, ok := preset.Find(f.GetPreset())
		if !ok { // none asked for: unknown names were refused before
			continue
		}
		entry, err := e.jdks().Get(name)
		if err != nil {
			return nil, err
		}
		has, err := e.jdks().Flags(ctx, name)
		if err != nil {
			return nil, err
		}
		resolved = append(resolved, onJDK(p, entry, has))
	}
	return resolved, nil
}

func onJDK(p preset.Preset, entry jdk.Entry, has map[string]string) *misstepv1.JdkPreset {
	r := &misstepv1.JdkPreset{Jdk: entry.Name, Preset: p.Name}
	var err error
	if r.Flags, err = p.Flags(entry.Feature, has); err != nil {
		r.Reason = err.Error()
	}
	return r
}

// unsuited lists the JDKs that are too old for a workload.
func (e *env) unsuited(jdks []string, workload string) ([]*misstepv1.Unsuited, error) {
	w, err := e.workloads().Get(workload)
	if err != nil {
		return nil, err
	}
	var unsuited []*misstepv1.Unsuited
	for _, name := range jdks {
		entry, err := e.jdks().Get(name)
		if err != nil {
			return nil, err
		}
		if entry.Feature < w.MinFeature {
			unsuited = append(unsuited, &misstepv1.Unsuited{
				Jdk: name, Workload: workload, Reason: fmt.Sprintf("it needs JDK %d or newer", w.MinFeature),
			})
		}
	}
	return unsuited, nil
}

type campaignPresets struct {
	JSON bool `help:"Print a list of {name, does, jdks: {name: JdkPreset}}."`
}

type presetOnJDKs struct {
	Name string         `json:"name"`
	Does string         `json:"does"`
	JDKs map[string]raw `json:"jdks"`
}

// Run lists.
func (c *campaignPresets) Run(ctx context.Context, e *env) error {
	entries, err := e.jdks().List()
	if err != nil {
		return err
	}
	has := make([]map[string]string, len(entries))
	for i, entry := range entries {
		if has[i], err = e.jdks().Flags(ctx, entry.Name); err != nil {
			return err
		}
	}
	var all []presetOnJDKs
	for _, p := range preset.All() {
		on := presetOnJDKs{Name: p.Name, Does: p.Does, JDKs: map[string]raw{}}
		var texts []string // what it is, in the order of the JDKs
		jdks := map[string][]string{}
		for i, entry := range entries {
			r := onJDK(p, entry, has[i])
			on.JDKs[entry.Name] = raw{r}
			text := strings.Join(r.GetFlags(), " ")
			if r.GetReason() != "" {
				text = "cannot: " + r.GetReason()
			}
			if jdks[text] == nil {
				texts = append(texts, text)
			}
			jdks[text] = append(jdks[text], entry.Name)
		}
		all = append(all, on)
		if !c.JSON {
			fmt.Fprintf(e.stdout, "%s: %s\n", p.Name, p.Does)
			for _, text := range texts {
				fmt.Fprintf(e.stdout, "  %s:\n    %s\n", strings.Join(jdks[text], ", "), text)
			}
		}
	}
	if c.JSON {
		return e.json(all)
	}
	return nil
}
