package view

import (
	"sort"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/coordinator/rates"
	misstepv1 "misstep/proto/misstep/v1"
)

// periods divide the time in which the trials of a log ended.
type periods struct {
	begin time.Time
	width time.Duration
	// after has the id that every trial before the first period is at most, and last the same of each period and those before it.
	after uint64
	last  []uint64
	// trials by combination and period, counted when they are first asked for.
	trials [][]uint32
}

// maxPeriods bounds the periods of a history; widths are the lengths that they may have.
const maxPeriods = 32

var widths = []time.Duration{
	time.Minute, 10 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour, 4 * 7 * 24 * time.Hour,
}

// periodsOf returns periods of the shortest length with which they cover all trials. Of a log that is too long even for the
// greatest length, they cover the end.
func periodsOf(log *rates.Log) periods {
	var first, last uint64
	for _, t := range log.Tallies {
		if ids := t.Trials; last == 0 || uint64(ids[0]) < first {
			first = uint64(ids[0])
		}
		last = max(last, uint64(t.Trials[len(t.Trials)-1]))
	}
	if last == 0 {
		return periods{}
	}
	from, to := log.Minute(first), log.Minute(last)
	p := periods{trials: make([][]uint32, len(log.Tallies))}
	n := 0
	for _, p.width = range widths {
		p.begin = from.Truncate(p.width)
		if n = int(to.Sub(p.begin)/p.width) + 1; n <= maxPeriods {
			break
		}
	}
	p.begin = p.begin.Add(time.Duration(max(n-maxPeriods, 0)) * p.width)
	p.after = log.Before(p.begin)
	for i := range min(n, maxPeriods) {
		p.last = append(p.last, log.Before(p.begin.Add(time.Duration(i+1)*p.width)))
	}
	return p
}

// at returns the index of the period of a trial; not all of them have one.
func (p *periods) at(trial uint64) (i int, in bool) {
	i = sort.Search(len(p.last), func(i int) bool { return trial <= p.last[i] })
	return i, trial > p.after && i < len(p.last)
}

// of returns the numbers of trials of a combination by period.
func (p *periods) of(tallies []rates.Tally, i int) []uint32 {
	if p.trials[i] == nil {
		p.trials[i] = make([]uint32, len(p.last))
		before := tallies[i].Until(p.after)
		for at, last := range p.last {
			until := tallies[i].Until(last)
			p.trials[i][at], before = uint32(until-before), until
		}
	}
	return p.trials[i]
}

// history counts by period the trials of combinations, and those of log.Hits that are shown, without probes of reproductions; nil
// without any trial.
func (t *trials) history(tried []hits, shown []int) *misstepv1.History {
	p := &t.periods
	if len(p.last) == 0 {
		return nil
	}
	h := &misstepv1.History{
		Begin: timestamppb.New(p.begin), Width: durationpb.New(p.width), Trials: make([]uint64, len(p.last)),
		Hits: make([]uint64, len(p.last)),
	}
	for _, c := range tried {
		for i, n := range p.of(t.log.Tallies, c.tally) {
			h.Trials[i] += uint64(n)
		}
	}
	for _, at := range shown {
		hit := t.log.Hits[at]
		if i, in := p.at(hit.Trial); in && !t.tallies[hit.Tally].probes {
			h.Hits[i]++
		}
	}
	return h
}

// historyOf counts by period all trials, those that showed any finding, and the findings that were first seen.
func (t *trials) historyOf(all []*misstepv1.Finding) *misstepv1.History {
	var tried []hits
	for i, c := range t.tallies {
		if !c.probes {
			tried = append(tried, hits{tally: i})
		}
	}
	shown := make([]int, len(t.log.Hits))
	for i := range shown {
		shown[i] = i
	}
	h := t.history(tried, shown)
	if h == nil {
		return nil
	}
	h.Found = make([]uint64, len(h.GetHits()))
	for _, f := range all {
		since := f.GetFirstSeen().AsTime().Sub(t.periods.begin)
		if i := int(since / t.periods.width); since >= 0 && i < len(h.GetFound()) {
			h.Found[i]++
		}
	}
	return h
}
