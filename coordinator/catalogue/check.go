// Package catalogue holds the rules of the shared catalogue: what may be added to it, what of an entry is verified and what is only
// said by its submitter, and how the names of a campaign are resolved in it.
package catalogue

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"google.golang.org/protobuf/proto"

	"misstep/coordinator/campaign"
	"misstep/corpus"
	"misstep/deploy/jdk"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/workloads"
)

// The kinds of entries.
const (
	JDK      = misstepv1.CatalogueKind_CATALOGUE_KIND_JDK
	Workload = misstepv1.CatalogueKind_CATALOGUE_KIND_WORKLOAD
)

// Bounds of an entry and of the catalogue. They are far above what is needed, and keep a request from filling the store.
const (
	MaxEntries = 10_000
	MaxRequest = 1 << 20

	maxLabels  = 32
	maxLabel   = 256
	maxPresets = 256
	maxFlags   = 64
	maxText    = 4096
	minKeep    = time.Hour
	maxFeature = 1 << 10
)

// Word returns what people call a kind: "JDK" or "workload".
func Word(kind misstepv1.CatalogueKind) string {
	if kind == JDK {
		return "JDK"
	}
	return "workload"
}

// Check returns an error that names the first field of a request which is wrong by itself.
func Check(r *misstepv1.AddCatalogueEntryRequest) error {
	if size := proto.Size(r); size > MaxRequest {
		return fmt.Errorf("expected a request of at most %d bytes, got %d", MaxRequest, size)
	}
	switch r.GetKind() {
	case JDK:
		if err := jdk.CheckName(r.GetName()); err != nil {
			return fmt.Errorf("name: %w", err)
		}
		if err := checkFacts(r.GetJdk()); err != nil {
			return fmt.Errorf("jdk.%w", err)
		}
	case Workload:
		if err := workloads.CheckName(strings.TrimPrefix(r.GetName(), suite+"/")); err != nil {
			return fmt.Errorf("name: %w", err)
		}
		if r.GetJdk() != nil {
			return errors.New("jdk: a workload has no facts about a JDK")
		}
	default:
		return errors.New("kind: expected a JDK or a workload")
	}
	if _, err := corpus.ParseDigest(r.GetDigest()); err != nil {
		return fmt.Errorf("digest: %w", err)
	}
	if k := r.GetKeep(); k != nil && (!k.IsValid() || k.AsDuration() < minKeep) {
		return fmt.Errorf("keep: expected at least %v, or nothing to keep it for ever", minKeep)
	}
	return CheckLabels(r.GetLabels())
}

// CheckLabels returns an error that names the first label which is wrong.
func CheckLabels(labels map[string]string) error {
	if len(labels) > maxLabels {
		return fmt.Errorf("labels: expected at most %d, got %d", maxLabels, len(labels))
	}
	for key, value := range labels {
		if err := jdk.CheckName(key); err != nil {
			return fmt.Errorf("labels: %w", err)
		}
		if err := plain(value, maxLabel); err != nil {
			return fmt.Errorf("labels[%s]: %w", key, err)
		}
	}
	return nil
}

func checkFacts(f *misstepv1.JdkFacts) error {
	for _, text := range []struct{ field, text string }{
		{"version", f.GetVersion()}, {"vendor", f.GetVendor()}, {"source", f.GetSource()},
	} {
		if err := plain(text.text, maxText); err != nil {
			return fmt.Errorf("%s: %w", text.field, err)
		}
	}
	switch {
	case f.GetFeature() < 8 || f.GetFeature() > maxFeature:
		return fmt.Errorf("feature: expected a feature version from 8 on, got %d", f.GetFeature())
	case len(f.GetPresets()) > maxPresets:
		return fmt.Errorf("presets: expected at most %d, got %d", maxPresets, len(f.GetPresets()))
	case len(f.GetLacks()) > maxPresets:
		return fmt.Errorf("lacks: expected at most %d, got %d", maxPresets, len(f.GetLacks()))
	}
	for i, p := range f.GetPresets() {
		if err := checkPreset(p); err != nil {
			return fmt.Errorf("presets[%d].%w", i, err)
		}
		if slices.ContainsFunc(f.GetPresets()[:i], func(o *misstepv1.JdkPreset) bool { return o.GetPreset() == p.GetPreset() }) {
			return fmt.Errorf("presets[%d].preset: %s is listed twice", i, p.GetPreset())
		}
	}
	for profiler, reason := range f.GetLacks() {
		if err := errors.Join(jdk.CheckName(profiler), plain(reason, maxText)); err != nil {
			return fmt.Errorf("lacks: %w", err)
		}
	}
	return nil
}

func checkPreset(p *misstepv1.JdkPreset) error {
	switch {
	case p.GetJdk() != "":
		return errors.New("jdk: expected nothing")
	case jdk.CheckName(p.GetPreset()) != nil:
		return fmt.Errorf("preset: %w", jdk.CheckName(p.GetPreset()))
	case len(p.GetFlags()) > maxFlags:
		return fmt.Errorf("flags: expected at most %d, got %d", maxFlags, len(p.GetFlags()))
	case plain(p.GetReason(), maxText) != nil:
		return fmt.Errorf("reason: %w", plain(p.GetReason(), maxText))
	}
	for _, flag := range p.GetFlags() {
		if err := plain(flag, maxLabel); err != nil {
			return fmt.Errorf("flags: %w", err)
		}
		if problem := campaign.FlagProblem(flag); problem != "" {
			return fmt.Errorf("flags: %s", problem)
		}
	}
	return nil
}

// plain returns an error unless text is short and without control characters, which would reach terminals.
func plain(text string, limit int) error {
	if len(text) > limit {
		return fmt.Errorf("expected at most %d bytes, got %d", limit, len(text))
	}
	if i := strings.IndexFunc(text, unicode.IsControl); i >= 0 {
		return fmt.Errorf("has the control character %q", text[i])
	}
	return nil
}

// Retired returns the name of an entry after another one has taken its place: its name and the first digits of its digest.
func Retired(e *misstepv1.CatalogueEntry) string {
	const digits = 12
	_, hex, _ := strings.Cut(e.GetDigest(), ":")
	return e.GetName() + "@" + hex[:min(digits, len(hex))]
}
