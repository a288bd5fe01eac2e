package queue

import (
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"misstep/coordinator/access"
	"misstep/coordinator/projects"
	"misstep/coordinator/queue/quota"
	"misstep/coordinator/store"
	"misstep/coordinator/store/scoped"
	misstepv1 "misstep/proto/misstep/v1"
)

// quotasState is the name under which the store keeps Quotas.
const quotasState = "quotas"

// ReadQuotas returns what the store has of quotas.
func ReadQuotas(tx store.Tx) (*misstepv1.Quotas, error) {
	raw, err := tx.WorkerState(quotasState)
	if err != nil {
		return nil, err
	}
	q := &misstepv1.Quotas{}
	if err := proto.Unmarshal(raw, q); err != nil {
		return nil, fmt.Errorf("read the quotas: %w", err)
	}
	return q, nil
}

// WriteQuotas stores them.
func WriteQuotas(tx store.Tx, q *misstepv1.Quotas) error {
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(q)
	if err != nil {
		return fmt.Errorf("write the quotas: %w", err)
	}
	return tx.PutWorkerState(quotasState, raw)
}

// End ends a running campaign. What it used of the day's quotas is kept, so that nobody gets more by short campaigns.
func End(tx store.Tx, c *store.Campaign, state misstepv1.CampaignState, now time.Time) error {
	c.State, c.Ended = state, now
	day := quota.Day(now)
	if trials, evidence := quota.On(c.Tally.GetToday(), day); trials > 0 || evidence > 0 {
		q, err := ReadQuotas(tx)
		if err != nil {
			return err
		}
		if err := keep(tx, q, projectOf(tx, c), access.PersonOf(c.Owner), day, trials, evidence); err != nil {
			return err
		}
	}
	return tx.PutCampaign(c)
}

// keep adds to what campaigns used that have ended. Nothing is written in a store without quotas of a day.
func keep(tx store.Tx, q *misstepv1.Quotas, project, owner string, day uint32, trials, evidence uint64) error {
	if !quota.NewTable(q.GetQuotas()).Daily() {
		return nil
	}
	ended := map[string]*misstepv1.DayUsage{}
	for key, u := range q.GetEnded() {
		if u.GetDay() == day {
			ended[key] = u
		}
	}
	keys := []string{quota.Project(project)}
	if owner != "" {
		keys = append(keys, quota.Person(owner))
	}
	for _, key := range keys {
		ended[key] = quota.Add(ended[key], day, trials, evidence)
	}
	q.Ended = ended
	return WriteQuotas(tx, q)
}

// projectOf returns the project of a campaign that was read in a transaction.
func projectOf(tx store.Tx, c *store.Campaign) string {
	in, _ := scoped.At(tx, c.ID)
	return in.Project()
}

// meter returns what running campaigns use of quotas; nil when nothing is bounded.
func meter(tx store.Tx, t *quota.Table, all []*store.Campaign, running func(i int) uint64, now time.Time) (*quota.Meter, error) {
	if t.Empty() {
		return nil, nil
	}
	claims := make([]quota.Claim, len(all))
	for i, c := range all {
		project, _ := projects.Split(c.ID)
		claims[i] = quota.Claim{
			Project: project, Owner: access.PersonOf(c.Owner), Running: running(i), Today: c.Tally.GetToday(),
		}
	}
	var ended map[string]*misstepv1.DayUsage
	if t.Daily() {
		q, err := ReadQuotas(tx)
		if err != nil {
			return nil, err
		}
		ended = q.GetEnded()
	}
	return quota.NewMeter(t, claims, ended, now), nil
}

// Meter returns what the running campaigns of the whole store use of quotas, and these campaigns.
func Meter(tx store.Tx, t *quota.Table, now time.Time) (*quota.Meter, []*store.Campaign, error) {
	all, claims, err := claimants(scoped.Whole(tx))
	if err != nil {
		return nil, nil, err
	}
	m, err := meter(tx, t, all, func(i int) uint64 { return claims[i].Running }, now)
	return m, all, err
}

// Held returns why quotas keep a campaign, by its key in the whole store, from further trials, a line each.
func Held(tx store.Tx, key string, now time.Time) ([]string, error) {
	q, err := ReadQuotas(tx)
	if err != nil || len(q.GetQuotas()) == 0 {
		return nil, err
	}
	m, all, err := Meter(tx, quota.NewTable(q.GetQuotas()), now)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all, func(c *store.Campaign) bool { return c.ID == key })
	if i < 0 {
		return nil, nil
	}
	return m.Held(i), nil
}
