package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// bundled is what came of a hunt for a bug of a library in machines with virtual time.
type bundled struct {
	Race   string `json:"race"`
	Trials int    `json:"trials"`
	// Finding that the first bundle is of; empty: no trial hung or failed.
	Finding string `json:"finding,omitempty"`
	Bytes   int64  `json:"bytes,omitempty"`
	// Of the tries of its replay: hits, and those by the very decisions of the bundle's log.
	Tries        int `json:"tries,omitempty"`
	Hits         int `json:"hits,omitempty"`
	SameSchedule int `json:"same_schedule,omitempty"`
}

func (b bundled) String() string {
	if b.Finding == "" {
		return fmt.Sprintf("none: no finding in %d trials", b.Trials)
	}
	return fmt.Sprintf("%d KiB, shows it in %d of %d, %d by the same decisions", b.Bytes>>10, b.Hits, b.Tries, b.SameSchedule)
}

const (
	bundleTrials = 1 // of a hunt, under chaos
	bundleTries  = 1
	bundleRounds = 2000
	forEver      = 86400 // seconds after which the program itself says that a thread hangs: the trial's limit comes before
)

// bundles has the product hunt for each bug, as a user would, and replay the bundle that it writes.
func (l *lab) bundles(ctx context.Context, s *store) error {
	for _, bug := range libraryBugs {
		known := func(e entry) bool { return e.Bundle.Race == bug }
		if !l.measures(bug) || slices.ContainsFunc(s.of(kindBundle, l.digests[bug]), known) {
			continue
		}
		b, err := l.bundle(ctx, bug)
		if err != nil {
			return fmt.Errorf("bundle of %s: %w", bug, err)
		}
		if err := s.Add(entry{Kind: kindBundle, Fingerprint: l.digests[bug], Bundle: &b}); err != nil {
			return err
		}
	}
	return nil
}

func (l *lab) bundle(ctx context.Context, bug string) (bundled, error) {
	b := bundled{Race: bug, Trials: bundleTrials}
	home, err := l.bundleHome(ctx)
	if err != nil {
		return b, err
	}
	campaign := filepath.Join(l.scratch, bug+".yaml")
	text := fmt.Sprintf(`name: %[1]s
seed: 1
jdks: [jdk]
workloads: [{name: libraries, arguments: [%[1]s, "%[2]d", "%[3]d"]}]
checks: [{name: liveness}]
flag_sets: [{name: c1, flags: ["-XX:TieredStopAtLevel=1", -XX:+UseSerialGC]}]
perturb: [{strategy: chaos}]
executor: vm-deterministic
limits: {wall: 30s, memory_mib: 512}
failure_findings: true
budget: {trials: %[4]d}
`, bug, bundleRounds, forEver, bundleTrials)
	if err := os.WriteFile(campaign, []byte(text), 0o644); err != nil {
		return b, fmt.Errorf("writing a campaign: %w", err)
	}
	dir := filepath.Join(l.scratch, bug)
	if _, err := l.misstep(ctx, home, "hunt", campaign, "--dir", dir, "--slots", "1", "--embed"); err != nil {
		return b, err
	}
	paths, err := filepath.Glob(filepath.Join(dir, "bundles", "*.zip"))
	if err != nil || len(paths) == 0 {
		return b, err
	}
	info, err := os.Stat(paths[0])
	if err != nil {
		return b, fmt.Errorf("looking at a bundle: %w", err)
	}
	b.Bytes, b.Finding = info.Size(), strings.TrimSuffix(filepath.Base(paths[0]), ".zip")
	out, err := l.misstep(ctx, home, "replay", paths[0], "--tries", fmt.Sprint(bundleTries), "--json")
	if err != nil {
		return b, err
	}
	var replayed struct {
		Tries        int `json:"tries"`
		Hits         int `json:"hits"`
		SameSchedule int `json:"same_schedule"`
	}
	if err := json.Unmarshal(out, &replayed); err != nil {
		return b, fmt.Errorf("reading the result of a replay: %w: %.200q", err, out)
	}
	b.Tries, b.Hits, b.SameSchedule = replayed.Tries, replayed.Hits, replayed.SameSchedule
	return b, nil
}

// bundleHome makes a catalogue with the programs, for this run only, with the cache of the other one.
func (l *lab) bundleHome(ctx context.Context) (string, error) {
	home := filepath.Join(l.scratch, "home")
	if _, err := os.Stat(home); err == nil {
		return home, nil
	}
	if err := os.Mkdir(home, 0o755); err != nil {
		return "", fmt.Errorf("making a catalogue: %w", err)
	}
	if err := os.Symlink(filepath.Join(l.home, "cache"), filepath.Join(home, "cache")); err != nil {
		return "", fmt.Errorf("making a catalogue: %w", err)
	}
	for _, command := range [][]string{
		{"jdk", "add", "jdk", filepath.Dir(filepath.Dir(l.java))},
		{"workload", "add", l.libraries},
	} {
		if _, err := l.misstep(ctx, home, command...); err != nil {
			return "", err
		}
	}
	return home, nil
}

// exitNotReproduced is the exit code of a replay that did not show the finding.
const exitNotReproduced = 1

// misstep runs the product and returns its output.
func (l *lab) misstep(ctx context.Context, home string, args ...string) ([]byte, error) {
	program, err := filepath.Abs(filepath.Join("build", "bin", "misstep"))
	if err != nil {
		return nil, fmt.Errorf("finding misstep: %w", err)
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), "MISSTEP_HOME="+home)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != exitNotReproduced) {
		return nil, fmt.Errorf("misstep %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return out, nil
}
