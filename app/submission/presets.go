package submission

import (
	"context"

	"misstep/deploy/jdk"
	"misstep/deploy/jdk/preset"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner/profiler"
)

// resolvePresets resolves a campaign's presets on one of its JDKs.
func resolvePresets(ctx context.Context, jdks *jdk.Catalogue, spec *misstepv1.Campaign, name string) ([]*misstepv1.JdkPreset,
	error,
) {
	var resolved []*misstepv1.JdkPreset
	for _, f := range spec.GetFlagSets() {
		p, ok := preset.Find(f.GetPreset())
		if !ok { // the flag set names none: unknown names were refused before
			continue
		}
		entry, err := jdks.Get(name)
		if err != nil {
			return nil, err
		}
		supported, err := jdks.Flags(ctx, name)
		if err != nil {
			return nil, err
		}
		resolved = append(resolved, onJDK(p, entry, supported))
	}
	return resolved, nil
}

// onJDK resolves a preset on a JDK that supports these flags.
func onJDK(p preset.Preset, entry jdk.Entry, supported map[string]string) *misstepv1.JdkPreset {
	r := &misstepv1.JdkPreset{Jdk: entry.Name, Preset: p.Name}
	var err error
	if r.Flags, err = p.Flags(entry.Feature, supported); err != nil {
		r.Reason = err.Error()
	}
	return r
}

// Facts describes a JDK of a catalogue for others: what every preset is on it, and which profilers it lacks.
func Facts(ctx context.Context, jdks *jdk.Catalogue, entry jdk.Entry) (*misstepv1.JdkFacts, error) {
	supported, err := jdks.Flags(ctx, entry.Name)
	if err != nil {
		return nil, err
	}
	facts := &misstepv1.JdkFacts{
		Version: entry.Version, Vendor: entry.Vendor, Feature: uint32(entry.Feature), // from 8 on
		HasCompiler: entry.HasCompiler, Lacks: map[string]string{},
	}
	for _, p := range preset.All() {
		r := onJDK(p, entry, supported)
		r.Jdk = ""
		facts.Presets = append(facts.Presets, r)
	}
	for _, p := range profiler.All() {
		if why := p.Supports(profiler.JDK{Home: entry.Path, Feature: entry.Feature}); why != nil {
			facts.Lacks[p.Name()] = why.Error()
		}
	}
	return facts, nil
}

// PresetOnJDKs is a preset of JVM flags with what it is on each JDK of the catalogue.
type PresetOnJDKs struct {
	Name string
	Does string
	// JDKs by name, in the catalogue's order.
	JDKs []*misstepv1.JdkPreset
}

// Presets resolves every preset on every JDK of the catalogue.
func Presets(ctx context.Context, jdks *jdk.Catalogue) ([]PresetOnJDKs, error) {
	entries, err := jdks.List()
	if err != nil {
		return nil, err
	}
	supported := make([]map[string]string, len(entries))
	for i, entry := range entries {
		if supported[i], err = jdks.Flags(ctx, entry.Name); err != nil {
			return nil, err
		}
	}
	var all []PresetOnJDKs
	for _, p := range preset.All() {
		on := PresetOnJDKs{Name: p.Name, Does: p.Does}
		for i, entry := range entries {
			on.JDKs = append(on.JDKs, onJDK(p, entry, supported[i]))
		}
		all = append(all, on)
	}
	return all, nil
}
