package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"misstep/app/submission"
)

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
	presets, err := submission.Presets(ctx, e.installation().JDKs())
	if err != nil {
		return err
	}
	if !c.JSON {
		for _, p := range presets {
			renderPreset(e.stdout, p)
		}
		return nil
	}
	all := []presetOnJDKs{}
	for _, p := range presets {
		on := presetOnJDKs{Name: p.Name, Does: p.Does, JDKs: map[string]raw{}}
		for _, r := range p.JDKs {
			on.JDKs[r.GetJdk()] = raw{r}
		}
		all = append(all, on)
	}
	return e.json(all)
}

// renderPreset prints the flags of a preset; JDKs on which they are the same are listed together.
func renderPreset(w io.Writer, p submission.PresetOnJDKs) {
	var texts []string // in the order of the JDKs
	jdks := map[string][]string{}
	for _, r := range p.JDKs {
		text := strings.Join(r.GetFlags(), " ")
		if r.GetReason() != "" {
			text = "unsupported: " + r.GetReason()
		}
		if jdks[text] == nil {
			texts = append(texts, text)
		}
		jdks[text] = append(jdks[text], r.GetJdk())
	}
	fmt.Fprintf(w, "%s: %s\n", p.Name, p.Does)
	for _, text := range texts {
		fmt.Fprintf(w, "  %s:\n    %s\n", strings.Join(jdks[text], ", "), text)
	}
}
