package queue

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"misstep/coordinator/queue/quota"
	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

// ownTally gives c a tally that it may change: the one that it was read with is shared with the transaction. The groups of
// Compared, which are the largest part of it, stay shared (see addCompared), and so does the usage of the day, which is replaced.
// Every result has a copy made, so it is made by hand, not by reflection.
func ownTally(c *store.Campaign) {
	own := misstepv1.Shallow(c.Tally)
	own.Outcomes = maps.Clone(own.GetOutcomes())
	own.Checks = cloneChecks(own.GetChecks())
	if s := own.GetSignals(); s != nil {
		own.Signals = &misstepv1.SignalCount{Sent: s.GetSent(), Delivered: s.GetDelivered(), Answered: s.GetAnswered()}
	}
	own.FindingIds = slices.Clone(own.GetFindingIds())
	own.Unproved, own.FailedBeside = cloneGroups(own.GetUnproved()), cloneGroups(own.GetFailedBeside())
	own.Repetitions = proto.CloneOf(own.GetRepetitions())
	own.Compared = slices.Clone(own.GetCompared())
	c.Tally = own
}

// cloneChecks returns copies of counts.
func cloneChecks(all []*misstepv1.CheckCount) []*misstepv1.CheckCount {
	out := make([]*misstepv1.CheckCount, len(all))
	for i, c := range all {
		out[i] = &misstepv1.CheckCount{
			Check: c.GetCheck(), Total: c.GetTotal(), Match: c.GetMatch(), Mismatch: c.GetMismatch(),
			Tolerated: maps.Clone(c.GetTolerated()), Unwalkable: maps.Clone(c.GetUnwalkable()), Void: maps.Clone(c.GetVoid()),
		}
	}
	return out
}

func addOutcome(tally *misstepv1.CampaignStatus, o *misstepv1.Outcome, r *misstepv1.Recipe, findingIDs []string) {
	if tally.Outcomes == nil {
		tally.Outcomes = map[string]uint64{}
	}
	tally.Outcomes[misstepv1.OutcomeName(o.GetKind())]++
	if len(findingIDs) == 0 && provesNothing(o.GetKind()) {
		addUnproved(tally, misstepv1.OutcomeName(o.GetKind()), o.GetReason(), r.GetJdk())
	} else if o.GetApplicationFailure() != nil && !provesNothing(o.GetKind()) {
		addFailedBeside(tally, o, r.GetJdk())
	}
	tally.Checks = AddChecks(tally.Checks, o.GetChecks())
	tally.Signals = AddSignals(tally.Signals, o.GetSignals())
	addCompared(tally, o, r)
	addFindings(tally, findingIDs)
}

func addFindings(tally *misstepv1.CampaignStatus, ids []string) {
	for _, id := range ids {
		if i, found := slices.BinarySearch(tally.FindingIds, id); !found {
			tally.FindingIds = slices.Insert(tally.FindingIds, i, id)
		}
	}
}

// AddFindings adds findings to those of a campaign that no trial of its own showed.
func AddFindings(tx store.Tx, c *store.Campaign, ids []string) error {
	ownTally(c)
	addFindings(c.Tally, ids)
	return tx.PutCampaign(c)
}

// addUnfinished counts trials that were cancelled while they ran.
func addUnfinished(tally *misstepv1.CampaignStatus, n uint64) {
	tally.Cancelled += n
	tally.Unfinished += n
}

// addUsage counts a trial that ended for the quotas of the day.
func addUsage(tally *misstepv1.CampaignStatus, o *misstepv1.Outcome, now time.Time) {
	var written uint64
	for _, e := range o.GetEvidence() {
		written += e.GetSize()
	}
	tally.Today = quota.Add(tally.GetToday(), quota.Day(now), 1, written)
}

// AddChecks adds counts to sums, by check; the result is ordered by name. It may change sums, never counts.
func AddChecks(sums, counts []*misstepv1.CheckCount) []*misstepv1.CheckCount {
	for _, c := range counts {
		i, found := slices.BinarySearchFunc(sums, c.GetCheck(),
			func(s *misstepv1.CheckCount, name string) int { return cmp.Compare(s.GetCheck(), name) })
		if !found {
			sums = slices.Insert(sums, i, proto.CloneOf(c))
			continue
		}
		s := sums[i]
		s.Total += c.GetTotal()
		s.Match += c.GetMatch()
		s.Mismatch += c.GetMismatch()
		s.Tolerated = addMap(s.Tolerated, c.GetTolerated())
		s.Unwalkable = addMap(s.Unwalkable, c.GetUnwalkable())
		s.Void = addMap(s.Void, c.GetVoid())
	}
	return sums
}

func addMap[K comparable](sums, counts map[K]uint64) map[K]uint64 {
	if sums == nil && len(counts) > 0 {
		sums = make(map[K]uint64, len(counts))
	}
	for k, n := range counts {
		sums[k] += n
	}
	return sums
}

// AddSignals returns the sum of both; it may change sum, never count. The sum of none is nil.
func AddSignals(sum, count *misstepv1.SignalCount) *misstepv1.SignalCount {
	if count == nil {
		return sum
	}
	if sum == nil {
		return proto.CloneOf(count)
	}
	sum.Sent += count.GetSent()
	sum.Delivered += count.GetDelivered()
	sum.Answered += count.GetAnswered()
	return sum
}
