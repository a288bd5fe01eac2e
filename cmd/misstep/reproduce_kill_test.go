package main

import (
	"context"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"misstep/app/station"
	"misstep/coordinator/reproduce"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner"
	"misstep/runner/sim"
)

// simulatedRecipes counts how often each recipe was run, whatever became of the result.
type simulatedRecipes struct {
	mu  sync.Mutex
	ran map[string]int
}

// simulated is a machine on which a bug shows by recipe: a rare one, which the flag -XX:-Inline makes frequent, and which needs
// -Xcomp and a build from 18 on. The recipe alone decides, so the same trial has the same result whenever it is run.
func (s *simulatedRecipes) simulated(t *testing.T) runner.Executor {
	t.Helper()
	shows := sim.Mismatch("Bug")
	rate := func(r *misstepv1.Recipe) float64 {
		switch {
		case !slices.Contains(r.GetJvmFlags(), "-Xcomp"), r.GetJdk().GetName() < "jdk18":
			return 0
		case slices.Contains(r.GetJvmFlags(), "-XX:-Inline"):
			return 0.6
		}
		return 0.15
	}
	return runner.ExecutorFunc(
		func(ctx context.Context, r *misstepv1.Recipe, progress func(*misstepv1.Progress)) (*misstepv1.Outcome,
			error,
		) {
			digest, err := misstepv1.RecipeDigest(r)
			if err != nil {
				return nil, err
			}
			s.mu.Lock()
			s.ran[digest]++
			s.mu.Unlock()
			h := fnv.New64a()
			_, _ = h.Write([]byte(digest))
			script := sim.Script{Seed: h.Sum64(), Duration: 5 * time.Millisecond, Events: []sim.Event{{
				Rate: rate(r),
				Outcome: func(r *misstepv1.Recipe, random *rand.Rand) *misstepv1.Outcome {
					o := shows(r, rand.New(rand.NewPCG(1, 1))) // the same stacks each time
					o.Mismatches[0].Sequence = random.Uint64N(1 << 20)
					return o
				},
			}}}
			machine, err := sim.New(script, runner.SystemClock{})
			if err != nil {
				return nil, err
			}
			return machine.Run(ctx, r, progress)
		},
	)
}

// reproduceUnderFire runs a reproduction on a coordinator that is a process of its own. It is killed with SIGKILL and started
// again once in the middle of each of the steps given, after a trial of that step was recorded.
func reproduceUnderFire(t *testing.T, kill []string) (result *misstepv1.Reproducer, recipes map[string]int, kills int,
	trials uint64,
) {
	t.Helper()
	dir, addr := t.TempDir(), freePort(t)
	log := filepath.Join(dir, "log")
	t.Cleanup(func() {
		if t.Failed() {
			text, _ := os.ReadFile(log)
			t.Logf("log:\n%.20000s", text)
		}
	})
	start := func() *exec.Cmd {
		return process(t, filepath.Join(dir, "home"), log, "coordinator", "--listen", addr, "--dir", filepath.Join(dir, "station"),
			"--lease-time", "1s")
	}
	coordinator := start()
	t.Cleanup(func() {
		_ = coordinator.Process.Kill()
		_ = coordinator.Wait()
	})
	st, err := station.Dial(addr)
	require.NoError(t, err)
	t.Cleanup(st.Close)

	counted := &simulatedRecipes{ran: map[string]int{}}
	const slots = 2
	r, err := runner.New(runner.Config{
		Client: st.Leases, Executor: counted.simulated(t), Slots: slots, Host: "sim",
		Backoff: func() backoff.BackOff { return backoff.NewConstantBackOff(20 * time.Millisecond) },
	})
	require.NoError(t, err)
	working, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(working) }()
	defer func() {
		stop()
		t.Logf("the runner that was cut short: %v", <-done)
	}()

	build := func(name, digit string) *misstepv1.Jdk {
		return &misstepv1.Jdk{Name: name, Digest: "sha256:" + strings.Repeat(digit, 64), Version: strings.TrimPrefix(name,
			"jdk") + ".0.1+1"}
	}
	submit := &misstepv1.SubmitCampaignRequest{
		Campaign: &misstepv1.Campaign{
			Name: "sim", Seed: 3, Jdks: []string{"jdk21"}, Workloads: []*misstepv1.CampaignWorkload{{Name: "w", Repetitions: 1}},
			Checks: []*misstepv1.Check{{Name: "gst-asgct"}, {Name: "liveness"}},
			FlagSets: []*misstepv1.FlagSet{{Name: "some", Flags: []string{
				"-Xcomp", "-Xss1m",
				"-Xmx64m",
			}}}, Budget: &misstepv1.Budget{Trials: 60},
		},
		Jdks:      []*misstepv1.Jdk{build("jdk21", "4")},
		Workloads: []*misstepv1.Workload{{Name: "w", Digest: "sha256:" + strings.Repeat("b", 64)}},
	}
	call := func(what string, f func(ctx context.Context) error) {
		require.Eventually(t, func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			return f(ctx) == nil
		}, 30*time.Second, 20*time.Millisecond, what)
	}
	call("submit", func(ctx context.Context) error { _, err := st.SubmitCampaign(ctx, submit); return err })
	finding := ""
	call("find", func(ctx context.Context) error {
		list, err := st.ListCampaigns(ctx, &misstepv1.ListCampaignsRequest{})
		if err == nil && list.GetCampaigns()[0].GetState() == misstepv1.CampaignState_CAMPAIGN_STATE_DONE {
			finding = list.GetCampaigns()[0].GetFindingIds()[0]
			return nil
		}
		return context.DeadlineExceeded
	})
	request := &misstepv1.StartReproductionRequest{FindingId: finding, Seed: 11, Time: durationpb.New(10 * time.Minute)}
	for i, name := range []string{"jdk11", "jdk17", "jdk18", "jdk21", "jdk25"} {
		request.Builds = append(request.Builds, &misstepv1.JdkBuild{Jdk: build(name, string(rune('1'+i))), Feature: []uint32{
			11, 17, 18,
			21, 25,
		}[i]})
	}
	id := ""
	call("start", func(ctx context.Context) error {
		response, err := st.StartReproduction(ctx, request)
		id = response.GetReproductionId()
		return err
	})
	deadline := time.Now().Add(2 * time.Minute)
	for {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		response, err := st.GetReproduction(ctx, &misstepv1.GetReproductionRequest{ReproductionId: id})
		cancel()
		s := response.GetReproduction()
		if err == nil && s.GetState() != misstepv1.ReproductionState_REPRODUCTION_STATE_RUNNING {
			require.Equal(t, misstepv1.ReproductionState_REPRODUCTION_STATE_DONE, s.GetState(), s.GetFailure())
			require.Empty(t, kill, "steps in which nobody was killed")
			return s.GetReproducer(), counted.ran, kills, s.GetTrials()
		}
		require.True(t, time.Now().Before(deadline), "the reproduction does not end: %v", s)
		if step := lastStep(s); err == nil && len(kill) > 0 && step.GetName() == kill[0] && step.GetTries() > 0 {
			require.NoError(t, coordinator.Process.Kill())
			_ = coordinator.Wait()
			kill, kills = kill[1:], kills+1
			coordinator = start()
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// TestReproductionKilledInEachStep: a coordinator that is killed in the middle of each step continues, repeats at most the trials
// that were in flight, and ends with the same reproducer as one that was left in peace.
func TestReproductionKilledInEachStep(t *testing.T) {
	steps := []string{
		reproduce.StepConfirm, reproduce.StepAmplify, reproduce.StepMinimise, reproduce.StepBisect,
		reproduce.StepVerify,
	}
	peaceful, once, _, trials := reproduceUnderFire(t, nil)
	killed, ran, kills, again := reproduceUnderFire(t, slices.Clone(steps))
	require.Equal(t, len(steps), kills)
	assert.Equal(t, trials, again, "trials recorded")
	repeated := 0
	for recipe, n := range ran {
		require.Contains(t, once, recipe, "a recipe that nobody asked for in peace")
		repeated += n - once[recipe]
	}
	assert.LessOrEqual(t, repeated, 2*kills, "no more than the two trials in flight at each kill are repeated")
	// Times differ and nothing else: the sums of the history are the same, its periods are not where a minute ends in between.
	sum := func(counts []uint64) (all []uint64) {
		all = []uint64{0}
		for _, n := range counts {
			all[0] += n
		}
		return all
	}
	for _, r := range []*misstepv1.Reproducer{peaceful, killed} {
		history := r.GetFinding().GetHistory()
		history.Begin, history.Trials, history.Hits = nil, sum(history.GetTrials()), sum(history.GetHits())
		require.NotZero(t, history.GetHits()[0])
		r.MeanTry = nil
		r.Finding.FirstSeen, r.Finding.LastSeen, r.Finding.Campaigns = nil, nil, nil
		for _, o := range []*misstepv1.Outcome{r.GetFinding().GetExample()} {
			o.Started, o.Wall, o.Cpu = nil, nil, nil
		}
	}
	assert.True(t, proto.Equal(peaceful, killed), "in peace %v\nkilled   %v", peaceful, killed)
	assert.Contains(t, killed.GetRecipe().GetJvmFlags(), "-XX:-Inline", "the model's bug was amplified")
	assert.Equal(t, "jdk18", killed.GetBisection().GetFirstAffected())
	t.Logf("%d trials, %d kills, %d trials repeated", trials, kills, repeated)
}
