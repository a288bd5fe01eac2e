package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"misstep/app/station"
	"misstep/catalogue"
	"misstep/coordinator"
	"misstep/deploy/jdk"
	"misstep/deploy/jdk/preset"
	"misstep/internal/testenv"
	misstepv1 "misstep/proto/misstep/v1"
)

// matrix are the builds that deploy/setup/catalogue.sh brings in.
var matrix = []string{"jdk8", "jdk11", "jdk17", "jdk21", "jdk25", "jdk25-second", "jdk26", "jdk27", "jdk28"}

// catalogued gives the entries of the matrix that are there, and why the others are not.
func catalogued(t *testing.T, home string) (entries map[string]jdk.Entry, missing map[string]string) {
	t.Helper()
	known := jdk.Open(home)
	entries, missing = map[string]jdk.Entry{}, map[string]string{}
	for _, name := range matrix {
		entry, err := known.Get(name)
		if errors.Is(err, catalogue.ErrUnknown) {
			reason, readErr := os.ReadFile(filepath.Join(home, "unavailable", name))
			if errors.Is(readErr, fs.ErrNotExist) {
				reason = []byte("nobody asked for it: run deploy/setup/catalogue.sh all")
			}
			missing[name] = strings.TrimSpace(string(reason))
			continue
		}
		require.NoError(t, err)
		entries[name] = entry
	}
	return entries, missing
}

// eachOfMatrix runs f for each build as a subtest; one that is not there is skipped by name and reason.
func eachOfMatrix(t *testing.T, entries map[string]jdk.Entry, missing map[string]string, f func(*testing.T, jdk.Entry)) {
	t.Helper()
	for _, name := range matrix {
		t.Run(name, func(t *testing.T) {
			if reason, ok := missing[name]; ok {
				t.Skipf("%s cannot be had: %s", name, reason)
			}
			f(t, entries[name])
		})
	}
}

// TestJDKs runs a small campaign on every JDK of the matrix: each check does work, its counts add up, nothing crashes or hangs,
// and JDK-8303444 is found where it is known to be.
func TestJDKs(t *testing.T) {
	if testing.Short() {
		t.Skip("takes minutes; run without -short")
	}
	home := testenv.Home(t)
	entries, missing := catalogued(t, home)
	dir := filepath.Join(t.TempDir(), "hunt")
	names := slices.Sorted(maps.Keys(entries))
	workloads := map[string]int{}
	trialsWanted := 0
	for name, entry := range entries {
		workloads[name] = 3
		if entry.Feature >= 21 { // vthread-yield
			workloads[name]++
		}
		trialsWanted += workloads[name]
	}
	status := runHunt(t, home, dir, fmt.Sprintf(`
name: matrix
seed: 1
jdks: [%s]
workloads:
  - {name: mix, repetitions: 1, arguments: ["4000"], flag_sets: [default]}
  - {name: exceptions, repetitions: 1, arguments: ["15000"], flag_sets: [default]}
  - {name: clinit, repetitions: 1, flag_sets: [c1-comp]}
  - {name: vthread-yield, repetitions: 1, arguments: ["16", "200"], flag_sets: [default]}
flag_sets: [{name: default}, {preset: c1-comp}]
sampling: [{interval: 1ms, jitter: 0.5}]
checks:
  - {name: gst-asgct, share: 0.002}
  - {name: shadow-gst, share: 0.002}
  - {name: asgct-shadow}
  - {name: asgct-gst-bracket, share: 0.2}
  - {name: edges}
  - {name: liveness}
budget: {trials: %d}
`, strings.Join(names, ", "), trialsWanted), "--slots", "2")
	require.Equal(t, misstepv1.CampaignState_CAMPAIGN_STATE_DONE, status.GetState())

	st, err := station.Embed(dir, coordinator.Config{})
	require.NoError(t, err)
	defer st.Close()
	findings, err := st.ListFindings(t.Context(), &misstepv1.ListFindingsRequest{CampaignId: status.GetId()})
	require.NoError(t, err)
	upcall := map[string]bool{} // the JDKs on which JDK-8303444 was seen
	nameless := uint64(0)       // trials with something that is no known bug: a false positive would come in many
	for _, f := range findings.GetFindings() {
		if f.GetKnownAs() == "" {
			t.Logf("%d trials with %s, %s", f.GetHits(), f.GetId(), f.GetTitle())
			nameless += f.GetHits()
			require.NotContains(t, f.GetSignature().GetParts(), "gst-asgct", f.GetTitle())
			require.NotContains(t, f.GetSignature().GetParts(), "shadow-gst", f.GetTitle())
		}
		for _, r := range f.GetRates() {
			if f.GetKnownAs() == "JDK-8303444" && r.GetHits() > 0 {
				upcall[r.GetJdk()] = true
			}
		}
	}
	require.LessOrEqual(t, nameless, uint64(2))
	trials := map[string][]*misstepv1.Trial{}
	for _, trial := range trialsOf(t, st, status.GetId()) {
		name := trial.GetRecipe().GetJdk().GetName()
		require.Nil(t, trial.GetFailure(), "%s on %s", trial.GetRecipe().GetWorkload().GetName(), name)
		trials[name] = append(trials[name], trial)
	}
	eachOfMatrix(t, entries, missing, func(t *testing.T, entry jdk.Entry) {
		require.Len(t, trials[entry.Name], workloads[entry.Name])
		var brackets uint64
		for _, trial := range trials[entry.Name] {
			o, name := trial.GetOutcome(), trial.GetRecipe().GetWorkload().GetName()
			t.Logf("%s: %s %s", name, o.GetKind(), o.GetReason())
			require.Contains(t, []misstepv1.OutcomeKind{
				misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN,
				misstepv1.OutcomeKind_OUTCOME_KIND_MISMATCHES,
			},
				o.GetKind(), "%s: %s", name, o.GetReason())
			requireChecked(t, name, trial)
			for _, c := range trial.GetOutcome().GetChecks() {
				t.Logf("%s: %v", name, c)
				if c.GetCheck() == "asgct-gst-bracket" {
					brackets += c.GetMatch() + c.GetMismatch() + total(c.GetTolerated())
				}
			}
		}
		require.NotZero(t, brackets, "asgct-gst-bracket did nothing on %s", entry.Name)
		require.Equal(t, entry.Feature > 8, upcall[entry.Name], "JDK-8303444: on 8 it was never seen (docs/figures/0004)")
	})
}

// requireChecked asks that every check that the recipe wants did work and that its verdicts add up. A bracket needs two signals
// that can be walked and a safepoint in between: a short run may come to its end without one.
func requireChecked(t *testing.T, name string, trial *misstepv1.Trial) {
	t.Helper()
	counts := map[string]*misstepv1.CheckCount{}
	for _, c := range trial.GetOutcome().GetChecks() {
		counts[c.GetCheck()] = c
	}
	for _, want := range trial.GetRecipe().GetChecks() {
		c := counts[want.GetName()]
		compared := c.GetMatch() + c.GetMismatch() + total(c.GetTolerated())
		if want.GetName() != "asgct-gst-bracket" {
			require.NotZero(t, compared, "%s did nothing in %s", want.GetName(), name)
		}
		require.Equal(t, c.GetTotal(), compared+total(c.GetUnwalkable())+total(c.GetVoid()), "verdicts of %s in %s",
			want.GetName(), name)
	}
	signals := trial.GetOutcome().GetSignals()
	require.Positive(t, signals.GetAnswered(), name)
	require.LessOrEqual(t, signals.GetAnswered(), signals.GetDelivered(), name)
	require.LessOrEqual(t, signals.GetDelivered(), signals.GetSent(), name)
}

// TestPresetsStart starts every JDK of the matrix with every preset that it is said to do: none may be refused or ignored.
func TestPresetsStart(t *testing.T) {
	home := testenv.Home(t)
	entries, missing := catalogued(t, home)
	able := map[string]int{}
	eachOfMatrix(t, entries, missing, func(t *testing.T, entry jdk.Entry) {
		has, err := jdk.Open(home).Flags(t.Context(), entry.Name)
		require.NoError(t, err)
		var group errgroup.Group
		group.SetLimit(2)
		for _, p := range preset.All() {
			flags, err := p.Flags(entry.Feature, has)
			if err != nil {
				continue
			}
			able[p.Name]++
			group.Go(func() error {
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
				defer cancel()
				out, err := exec.CommandContext(ctx, filepath.Join(entry.Path, "bin", "java"), append(flags, "-Xmx64m",
					"-version")...).CombinedOutput()
				for line := range strings.Lines(string(out)) {
					// It also says which flags a later version will lack.
					if strings.Contains(line, "VM warning") && !strings.Contains(line, "deprecated") {
						err = errors.Join(err, errors.New(line))
					}
				}
				if err != nil {
					return fmt.Errorf("%s: %v: %w\n%s", p.Name, flags, err, out)
				}
				return nil
			})
		}
		require.NoError(t, group.Wait())
	})
	if len(missing) == 0 {
		for _, p := range preset.All() {
			require.NotZero(t, able[p.Name], "no JDK of the matrix can do %s", p.Name)
		}
	}
}
