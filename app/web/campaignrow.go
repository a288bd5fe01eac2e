package web

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"misstep/app/station"
	misstepv1 "misstep/proto/misstep/v1"
)

// campaignRow is a campaign with what is computed from its counts.
type campaignRow struct {
	*misstepv1.CampaignStatus
	Now time.Time
	// Finished trials, and those of them that proved something: neither void nor a failure of the application.
	Finished, Proving uint64
	ChecksPerSecond   float64
	// Done is the share of the budget that is used, from 0 to 1; below 0 when that is unknown. Left is an estimate of the time
	// until the end; 0 when there is none.
	Done float64
	Left time.Duration
	// State in a word.
	State string
}

// states of campaigns in a word.
var states = map[misstepv1.CampaignState]string{
	misstepv1.CampaignState_CAMPAIGN_STATE_RUNNING: "running",
	misstepv1.CampaignState_CAMPAIGN_STATE_DONE:    "done",
	misstepv1.CampaignState_CAMPAIGN_STATE_STOPPED: "stopped",
}

func rowOf(c *misstepv1.CampaignStatus, now time.Time) campaignRow {
	row := campaignRow{CampaignStatus: c, Now: now, Finished: station.Finished(c), State: states[c.GetState()], Done: -1}
	row.Proving = row.Finished - min(row.Finished, c.GetOutcomes()["void"]+c.GetOutcomes()["application-failure"])
	end := now
	if c.GetEnded() != nil {
		end = c.GetEnded().AsTime()
	}
	life := end.Sub(c.GetSubmitted().AsTime())
	if life >= time.Second {
		for _, check := range c.GetChecks() {
			row.ChecksPerSecond += float64(check.GetTotal()) / life.Seconds()
		}
	}
	ended := row.Finished + c.GetFailed() + c.GetCancelled()
	if planned := c.GetPlanned(); planned > 0 {
		row.Done = min(1, float64(ended)/float64(planned))
		if rate := c.GetTrialsPerSecond(); rate > 0 && planned > ended {
			row.Left = time.Duration(float64(planned-ended) / rate * float64(time.Second))
		}
	}
	if all := c.GetCampaign().GetBudget().GetTime().AsDuration(); all > 0 {
		row.Done = max(row.Done, min(1, life.Seconds()/all.Seconds()))
		if left := max(all-life, 0); row.Left == 0 || left < row.Left {
			row.Left = left
		}
	}
	if c.GetState() != misstepv1.CampaignState_CAMPAIGN_STATE_RUNNING {
		row.Left = 0
	}
	return row
}

// counted is a number under a name.
type counted struct {
	Name string
	N    uint64
	// Share of all, from 0 to 1.
	Share float64
}

// Ends are the finished trials by what became of them, the most frequent first.
func (c campaignRow) Ends() []counted {
	outcomes := maps.Clone(c.GetOutcomes())
	if outcomes == nil {
		outcomes = map[string]uint64{}
	}
	if c.GetFailed() > 0 {
		outcomes["given up"] = c.GetFailed()
	}
	if c.GetCancelled() > 0 {
		outcomes["cancelled"] = c.GetCancelled()
	}
	return countedOf(outcomes)
}

// countedOf lists counts, the highest first.
func countedOf(counts map[string]uint64) []counted {
	var all uint64
	for _, n := range counts {
		all += n
	}
	var list []counted
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		if n := counts[name]; n > 0 {
			list = append(list, counted{name, n, float64(n) / float64(all)})
		}
	}
	slices.SortStableFunc(list, func(a, b counted) int { return cmp.Compare(b.N, a.N) })
	return list
}
