package retention_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"misstep/app/retention"
	"misstep/coordinator/store"
	"misstep/coordinator/store/memory"
	"misstep/corpus"
	"misstep/corpus/index"
	"misstep/corpus/localdir"
	misstepv1 "misstep/proto/misstep/v1"
)

const (
	clean      = misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN
	void       = misstepv1.OutcomeKind_OUTCOME_KIND_VOID
	mismatches = misstepv1.OutcomeKind_OUTCOME_KIND_MISMATCHES
	keepTrials = 30 * 24 * time.Hour
	grace      = 7 * 24 * time.Hour
)

// checks is the number of sequences of one run; -rapid.checks sets another one.
const checks = "30"

func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue {
		if err := f.Value.Set(checks); err != nil {
			panic(err)
		}
	}
	m.Run()
}

// fail is what both *testing.T and *rapid.T are.
type fail interface {
	require.TestingT
	Helper()
}

// world is a coordinator's store with its blobs, and what a user of it knows: which blobs somebody may still ask for.
type world struct {
	t     fail
	now   time.Time
	store store.Store
	dir   string
	blobs *localdir.Store
	index index.Index
	n     int                 // of blobs and rows so far
	trees map[string][]string // digests of files by that of the manifest
	texts map[string]string   // of blobs by digest
}

func newWorld(t fail, dir string) *world {
	t.Helper()
	blobs, err := localdir.New(dir)
	require.NoError(t, err)
	return &world{
		t: t, now: time.Now(), store: memory.New(), dir: dir, blobs: blobs, index: index.Folder(dir),
		trees: map[string][]string{}, texts: map[string]string{},
	}
}

// blob stores a blob that is old. It writes the file itself: thousands of fsyncs would take long.
func (w *world) blob(text string) string {
	d := corpus.DigestBytes([]byte(text))
	name := filepath.Join(w.dir, localdir.Path(d))
	require.NoError(w.t, os.MkdirAll(filepath.Dir(name), 0o755))
	require.NoError(w.t, os.WriteFile(name, []byte(text), 0o644))
	w.setAge(d.String(), 2*grace)
	w.texts[d.String()] = text
	return d.String()
}

func (w *world) fresh(kind string) string {
	w.n++
	return w.blob(fmt.Sprintf("%s %d", kind, w.n))
}

func (w *world) setAge(digest string, age time.Duration) {
	d, err := corpus.ParseDigest(digest)
	require.NoError(w.t, err)
	then := time.Now().Add(-age)
	require.NoError(w.t, os.Chtimes(filepath.Join(w.dir, localdir.Path(d)), then, then))
}

func (w *world) there(digest string) bool {
	d, err := corpus.ParseDigest(digest)
	require.NoError(w.t, err)
	_, err = os.Stat(filepath.Join(w.dir, localdir.Path(d)))
	return err == nil
}

// tree stores a tree of one file, and returns the digest of its manifest.
func (w *world) tree() string {
	text := fmt.Sprintf("file of tree %d", w.n)
	file := w.blob(text)
	manifest := w.blob(fmt.Sprintf("misstep-tree 1\nfile %d %s release\n", len(text), file))
	w.trees[manifest] = []string{file}
	w.n++
	return manifest
}

func (w *world) update(f func(tx store.Tx) error) {
	w.t.Helper()
	require.NoError(w.t, w.store.Update(context.Background(), f))
}

func (w *world) campaign(state misstepv1.CampaignState, jdk string) string {
	w.n++
	id := fmt.Sprintf("C%d", w.n)
	w.update(func(tx store.Tx) error {
		return tx.PutCampaign(&store.Campaign{
			ID: id, State: state, Submitted: w.now, Tally: &misstepv1.CampaignStatus{},
			Submission: &misstepv1.SubmitCampaignRequest{Jdks: []*misstepv1.Jdk{{Name: "j", Digest: jdk}}},
		})
	})
	return id
}

func outcome(kind misstepv1.OutcomeKind, evidence ...string) *misstepv1.Outcome {
	o := &misstepv1.Outcome{Kind: kind, Reason: "r", Checks: []*misstepv1.CheckCount{{Check: "edges", Total: 1}}}
	for _, d := range evidence {
		o.Evidence = append(o.Evidence, &misstepv1.Evidence{Name: "agent.log", Digest: d, Size: 1000})
	}
	return o
}

func (w *world) trial(campaign string, ended time.Time, o *misstepv1.Outcome, findings ...string) {
	w.n++
	w.update(func(tx store.Tx) error {
		return tx.AddTrial(&store.Trial{
			Campaign: campaign, Index: uint64(w.n), Recipe: &misstepv1.Recipe{Jdk: &misstepv1.Jdk{Name: "j"}}, Outcome: o,
			FindingIDs: findings, Ended: ended,
		})
	})
}

func (w *world) keeper() *retention.Keeper {
	return &retention.Keeper{
		Plan:  retention.Plan{Rules: retention.Rules{Trials: keepTrials}, Grace: grace},
		Store: w.store, Blobs: w.blobs, Shared: w.index, Clock: func() time.Time { return w.now }, Dir: w.dir,
	}
}

// TestNothingNeededIsLost makes random sequences of trials, findings, merges, reproductions and shared bundles, with rounds in
// between: what is needed is there after each of them, and what nobody needs is gone in the end.
func TestNothingNeededIsLost(t *testing.T) {
	retention.SetSegmentTrials(t, 3)
	base := t.TempDir()
	runs := 0
	rapid.Check(t, func(r *rapid.T) {
		runs++
		w := newWorld(r, filepath.Join(base, fmt.Sprint(runs)))
		needed, aging := map[string]bool{}, map[string]time.Time{} // digests; of aging ones, the end of their trial
		need := func(d string) string {
			needed[d] = true
			for _, file := range w.trees[d] {
				needed[file] = true
			}
			return d
		}
		var all []string // evidence that trials share
		evidence := func() string {
			if len(all) > 0 && rapid.IntRange(0, 9).Draw(r, "share") < 3 {
				return w.blob(w.texts[rapid.SampledFrom(all).Draw(r, "shared evidence")]) // put again, as a runner does
			}
			all = append(all, w.fresh("evidence"))
			return all[len(all)-1]
		}
		running := w.campaign(misstepv1.CampaignState_CAMPAIGN_STATE_RUNNING, need(w.tree()))
		ended := w.campaign(misstepv1.CampaignState_CAMPAIGN_STATE_DONE, w.tree())
		var findings []string
		var counts []int // trials so far
		actions := map[string]func(*rapid.T){
			"trial without a finding": func(r *rapid.T) {
				e := evidence()
				kind := rapid.SampledFrom([]misstepv1.OutcomeKind{clean, void}).Draw(r, "kind")
				c := rapid.SampledFrom([]string{running, ended}).Draw(r, "campaign")
				w.trial(c, w.now, outcome(kind, e))
				aging[e] = w.now
				counts = append(counts, 1)
			},
			"trial with a finding": func(r *rapid.T) {
				e := need(evidence())
				id := fmt.Sprintf("F%d", rapid.IntRange(0, 3).Draw(r, "finding"))
				o := outcome(mismatches, e)
				w.trial(rapid.SampledFrom([]string{running, ended}).Draw(r, "campaign"), w.now, o, id)
				w.update(func(tx store.Tx) error { // in place of an earlier example
					return tx.PutFinding(&store.Finding{Proto: &misstepv1.Finding{
						Id: id, LastSeen: timestamppb.New(w.now), Example: o,
					}})
				})
				findings = append(findings, id)
				counts = append(counts, 1)
			},
			"merge": func(r *rapid.T) {
				if len(findings) == 0 {
					r.Skip()
				}
				w.update(func(tx store.Tx) error {
					_, err := tx.AddDecision(&misstepv1.TriageDecision{
						Kind: "merge", Finding: rapid.SampledFrom(findings).Draw(r, "from"),
						Into: rapid.SampledFrom(findings).Draw(r, "into"),
					})
					return err
				})
			},
			"reproduction": func(r *rapid.T) {
				w.n++
				state := misstepv1.ReproductionState_REPRODUCTION_STATE_RUNNING
				build := w.tree()
				if rapid.Bool().Draw(r, "cancelled") {
					state = misstepv1.ReproductionState_REPRODUCTION_STATE_CANCELLED
				} else {
					need(build)
				}
				w.update(func(tx store.Tx) error {
					return tx.PutReproduction(&misstepv1.Reproduction{
						Id: fmt.Sprintf("R%d", w.n), State: state, Started: timestamppb.New(w.now),
						Example: outcome(mismatches, need(evidence())),
						Spec: &misstepv1.ReproductionSpec{
							Builds: []*misstepv1.JdkBuild{{Jdk: &misstepv1.Jdk{Digest: build}}},
							Recipe: &misstepv1.Recipe{Workload: &misstepv1.Workload{Name: "w", Digest: need(w.tree())}},
						},
					})
				})
			},
			"shared bundle": func(*rapid.T) {
				d, err := corpus.ParseDigest(need(w.fresh("bundle")))
				require.NoError(w.t, err)
				require.NoError(w.t, w.index.Add(context.Background(), index.Entry{
					Finding: "F1", Bundle: index.Blob{Digest: d, Size: 1},
				}))
			},
			"upload that nothing refers to yet": func(*rapid.T) {
				d := need(w.fresh("upload"))
				w.setAge(d, 0)
			},
			"time passes": func(r *rapid.T) {
				// Blobs are old from the start; only trials age.
				w.now = w.now.Add(time.Duration(rapid.IntRange(1, 20).Draw(r, "days")) * 24 * time.Hour)
			},
			"round": func(r *rapid.T) {
				_, _, err := w.keeper().Round(context.Background(), true)
				require.NoError(w.t, err)
			},
			"": func(*rapid.T) {
				for d := range needed {
					assert.True(w.t, w.there(d), "%s is needed", w.texts[d])
				}
				for d, end := range aging {
					if w.now.Sub(end) <= keepTrials {
						assert.True(w.t, w.there(d), "%s is of a trial that is not old enough", w.texts[d])
					}
				}
				sum := uint64(0)
				require.NoError(w.t, w.store.View(context.Background(), func(tx store.Tx) error {
					all, err := tx.Counts()
					for _, c := range all {
						sum += c.N
					}
					return err
				}))
				voids := 0
				require.NoError(w.t, w.store.View(context.Background(), func(tx store.Tx) error {
					for _, c := range []string{running, ended} {
						rows, err := tx.Trials(c, 0, 1<<20)
						require.NoError(w.t, err)
						for _, row := range rows {
							if !row.Counts() {
								voids++
							}
						}
					}
					return nil
				}))
				assert.Equal(w.t, len(counts), int(sum)+voids, "rates do not forget a trial")
			},
		}
		r.Repeat(actions)

		// In the end, everything else goes.
		w.now = w.now.Add(2 * keepTrials)
		_, _, err := w.keeper().Round(context.Background(), true)
		require.NoError(w.t, err)
		for d := range needed {
			assert.True(w.t, w.there(d), "%s is needed", w.texts[d])
		}
		for _, d := range all {
			assert.Equal(w.t, needed[d], w.there(d), w.texts[d])
		}
	})
}

// trialsOf returns how many trials of a campaign have aged, and the evidence of the others.
func (w *world) trialsOf(campaign string) (aged int, evidence []string) {
	require.NoError(w.t, w.store.View(context.Background(), func(tx store.Tx) error {
		rows, err := tx.Trials(campaign, 0, 1<<20)
		for _, row := range rows {
			if row.Outcome.GetAged() {
				aged++
				assert.Equal(w.t, "r", row.Outcome.GetReason())
				assert.Empty(w.t, row.Outcome.GetChecks())
			}
			for _, e := range row.Outcome.GetEvidence() {
				evidence = append(evidence, e.GetDigest())
			}
		}
		return err
	}))
	return aged, evidence
}

func TestEvidenceIsBoundedBySize(t *testing.T) {
	w := newWorld(t, t.TempDir())
	c := w.campaign(misstepv1.CampaignState_CAMPAIGN_STATE_RUNNING, "")
	var digests []string
	for i := range 1000 { // several pages; 10 an hour, 1000 bytes each
		digests = append(digests, corpus.DigestBytes(fmt.Append(nil, i)).String())
		var findings []string
		if i == 5 {
			findings = []string{"F1"}
		}
		w.trial(c, w.now.Truncate(time.Hour).Add(time.Duration(i-1000)*6*time.Minute), outcome(clean, digests[i]), findings...)
	}
	rules := retention.Rules{Evidence: 250_000}
	aged, err := retention.Age(t.Context(), w.store, rules, w.now, false)
	require.NoError(t, err)
	assert.Equal(t, retention.Aged{Trials: 749, Evidence: 749_000}, aged)
	n, _ := w.trialsOf(c)
	assert.Zero(t, n, "a dry run changes nothing")
	for round, want := range []int{749, 0} {
		aged, err = retention.Age(t.Context(), w.store, rules, w.now, true)
		require.NoError(t, err)
		assert.Equal(t, want, aged.Trials, "round %d", round)
		n, left := w.trialsOf(c)
		assert.Equal(t, 749, n)
		assert.Equal(t, append([]string{digests[5]}, digests[750:]...), left, "the oldest go, but not that of a finding")
	}
}

func TestNoRuleNoAging(t *testing.T) {
	w := newWorld(t, t.TempDir())
	c := w.campaign(misstepv1.CampaignState_CAMPAIGN_STATE_DONE, "")
	w.trial(c, w.now.Add(-10*365*24*time.Hour), outcome(clean, "sha256:"+strings.Repeat("1", 64)))
	aged, err := retention.Age(t.Context(), w.store, retention.Rules{}, w.now, true)
	require.NoError(t, err)
	assert.Zero(t, aged)
	n, _ := w.trialsOf(c)
	assert.Zero(t, n)
}
