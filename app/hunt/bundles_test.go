package hunt

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"misstep/app/local"
	"misstep/app/station"
	"misstep/bundle"
	"misstep/internal/testenv"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner"
	"misstep/runner/sim"
	"misstep/workloads"
)

// large is an installation with a workload of one large file.
func large(t *testing.T) (local.Installation, *misstepv1.Workload) {
	t.Helper()
	source := filepath.Join(t.TempDir(), "large")
	require.NoError(t, os.MkdirAll(source, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(source, "suite.jar"), make([]byte, bundle.ShareFrom), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(source, workloads.ManifestFile),
		[]byte("name: large\ndescription: one large file\njar: suite.jar\nharness: plain\nrepetitions: 1\n"), 0o600))
	i := local.Installation{Home: t.TempDir(), AgentDir: testenv.Agent(t)}
	entry, err := i.Workloads().Add(t.Context(), source, workloads.AddOptions{})
	require.NoError(t, err)
	return i, &misstepv1.Workload{Name: "large", Digest: entry.Digest.String()}
}

// staged is a machine whose first trial shows two findings; the others wait until released is closed and then show the first
// finding with a shorter stack, which becomes its example.
func staged(t *testing.T, released <-chan struct{}) runner.Executor {
	t.Helper()
	machine, err := sim.New(sim.Script{Events: []sim.Event{{Rate: 1, Outcome: sim.Mismatch("Bug")}}}, runner.SystemClock{})
	require.NoError(t, err)
	var trials atomic.Uint32
	return runner.ExecutorFunc(func(
		ctx context.Context, r *misstepv1.Recipe, progress func(*misstepv1.Progress),
	) (*misstepv1.Outcome, error) {
		first := trials.Add(1) == 1
		if !first {
			select {
			case <-released:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		o, err := machine.Run(ctx, r, progress)
		if err != nil {
			return nil, err
		}
		top := o.Mismatches[0].Reference
		bottom := top.Frames[len(top.Frames)-3:] // callee, caller, main
		top.Frames = bottom
		if first {
			other := proto.CloneOf(o.GetMismatches()[0])
			other.Kind = "wrong-bci"
			above := &misstepv1.Frame{ClassName: "sim.Top", Method: "above", Descriptor_: "()V"}
			top.Frames = append([]*misstepv1.Frame{above, above}, bottom...)
			o.Mismatches = append(o.Mismatches, other)
		}
		top.NumFrames = int32(len(top.Frames)) // at most 5
		return o, nil
	})
}

// TestBundlesAppearWhileTheHuntRuns: trials are held back until the bundles of the first one's findings are there. The bundle of a
// finding with a new example is written again at the end, an unchanged one is not, and one that cannot be written stops no other.
func TestBundlesAppearWhileTheHuntRuns(t *testing.T) {
	st, err := station.Embed(t.TempDir(), station.HuntTiming(slog.New(slog.DiscardHandler)))
	require.NoError(t, err)
	defer st.Close()
	i, workload := large(t)
	artefacts, err := i.Agent()
	require.NoError(t, err)
	submitted, err := st.SubmitCampaign(t.Context(), &misstepv1.SubmitCampaignRequest{
		Campaign: &misstepv1.Campaign{
			Name: "sim", Seed: 3, Jdks: []string{"jdk17"}, Workloads: []*misstepv1.CampaignWorkload{{Name: "large", Repetitions: 1}},
			Checks: []*misstepv1.Check{{Name: "gst-asgct"}}, Budget: &misstepv1.Budget{Trials: 3},
		},
		Jdks:      []*misstepv1.Jdk{{Name: "jdk17", Digest: "sha256:" + strings.Repeat("a", 64)}},
		Workloads: []*misstepv1.Workload{workload}, AgentDigest: artefacts.Digest,
	})
	require.NoError(t, err)
	campaign := submitted.GetCampaignId()

	var said strings.Builder
	h := Hunt{
		Installation: i, Dir: t.TempDir(), Logger: slog.New(slog.DiscardHandler),
		Say: func(format string, args ...any) { fmt.Fprintf(&said, format+"\n", args...) },
	}
	p := h.press(st)
	folder := filepath.Join(h.Dir, "bundles")
	written := func() []string {
		names, err := filepath.Glob(filepath.Join(folder, "*.zip"))
		require.NoError(t, err)
		return names
	}
	released := make(chan struct{})
	release := sync.OnceFunc(func() { close(released) })
	defer release()
	var early map[string]int // frames of the example in the bundles that were written while trials were running
	meanwhile(t, st, artefacts.Digest, staged(t, released), func() {
		require.NoError(t, p.during(t.Context(), campaign, func(ctx context.Context) error {
			assert.Eventually(t, func() bool { return len(written()) == 2 }, time.Minute, 50*time.Millisecond)
			early = exampleFrames(t, written())
			release()
			return station.WatchCampaign(ctx, st, campaign, func(*misstepv1.CampaignStatus) {})
		}))
	})

	found, err := st.ListFindings(t.Context(), &misstepv1.ListFindingsRequest{CampaignId: campaign})
	require.NoError(t, err)
	require.Len(t, found.GetFindings(), 2)
	ids := append([]*misstepv1.Finding{{Id: "F000000000000"}}, found.GetFindings()...)
	paths := h.finishBundles(t.Context(), p, ids)
	assert.Len(t, paths, 2)
	assert.ElementsMatch(t, []string{paths[ids[1].GetId()], paths[ids[2].GetId()]}, written())
	assert.Contains(t, said.String(), "no bundle for F000000000000")
	assert.Contains(t, said.String(), "bundles: 3 of 3")
	late := exampleFrames(t, written())
	shortened := 0
	for path, frames := range late {
		if early[path] == 5 && frames == 3 {
			shortened++
		}
	}
	assert.Equal(t, 1, shortened, "frames of examples: %v, then %v", early, late)
	blobs, err := filepath.Glob(filepath.Join(folder, bundle.SharedDir, "??", "*"))
	require.NoError(t, err)
	assert.Len(t, blobs, 1, "both bundles have one file of the workload")

	before, err := os.Stat(written()[0])
	require.NoError(t, err)
	h.finishBundles(t.Context(), p, found.GetFindings())
	after, err := os.Stat(written()[0])
	require.NoError(t, err)
	assert.True(t, os.SameFile(before, after), "nothing has changed, so that nothing is written")
	require.NoError(t, os.Remove(written()[0]))
	h.finishBundles(t.Context(), p, found.GetFindings())
	assert.Len(t, written(), 2, "one that is gone is written again")

	h.Dir, h.Embed = t.TempDir(), true
	for _, path := range h.finishBundles(t.Context(), h.press(st), found.GetFindings()) {
		b, err := bundle.Open(path)
		require.NoError(t, err)
		assert.Empty(t, b.Shared())
		require.NoError(t, b.Close())
	}
	assert.NoDirExists(t, filepath.Join(h.Dir, "bundles", bundle.SharedDir))
}

// TestAnInterruptedHuntLeavesNoPartOfABundle: an interruption ends the writing at once; the end of the hunt makes up for it.
func TestAnInterruptedHuntLeavesNoPartOfABundle(t *testing.T) {
	st, err := station.Embed(t.TempDir(), station.HuntTiming(slog.New(slog.DiscardHandler)))
	require.NoError(t, err)
	defer st.Close()
	h := Hunt{Dir: t.TempDir(), Say: func(string, ...any) {}}
	ctx, interrupt := context.WithCancel(t.Context())
	err = h.press(st).during(ctx, "C1", func(ctx context.Context) error {
		interrupt()
		return ctx.Err()
	})
	require.ErrorIs(t, err, context.Canceled)
	assert.NoDirExists(t, filepath.Join(h.Dir, "bundles"))
}

// exampleFrames counts the frames of the reference in the example of each bundle, by path.
func exampleFrames(t *testing.T, paths []string) map[string]int {
	t.Helper()
	frames := map[string]int{}
	for _, path := range paths {
		b, err := bundle.Open(path)
		require.NoError(t, err)
		require.Len(t, b.Shared(), 1)
		missing, err := b.Missing(t.Context())
		require.NoError(t, err)
		require.Empty(t, missing)
		frames[path] = len(b.Reproducer().GetFinding().GetExample().GetMismatches()[0].GetReference().GetFrames())
		require.NoError(t, b.Close())
	}
	return frames
}
