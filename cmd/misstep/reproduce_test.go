package main

import (
	"context"
	"io"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"misstep/coordinator/triage"
	"misstep/bundle"
	"misstep/corpus/memory"
	"misstep/deploy/jdk"
	"misstep/internal/testenv"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner"
	"misstep/runner/sim"
)

// A try that shows what was merged into the finding is a hit, as it is for the coordinator.
func TestMergedFindingIsShownByEither(t *testing.T) {
	outcome := func(kind string) *misstepv1.Outcome {
		o := sim.Mismatch("Bug")(&misstepv1.Recipe{}, rand.New(rand.NewPCG(1, 1)))
		o.Mismatches[0].Kind = kind
		return o
	}
	of := func(kind string) triage.Hit {
		hits := triage.Triage(outcome(kind))
		require.Len(t, hits, 1)
		return hits[0]
	}
	finding := &misstepv1.Finding{Id: of("truncated").ID, Signature: of("truncated").Signature, Aliases: []string{of("wrong-bci").ID}}
	seen := replayResult{Others: map[string]int{}}
	for _, kind := range []string{"truncated", "wrong-bci", "duplicate"} {
		seen.count(outcome(kind), shows(finding))
	}
	assert.Equal(t, 2, seen.Hits)
	assert.Equal(t, map[string]int{of("duplicate").ID: 1}, seen.Others)
}

// The bundle of a finding that was merged is the other's reproducer, and expects what its recipe shows, also when that is the merged one's stacks.
func TestBundleOfMergedFindings(t *testing.T) {
	st, err := embed(t.TempDir(), huntTiming(slog.New(slog.DiscardHandler)))
	require.NoError(t, err)
	defer st.close()
	e := &env{cli: &cli{Home: testenv.Home(t), Agent: testenv.Agent(t)}, stderr: io.Discard}
	artefacts, err := e.agent()
	require.NoError(t, err)
	workload, err := e.workloads().Get("clinit")
	require.NoError(t, err)
	submitted, err := st.SubmitCampaign(t.Context(), &misstepv1.SubmitCampaignRequest{
		Campaign: &misstepv1.Campaign{
			Name: "sim", Seed: 3, Jdks: []string{"jdk17"}, Workloads: []*misstepv1.CampaignWorkload{{Name: "clinit", Repetitions: 1}},
			Checks: []*misstepv1.Check{{Name: "gst-asgct"}}, Budget: &misstepv1.Budget{Trials: 1},
		},
		Jdks:      []*misstepv1.Jdk{{Name: "jdk17", Digest: "sha256:" + strings.Repeat("a", 64)}},
		Workloads: []*misstepv1.Workload{{Name: "clinit", Digest: workload.Digest.String()}}, AgentDigest: artefacts.Digest,
	})
	require.NoError(t, err)
	var alone atomic.Bool // the second finding does not show any more
	bug, err := sim.New(sim.Script{Events: []sim.Event{{Rate: 1, Outcome: sim.Mismatch("Bug")}}}, runner.SystemClock{})
	require.NoError(t, err)
	machine := runner.ExecutorFunc(func(ctx context.Context, r *misstepv1.Recipe, progress func(*misstepv1.Progress)) (*misstepv1.Outcome, error) {
		o, err := bug.Run(ctx, r, progress)
		if err == nil && !alone.Load() {
			o.Mismatches = append(o.Mismatches, proto.CloneOf(o.GetMismatches()[0]))
			o.Mismatches[1].Kind = "wrong-bci"
		}
		return o, err
	})
	meanwhile(t, st, artefacts.Digest, machine, func() { require.NoError(t, watch(t.Context(), io.Discard, st, submitted.GetCampaignId())) })
	found, err := st.ListFindings(t.Context(), &misstepv1.ListFindingsRequest{})
	require.NoError(t, err)
	require.Len(t, found.GetFindings(), 2)
	head, merged := found.GetFindings()[0], found.GetFindings()[1]
	if head.GetSignature().GetParts()[1] == "truncated" {
		head, merged = merged, head
	}
	_, err = st.MergeFindings(t.Context(), &misstepv1.MergeFindingsRequest{FindingId: merged.GetId(), IntoId: head.GetId()})
	require.NoError(t, err)
	alone.Store(true)
	started, err := st.StartReproduction(t.Context(), &misstepv1.StartReproductionRequest{FindingId: merged.GetId(), Trials: 60})
	require.NoError(t, err)
	meanwhile(t, st, artefacts.Digest, machine, func() {
		s, err := watchReproduction(t.Context(), io.Discard, st, started.GetReproductionId())
		require.NoError(t, err)
		require.Equal(t, misstepv1.ReproductionState_REPRODUCTION_STATE_DONE, s.GetState(), s.GetFailure())
	})
	for _, id := range []string{head.GetId(), merged.GetId()} {
		path := filepath.Join(t.TempDir(), "b.zip")
		require.NoError(t, e.writeBundle(t.Context(), st, id, path, ""))
		b, err := bundle.Open(path)
		require.NoError(t, err)
		defer b.Close()
		f := b.Reproducer().GetFinding()
		assert.NotEmpty(t, b.Reproducer().GetSteps(), "%s: the example as it was found", id)
		assert.Equal(t, head.GetId(), f.GetId())
		assert.Equal(t, []string{merged.GetId()}, f.GetAliases())
		assert.True(t, proto.Equal(merged.GetSignature(), f.GetSignature()), "%v", f.GetSignature())
	}
}

// A bundle is tried on the very build of its reproducer: from the catalogue, else from the coordinator's corpus, never on what JAVA_HOME names.
func TestBundleIsTriedOnItsOwnBuild(t *testing.T) {
	catalogue := jdk.Open(testenv.Home(t))
	entry, err := catalogue.Get("jdk17")
	require.NoError(t, err)
	t.Setenv("JAVA_HOME", entry.Path)
	at := func(home string) *env { return &env{cli: &cli{Home: home}, stderr: io.Discard} }
	own := &misstepv1.Jdk{Name: "jdk17", Digest: entry.Digest.String(), Version: entry.Version}

	home, err := at(testenv.Home(t)).sameBuild(t.Context(), memory.New(), own)
	require.NoError(t, err)
	assert.Empty(t, home, "the catalogue has it")

	_, err = at(t.TempDir()).sameBuild(t.Context(), memory.New(), own)
	require.ErrorContains(t, err, entry.Digest.String())
	require.ErrorContains(t, err, "jdk17")
	require.ErrorContains(t, err, "--clean-tries 0")
}

func TestPerturbationsToAmplifyBy(t *testing.T) {
	recipe := &misstepv1.Recipe{Checks: []*misstepv1.Check{{Name: "gst-asgct"}}}
	inMachine := &misstepv1.Recipe{Executor: "vm"}
	one := func(strategy, mechanism string) []*misstepv1.Perturbation {
		return []*misstepv1.Perturbation{{Strategy: strategy, Mechanism: mechanism}}
	}
	for _, c := range []struct {
		names  []string
		recipe *misstepv1.Recipe
		have   []string
		want   []*misstepv1.Perturbation
		err    string
	}{
		{nil, recipe, nil, one("chaos", "agent"), ""},
		{[]string{"none"}, recipe, nil, nil, ""},
		{[]string{"delay@agent"}, recipe, nil, one("delay", "agent"), ""},
		{[]string{"chaos"}, recipe, []string{"sched_ext"}, one("chaos", ""), ""},
		{[]string{"chaos"}, inMachine, nil, one("chaos", ""), ""},
		{[]string{"chaos"}, recipe, nil, nil, "chaos: this machine has no sched_ext; chaos@agent"},
		{[]string{"chaos@sched_ext"}, recipe, []string{"vm"}, nil, "no sched_ext"},
		{[]string{"chaos@agent"}, inMachine, nil, nil, "no points"},
		{[]string{"chaos@magic"}, recipe, nil, nil, `no mechanism is called "magic"`},
		{[]string{"mayhem@agent"}, recipe, nil, nil, `no strategy is called "mayhem"`},
	} {
		got, err := perturbations(c.names)
		if err == nil {
			err = impossible(got, c.recipe, c.have)
		}
		if c.err != "" {
			require.ErrorContains(t, err, c.err, "%v", c.names)
			continue
		}
		require.NoError(t, err, "%v", c.names)
		require.Len(t, got, len(c.want), "%v", c.names)
		for i := range got {
			assert.True(t, proto.Equal(c.want[i], got[i]), "%v: %v", c.names, got)
		}
	}
}
