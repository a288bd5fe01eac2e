package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	misstepv1 "misstep/proto/misstep/v1"
)

// Size of the simulated fleet.
const (
	simulatedRunners = 8
	simulatedSlots   = 4
	simulatedTrial   = 100 * time.Millisecond
	simulatedPause   = 150 * time.Millisecond
)

// simulatedPhase returns the phase of simulated runners in a folder, with blobs in a folder or in a bucket.
func simulatedPhase(dir string, seed uint64, bucket bool) (phase, error) {
	self, err := os.Executable()
	if err != nil {
		return phase{}, fmt.Errorf("find this program: %w", err)
	}
	shifts := clocks(filepath.Join(dir, "clocks"))
	cast := func(station string, trial time.Duration) scene {
		return scene{
			runners: simulatedRunners, meanPause: simulatedPause, patience: patience, clocks: shifts,
			request: simulatedRequest(seed),
			coordinator: func(i int, store, blobs, address string) []string {
				return []string{self, roleCoordinator, station, store, blobs, address, shifts.all(), shifts.file("coordinator", i)}
			},
			runner: func(i int, addresses string) []string {
				return []string{self, roleRunner, addresses, strconv.Itoa(simulatedSlots), trial.String(), shifts.file("runner", i)}
			},
		}
	}
	p := phase{name: "simulated runners", dir: dir, seed: seed, exact: true, diskMiB: 512, bucket: bucket}
	if bucket {
		p.name += ", bucket"
	}
	p.disturbed, p.calm = cast(p.disk(), simulatedTrial), cast(p.calmStation(), 0)
	p.calm.clocks = ""
	return p, nil
}

// simulatedRequest asks for a campaign of simulated trials.
func simulatedRequest(seed uint64) *misstepv1.SubmitCampaignRequest {
	digest := func(c string) string { return "sha256:" + strings.Repeat(c, 64) }
	return &misstepv1.SubmitCampaignRequest{
		Campaign: &misstepv1.Campaign{
			Name: "chaos", Seed: seed, Jdks: []string{"17", "25"},
			Workloads: []*misstepv1.CampaignWorkload{{Name: "one"}, {Name: "two"}},
			Checks:    []*misstepv1.Check{{Name: "gst-asgct"}, {Name: "liveness"}},
		},
		Jdks:      []*misstepv1.Jdk{{Name: "17", Digest: digest("a")}, {Name: "25", Digest: digest("b")}},
		Workloads: []*misstepv1.Workload{{Name: "one", Digest: digest("c")}, {Name: "two", Digest: digest("d")}},
	}
}
