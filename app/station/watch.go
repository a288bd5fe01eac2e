package station

import (
	"context"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	misstepv1 "misstep/proto/misstep/v1"
)

// PollInterval is the interval between queries of a watched campaign or reproduction.
const PollInterval = 500 * time.Millisecond

// WatchCampaign shows a campaign's state repeatedly until the campaign has ended.
func WatchCampaign(ctx context.Context, st *Station, id string, show func(*misstepv1.CampaignStatus)) error {
	return poll(ctx, func() (ended bool, err error) {
		response, err := st.GetCampaign(ctx, &misstepv1.GetCampaignRequest{CampaignId: id})
		if err != nil {
			return false, err
		}
		show(response.GetCampaign())
		return response.GetCampaign().GetState() != misstepv1.CampaignState_CAMPAIGN_STATE_RUNNING, nil
	})
}

// WatchReproduction shows a reproduction's state repeatedly until the reproduction has ended, and returns the last state.
func WatchReproduction(
	ctx context.Context, st *Station, id string, show func(*misstepv1.ReproductionStatus),
) (last *misstepv1.ReproductionStatus, err error) {
	err = poll(ctx, func() (ended bool, err error) {
		response, err := st.GetReproduction(ctx, &misstepv1.GetReproductionRequest{ReproductionId: id})
		if err != nil {
			return false, err
		}
		last = response.GetReproduction()
		show(last)
		return last.GetState() != misstepv1.ReproductionState_REPRODUCTION_STATE_RUNNING, nil
	})
	if err != nil {
		return nil, err
	}
	return last, nil
}

// poll calls ask until it reports an end or an error, or the context ends, whose error it then returns.
func poll(ctx context.Context, ask func() (ended bool, err error)) error {
	tick := time.NewTicker(PollInterval)
	defer tick.Stop()
	for {
		ended, err := ask()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil || ended {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// Trials reads every finished trial of a campaign, page by page.
func Trials(ctx context.Context, st *Station, campaign string) ([]*misstepv1.Trial, error) {
	var all []*misstepv1.Trial
	for token := ""; ; {
		page, err := st.ListTrials(ctx, &misstepv1.ListTrialsRequest{CampaignId: campaign, PageToken: token})
		if err != nil {
			return nil, err
		}
		all = append(all, page.GetTrials()...)
		if token = page.GetNextPageToken(); token == "" {
			return all, nil
		}
	}
}

// Finished counts a campaign's trials that have an outcome.
func Finished(s *misstepv1.CampaignStatus) (n uint64) {
	for _, count := range s.GetOutcomes() {
		n += count
	}
	return n
}

// Searched is how much was looked through for a list.
type Searched struct {
	// Total is the number of all findings in the store.
	Total uint64
	// JDKTrials counts the trials on the JDKs that the request selects; nil when it selects none, or the coordinator does not say.
	JDKTrials *uint64
}

// Findings reads all findings that a request selects, page by page. The request's page is ignored.
func Findings(
	ctx context.Context, st *Station, req *misstepv1.ListFindingsRequest,
) (all []*misstepv1.Finding, in Searched, err error) {
	err = pages(req, func(req *misstepv1.ListFindingsRequest) (string, error) {
		page, err := st.ListFindings(ctx, req)
		if err != nil {
			return "", err
		}
		all, in = append(all, page.GetFindings()...), Searched{page.GetTotal(), page.JdkTrials}
		return page.GetNextPageToken(), nil
	})
	return once(all, func(f *misstepv1.Finding) string { return f.GetProject() + " " + f.GetId() }), in, err
}

// Bugs is Findings by bug.
func Bugs(ctx context.Context, st *Station, req *misstepv1.ListFindingsRequest) (all []*misstepv1.Bug, in Searched, err error) {
	err = pages(req, func(req *misstepv1.ListFindingsRequest) (string, error) {
		page, err := st.ListBugs(ctx, &misstepv1.ListBugsRequest{Findings: req})
		if err != nil {
			return "", err
		}
		all, in = append(all, page.GetBugs()...), Searched{page.GetTotal(), page.JdkTrials}
		return page.GetNextPageToken(), nil
	})
	return once(all, (*misstepv1.Bug).GetId), in, err
}

func pages(req *misstepv1.ListFindingsRequest, read func(*misstepv1.ListFindingsRequest) (next string, err error)) error {
	req = proto.CloneOf(req)
	req.PageSize, req.PageToken = 0, ""
	for {
		next, err := read(req)
		if err != nil || next == "" {
			return err
		}
		req.PageToken = next
	}
}

// once leaves out what moved to a later page between two calls and so came twice.
func once[T any](all []T, key func(T) string) []T {
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(x T) bool {
		before := seen[key(x)]
		seen[key(x)] = true
		return before
	})
}
