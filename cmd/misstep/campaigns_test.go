package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/app/station"
	"misstep/coordinator/campaign"
	"misstep/deploy/jdk/preset"
	"misstep/internal/testenv"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

// presetCampaign reads a file of campaigns/ as a hunt does, where the catalogue is complete.
func presetCampaign(t *testing.T, file string) *misstepv1.Campaign {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	document, err := campaign.Parse(text, filepath.Base(file))
	require.NoError(t, err)
	manifests, err := filepath.Glob(filepath.Join(testenv.Root(), "workloads", "*", "workload.yaml"))
	require.NoError(t, err)
	names := campaign.Names{JDKs: matrix, Presets: preset.Names(), Strategies: station.Strategies()}
	for _, manifest := range manifests {
		names.Workloads = append(names.Workloads, filepath.Base(filepath.Dir(manifest)))
	}
	require.NoError(t, document.Resolve(names))
	return document.Campaign
}

func TestPresetCampaigns(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(testenv.Root(), "campaigns", "*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		c := presetCampaign(t, file)
		assert.Equal(t, filepath.Base(file), c.GetName()+".yaml", "a hunt's folder has the campaign's name")
	}
}

// recordingsCampaign is campaigns/recordings.yaml.
func recordingsCampaign(t *testing.T) *misstepv1.Campaign {
	t.Helper()
	return presetCampaign(t, filepath.Join(testenv.Root(), "campaigns", "recordings.yaml"))
}

// smallestBuffers is the alternative of the campaign of recordings in which JFR has its smallest buffers.
func smallestBuffers(t *testing.T) *misstepv1.Profiler {
	t.Helper()
	all := recordingsCampaign(t).GetProfiler()
	i := slices.IndexFunc(all, func(p *misstepv1.Profiler) bool { return slices.Contains(p.GetOptions(), "threadbuffersize=4k") })
	require.GreaterOrEqual(t, i, 0)
	return all[i]
}

// The campaign of recordings makes each check of recordings under each profiler.
func TestRecordingsCampaignIsWhole(t *testing.T) {
	c := recordingsCampaign(t)
	var checks, profilers []string
	for _, check := range c.GetChecks() {
		checks = append(checks, check.GetName())
	}
	for _, p := range c.GetProfiler() {
		profilers = append(profilers, p.GetName())
	}
	for _, known := range recipe.Checks() {
		if len(known.Profilers) > 0 {
			assert.Contains(t, checks, known.Name)
			assert.Subset(t, profilers, known.Profilers)
		}
	}
	assert.Equal(t, recipe.ProfilerJFR, smallestBuffers(t).GetName())
}
