package compare_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/app/compare"
	"misstep/app/executors"
	"misstep/app/local"
	"misstep/internal/faults"
	"misstep/internal/paired"
	"misstep/internal/testenv"
)

const campaign = `
name: planted
jdks: [jdk17]
workloads: [{name: clinit, repetitions: 1}]
checks: [{name: gst-asgct, share: 0.5}]
flag_sets: [{name: c1, flags: ["-XX:TieredStopAtLevel=1"]}]
budget: {trials: 16}
`

// A build of a JDK whose walks lose frames, by the fault injector, is worse than the same build without it.
func TestPlantedFaultsAreWorse(t *testing.T) {
	library := filepath.Join(testenv.Root(), "build", "agent-injector", faults.LibraryName)
	text, err := os.ReadFile(library)
	if err != nil {
		t.Skipf("no injector, run `make agent`: %v", err)
	}
	at := local.Installation{Home: testenv.Home(t), AgentDir: testenv.Agent(t)}
	plain, err := at.JDKs().Get("jdk17")
	require.NoError(t, err)
	scratch, remove, err := executors.Scratch("misstep-broken-")
	require.NoError(t, err)
	t.Cleanup(remove)
	broken := filepath.Join(scratch, "jdk")
	require.NoError(t, os.Mkdir(broken, 0o755))
	inside := filepath.Join(broken, faults.LibraryName) // where a confined JVM can read it
	require.NoError(t, os.WriteFile(inside, text, 0o755))
	require.NoError(t, faults.Wrap(broken, plain.Path, inside, faults.Plan{
		Classes: []string{faults.DropMiddle}, Rate: 0.2, Trials: 1, Where: "entry",
	}))
	file := filepath.Join(t.TempDir(), "campaign.yaml")
	require.NoError(t, os.WriteFile(file, []byte(campaign), 0o644))

	dir := filepath.Join(t.TempDir(), "compared")
	r, err := compare.Comparison{
		Installation: at, Campaign: file, Sides: [2]compare.Build{{JDK: "jdk17"}, {JDK: broken}}, Slots: 2,
		Margin: compare.Margin, Level: compare.Level, Say: t.Logf, Logger: slog.New(slog.DiscardHandler), Dir: dir,
	}.Run(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 8, r.Pairs, "half of the campaign's trials")
	assert.Equal(t, paired.Worse, r.Overall)
	for _, m := range r.Walkers {
		if m.Of == "gst-asgct" && m.What == "wrong" {
			assert.Equal(t, paired.Worse, m.Verdict)
			assert.Equal(t, 8, m.Trials[compare.After], "one walk in five is wrong")
			assert.LessOrEqual(t, m.Adjusted, compare.Level)
		}
	}
	f, err := os.Open(filepath.Join(dir, compare.TrialsFile))
	require.NoError(t, err)
	defer f.Close()
	trials, err := compare.ReadTrials(f)
	require.NoError(t, err)
	require.Len(t, trials, 16)
	first := [2]int{}
	for _, x := range trials {
		if x.First {
			first[x.Side]++
		}
	}
	assert.Equal(t, 8, first[0]+first[1])
	assert.NotContains(t, first, 8, "chance decides which side is first")
	for i := 0; i < len(trials); i += 2 {
		assert.Equal(t, trials[i].Seed, trials[i+1].Seed, "a pair has one recipe")
	}
}
