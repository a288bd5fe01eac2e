package sharing

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/coordinator/store"
	"misstep/coordinator/store/stores"
	"misstep/corpus"
	"misstep/corpus/localdir"
	misstepv1 "misstep/proto/misstep/v1"
)

// TestSweepKeepsWhatRowsReferTo sweeps a coordinator's folder in which every blob is old: what a running reproduction, a running
// campaign, a finding, one that was merged, and a trial that was not clean need stays; the rest goes.
func TestSweepKeepsWhatRowsReferTo(t *testing.T) {
	t.Run("store in the folder", func(t *testing.T) { sweepKeepsWhatRowsReferTo(t, "") })
	t.Run("store elsewhere", func(t *testing.T) { sweepKeepsWhatRowsReferTo(t, "sqlite:"+filepath.Join(t.TempDir(), "x.db")) })
}

func sweepKeepsWhatRowsReferTo(t *testing.T, url string) {
	dir := t.TempDir()
	if url != "" { // as a coordinator notes it
		require.NoError(t, os.WriteFile(filepath.Join(dir, "store.url"), []byte(url+"\n"), 0o644))
	}
	blobs, err := localdir.New(filepath.Join(dir, "blobs"))
	require.NoError(t, err)
	put := func(text string) string {
		d, _, err := blobs.Put(t.Context(), strings.NewReader(text), corpus.DigestBytes([]byte(text)))
		require.NoError(t, err)
		return d.String()
	}
	want := map[string]bool{} // by name: kept
	blob := func(name string, kept bool) string {
		want[name] = kept
		return put(name)
	}
	outcome := func(kind misstepv1.OutcomeKind, evidence string) *misstepv1.Outcome {
		return &misstepv1.Outcome{Kind: kind, Evidence: []*misstepv1.Evidence{{Name: "agent.log", Digest: evidence}}}
	}
	build := func(digest string) []*misstepv1.JdkBuild {
		return []*misstepv1.JdkBuild{{Jdk: &misstepv1.Jdk{Name: "b", Digest: digest}}}
	}
	on := func(digest string) *misstepv1.SubmitCampaignRequest {
		return &misstepv1.SubmitCampaignRequest{Jdks: []*misstepv1.Jdk{{Name: "j", Digest: digest}}}
	}
	const clean, mismatches = misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN, misstepv1.OutcomeKind_OUTCOME_KIND_MISMATCHES
	now := timestamppb.Now()
	tree := fmt.Sprintf("misstep-tree 1\nfile %d %s release\n", len("file of a JDK to bisect"),
		blob("file of a JDK to bisect", true))
	require.NoError(t, func() error {
		st, err := stores.Open(t.Context(), cmp.Or(url, dir))
		if err != nil {
			return err
		}
		err = st.Update(t.Context(), func(tx store.Tx) error {
			trial := func(campaign string, index uint64, o *misstepv1.Outcome) error {
				return tx.AddTrial(&store.Trial{
					Campaign: campaign, Index: index, Recipe: &misstepv1.Recipe{}, Outcome: o,
					Ended: time.Now(),
				})
			}
			return errors.Join(
				tx.PutReproduction(&misstepv1.Reproduction{
					Id: "R1", State: misstepv1.ReproductionState_REPRODUCTION_STATE_RUNNING, Started: now,
					Example: outcome(mismatches, blob("example so far", true)),
					Spec: &misstepv1.ReproductionSpec{
						Builds: build(put(tree)),
						Recipe: &misstepv1.Recipe{Workload: &misstepv1.Workload{Name: "w", Digest: blob("workload", true)}},
					},
				}),
				tx.PutReproduction(&misstepv1.Reproduction{
					Id: "R2", State: misstepv1.ReproductionState_REPRODUCTION_STATE_CANCELLED, Started: now,
					Spec: &misstepv1.ReproductionSpec{Builds: build(blob("build of a cancelled one", false))},
				}),
				tx.PutCampaign(&store.Campaign{
					ID: "C1", State: misstepv1.CampaignState_CAMPAIGN_STATE_RUNNING, Submitted: time.Now(),
					Tally: &misstepv1.CampaignStatus{}, Submission: on(blob("JDK of a running campaign", true)),
				}),
				tx.PutCampaign(&store.Campaign{
					ID: "C2", State: misstepv1.CampaignState_CAMPAIGN_STATE_DONE, Submitted: time.Now(),
					Tally: &misstepv1.CampaignStatus{}, Submission: on(blob("JDK of an ended campaign", false)),
				}),
				trial("C1", 0, outcome(clean, blob("clean trial of a running campaign", true))),
				trial("C2", 0, outcome(clean, blob("clean trial of an ended campaign", true))),
				trial("C2", 1, outcome(mismatches, blob("mismatch of an ended campaign", true))),
				tx.PutFinding(&store.Finding{Proto: &misstepv1.Finding{
					Id: "F1", LastSeen: now, Example: outcome(mismatches, blob("finding", true)),
				}}),
				tx.PutFinding(&store.Finding{Proto: &misstepv1.Finding{
					Id: "F2", LastSeen: now, Example: outcome(mismatches, blob("merged finding", true)),
				}}),
				func() error {
					_, err := tx.AddDecision(&misstepv1.TriageDecision{Kind: "merge", Finding: "F2", Into: "F1", Made: now})
					return err
				}(),
			)
		})
		return errors.Join(err, st.Close())
	}())
	blob("nobody's", false)
	old := time.Now().Add(-30 * 24 * time.Hour)
	require.NoError(t, filepath.WalkDir(filepath.Join(dir, "blobs"), func(path string, entry os.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			err = os.Chtimes(path, old, old)
		}
		return err
	}))

	_, err = Sweep(t.Context(), dir, url, 2*time.Hour, true)
	require.NoError(t, err)
	want[tree] = true
	for name, kept := range want {
		missing, err := blobs.Missing(t.Context(), []corpus.Digest{corpus.DigestBytes([]byte(name))})
		require.NoError(t, err)
		assert.Equal(t, kept, len(missing) == 0, "%s: kept", name)
	}
}
