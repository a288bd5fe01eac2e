package coordinator_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/coordinator"
	"misstep/coordinator/store"
	"misstep/coordinator/store/memory"
	misstepv1 "misstep/proto/misstep/v1"
)

func TestListsOfFindingsNameTheFieldThatIsWrong(t *testing.T) {
	s := coordinator.New(coordinator.Config{Store: memory.New()})
	for want, req := range map[string]*misstepv1.ListFindingsRequest{
		`kind: unknown value "crashes", did you mean crash? (there are: crash, failure, hang, mismatch)`: {Kind: "crashes"},
		`check: unknown value "gst-asgt", did you mean gst-asgct?`:                                       {Check: "gst-asgt"},
		`status: unknown value "old" (there are: known, new)`:                                            {Status: "old"},
		`sort: unknown value "age" (there are: first, hits, jdk, kind, last, rate)`:                      {Sort: "age"},
		`since: expected a duration above 0, got -1h0m0s`:                                                {Since: durationpb.New(-time.Hour)},
		`page_token: expected the next_page_token of a response, got "x"`:                                {PageToken: "x"},
	} {
		_, err := s.ListFindings(t.Context(), req)
		assert.Equal(t, codes.InvalidArgument, status.Code(err))
		require.ErrorContains(t, err, want)
		_, err = s.ListBugs(t.Context(), &misstepv1.ListBugsRequest{Findings: req})
		require.ErrorContains(t, err, want)
	}
	_, err := s.ListFindings(t.Context(), &misstepv1.ListFindingsRequest{CampaignId: "C9"})
	assert.Equal(t, codes.NotFound, status.Code(err))
}

// Pages hold every finding once, in order, whatever their size is; a page that would be too large ends earlier.
func TestPagesOfFindings(t *testing.T) {
	st := memory.New()
	now := time.Unix(1_800_000_000, 0)
	require.NoError(t, st.Update(t.Context(), func(tx store.Tx) error {
		for i := range 23 {
			large := make([]byte, 200<<10)
			for j := range large {
				large[j] = 'x'
			}
			require.NoError(t, tx.PutFinding(&store.Finding{Proto: &misstepv1.Finding{
				Id: fmt.Sprintf("F%02d", i), LastSeen: timestamppb.New(now), Title: string(large),
			}}))
		}
		return nil
	}))
	s := coordinator.New(coordinator.Config{Store: st, Clock: func() time.Time { return now }})
	for size, want := range map[uint32][]int{0: {15, 8}, 10: {10, 10, 3}, 23: {15, 8}, 1000: {15, 8}} {
		var findings, bugs []string
		var pages []int
		req := &misstepv1.ListFindingsRequest{PageSize: size}
		for {
			resp, err := s.ListFindings(t.Context(), req)
			require.NoError(t, err)
			assert.EqualValues(t, 23, resp.GetTotal())
			for _, f := range resp.GetFindings() {
				findings = append(findings, f.GetId())
			}
			byBug, err := s.ListBugs(t.Context(), &misstepv1.ListBugsRequest{Findings: req})
			require.NoError(t, err)
			assert.EqualValues(t, 23, byBug.GetTotal())
			assert.Equal(t, resp.GetNextPageToken(), byBug.GetNextPageToken())
			for _, b := range byBug.GetBugs() {
				bugs = append(bugs, b.GetId())
			}
			pages = append(pages, len(resp.GetFindings()))
			if req.PageToken = resp.GetNextPageToken(); req.PageToken == "" {
				break
			}
		}
		assert.Equal(t, want, pages, "pages of %d", size)
		assert.Len(t, findings, 23)
		assert.IsIncreasing(t, findings)
		assert.Equal(t, findings, bugs)
	}
}
