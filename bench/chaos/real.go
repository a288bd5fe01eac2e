package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"misstep/app/local"
	"misstep/app/submission"
)

// realRunners is the number of runners of real JVMs, with one slot each.
const realRunners = 3

// realPause is the mean time between two faults of a fleet whose trials take seconds.
const realPause = 2 * time.Second

// realCampaign shows JDK-8303444 in every trial, thousands of times. With every call checked most of a trial's time would go there.
const realCampaign = `
name: chaos
seed: %d
jdks: [jdk17]
workloads: [{name: clinit, repetitions: 1, arguments: ["1"]}]
flag_sets: [{name: c1, flags: [-XX:TieredStopAtLevel=1, -Xcomp]}]
checks: [{name: gst-asgct, share: 0.2}]
budget: {trials: 1}
`

// realPhase returns the phase of runners of real JVMs in a folder, with blobs in a folder or in a bucket. program is the misstep
// binary.
func realPhase(
	ctx context.Context, dir string, seed uint64, bucket bool, i local.Installation, program string,
) (phase, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return phase{}, err
	}
	spec := filepath.Join(dir, "campaign.yaml")
	if err := os.WriteFile(spec, fmt.Appendf(nil, realCampaign, seed), 0o644); err != nil {
		return phase{}, err
	}
	request, _, err := submission.Load(ctx, i, spec)
	if err != nil {
		return phase{}, err
	}
	p := phase{name: "real JVMs", dir: dir, seed: seed, diskMiB: 1500, bucket: bucket}
	cast := func(station, scratch, temporary string) scene {
		return scene{
			runners: realRunners, meanPause: realPause, patience: patience, request: request,
			environment: []string{"MISSTEP_HOME=" + i.Home, "MISSTEP_AGENT=" + i.AgentDir, "TMPDIR=" + temporary},
			coordinator: func(_ int, store, blobs, address string) []string {
				line := []string{program, "coordinator", "--listen", address, "--dir", station, "--lease-time", leaseTime.String()}
				if store != "" {
					line = append(line, "--store", store)
				}
				if blobs != "" {
					line = append(line, "--blobs", blobs)
				}
				return line
			},
			runner: func(_ int, addresses string) []string {
				return []string{
					program, "runner", "--coordinator", addresses, "--slots", "1", "--scratch", scratch,
					"--drain", drainTime.String(),
				}
			},
		}
	}
	// The runners' scratch folder is on the disk that may be full.
	scratch, temporary := filepath.Join(p.disk(), "scratch"), filepath.Join(dir, "tmp")
	p.disturbed = cast(p.disk(), scratch, temporary)
	p.calm = cast(p.calmStation(), filepath.Join(dir, "calm", "scratch"), temporary)
	p.left = func(f *fleet) ([]string, error) { return leftByTrials(f, scratch, temporary) }
	return p, os.MkdirAll(temporary, 0o755)
}

// leftByTrials lists what trials left: processes, control groups, folders, temporary files, a scheduler.
func leftByTrials(f *fleet, scratch, temporary string) (left []string, err error) {
	processes, err := processesWith("MISSTEP_TRIAL=" + scratch)
	left = append(left, processes...)
	var pids []string
	for _, r := range f.runners {
		for _, pid := range r.Pids {
			pids = append(pids, fmt.Sprint(pid))
		}
	}
	group := regexp.MustCompile(`^trial-(` + strings.Join(pids, "|") + `)-\d+-[0-9a-f]{16}$`)
	walked := filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && group.MatchString(d.Name()) {
			left = append(left, path)
		}
		return nil // groups come and go
	})
	for _, dir := range []string{scratch, filepath.Join(scratch, "machines"), temporary} {
		entries, readErr := os.ReadDir(dir)
		if readErr != nil && !errors.Is(readErr, fs.ErrNotExist) {
			err = errors.Join(err, readErr)
		}
		for _, e := range entries {
			if e.Name() != "machines" {
				left = append(left, filepath.Join(dir, e.Name()))
			}
		}
	}
	if data, stateErr := os.ReadFile("/sys/kernel/sched_ext/state"); stateErr == nil {
		if state := strings.TrimSpace(string(data)); state != "disabled" {
			left = append(left, "sched_ext is "+state)
		}
	}
	return left, errors.Join(err, walked)
}
