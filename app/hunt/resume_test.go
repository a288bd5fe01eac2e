package hunt

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"

	"misstep/app/station"
	misstepv1 "misstep/proto/misstep/v1"
)

// A hunt in a folder with an unfinished campaign says what it resumes, applies another budget, and refuses another spec.
func TestHuntResumesOnlyTheSameCampaign(t *testing.T) {
	st, err := station.Embed(t.TempDir(), station.HuntTiming(slog.New(slog.DiscardHandler)))
	require.NoError(t, err)
	defer st.Close()
	var log bytes.Buffer
	hunt := func(edit func(*misstepv1.Campaign)) (string, error) {
		log.Reset()
		digest := "sha256:" + strings.Repeat("b", 64)
		request := &misstepv1.SubmitCampaignRequest{
			Campaign: &misstepv1.Campaign{
				Name: "sim", Seed: 3, Jdks: []string{"jdk21"}, Workloads: []*misstepv1.CampaignWorkload{{Name: "w", Repetitions: 1}},
				Checks: []*misstepv1.Check{{Name: "gst-asgct"}}, Budget: &misstepv1.Budget{Trials: 9},
			},
			Jdks: []*misstepv1.Jdk{{Name: "jdk21", Digest: digest}}, Workloads: []*misstepv1.Workload{{Name: "w", Digest: digest}},
		}
		edit(request.GetCampaign())
		say := func(format string, args ...any) { fmt.Fprintf(&log, format+"\n", args...) }
		return Hunt{Dir: "D", Say: say}.resume(t.Context(), st, request)
	}
	budget := func() *misstepv1.Budget {
		response, err := st.GetCampaign(t.Context(), &misstepv1.GetCampaignRequest{CampaignId: "C"})
		require.NoError(t, err)
		return response.GetCampaign().GetCampaign().GetBudget()
	}
	first, err := hunt(func(*misstepv1.Campaign) {})
	require.NoError(t, err)
	same, err := hunt(func(*misstepv1.Campaign) {})
	require.NoError(t, err)
	assert.Equal(t, first, same)
	assert.Equal(t, "resuming campaign "+first+" (sim, seed 3): 0 trials done, 9 trials left\n", log.String())

	same, err = hunt(func(c *misstepv1.Campaign) { c.Budget.Time = durationpb.New(time.Hour) })
	require.NoError(t, err)
	assert.Equal(t, first, same)
	assert.Contains(t, log.String(), "with a new budget: 9 trials in all, 1h0m0s from now on")
	assert.Greater(t, budget().GetTime().AsDuration(), time.Hour, "the time before counts, too")
	assert.EqualValues(t, 9, budget().GetTrials())

	for want, edit := range map[string]func(*misstepv1.Campaign){
		"which differs in seed (3, the file has 4); resume": func(c *misstepv1.Campaign) { c.Seed = 4 },
		"which differs in checks; resume":                   func(c *misstepv1.Campaign) { c.Checks[0].Name = "shadow-gst" },
		`which differs in name ("sim", the file has "x"); `: func(c *misstepv1.Campaign) { c.Name = "x" },
	} {
		_, err = hunt(edit)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "`misstep campaign stop "+first+" --dir D`")
		assert.EqualValues(t, 9, budget().GetTrials())
	}

	_, err = st.StopCampaign(t.Context(), &misstepv1.StopCampaignRequest{CampaignId: first})
	require.NoError(t, err)
	other, err := hunt(func(c *misstepv1.Campaign) { c.Seed = 9 })
	require.NoError(t, err)
	assert.NotEqual(t, first, other)
	_, err = st.StopCampaign(t.Context(), &misstepv1.StopCampaignRequest{CampaignId: other})
	require.NoError(t, err)
	_, err = hunt(func(*misstepv1.Campaign) {})
	require.NoError(t, err)
	assert.Equal(t, "this campaign has run to its end here: now with seed 4\n", log.String())
	_, err = hunt(func(c *misstepv1.Campaign) { c.Seed = 9 })
	require.ErrorContains(t, err, "seed (4, the file has 9)", "although 9 has run to its end")
}
