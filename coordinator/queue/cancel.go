package queue

import (
	"time"

	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

// Stop cancels the queued and running trials of a campaign. Stopping a campaign that has ended does nothing.
func (q *Queue) Stop(tx store.Tx, c *store.Campaign, now time.Time) error {
	if c.State != misstepv1.CampaignState_CAMPAIGN_STATE_RUNNING {
		return nil
	}
	jobs, err := tx.Jobs(c.ID)
	if err != nil {
		return err
	}
	if err := deleteJobs(tx, jobs); err != nil {
		return err
	}
	n, err := deleteLeases(tx, c.ID)
	if err != nil {
		return err
	}
	if _, err := deleteLeases(tx, store.RepetitionOf(c.ID)); err != nil {
		return err
	}
	ownTally(c)
	c.Tally.Cancelled += uint64(len(jobs))
	addUnfinished(c.Tally, n)
	return End(tx, c, misstepv1.CampaignState_CAMPAIGN_STATE_STOPPED, now)
}

// Discard deletes all jobs and leases of a campaign, which keeps running.
func (q *Queue) Discard(tx store.Tx, campaign string) error {
	jobs, err := tx.Jobs(campaign)
	if err != nil {
		return err
	}
	if err := deleteJobs(tx, jobs); err != nil {
		return err
	}
	_, err = deleteLeases(tx, campaign)
	return err
}

func deleteJobs(tx store.Tx, jobs []store.Job) error {
	for _, j := range jobs {
		if err := tx.DeleteJob(j.Campaign, j.Index); err != nil {
			return err
		}
	}
	return nil
}

func deleteLeases(tx store.Tx, campaign string) (n uint64, err error) {
	leases, err := tx.Leases(store.LeaseFilter{Campaign: campaign})
	if err != nil {
		return 0, err
	}
	for _, l := range leases {
		if err := tx.DeleteLease(l.ID); err != nil {
			return 0, err
		}
	}
	return uint64(len(leases)), nil
}
