package view

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/coordinator/rates"
	"misstep/coordinator/store"
	"misstep/coordinator/watch"
	misstepv1 "misstep/proto/misstep/v1"
)

// seen is a finding with the trials that showed it.
type seen struct {
	finding *misstepv1.Finding
	hits    []rates.Count
}

// addStates fills in the states of findings that have their labels (see package watch). trials are those of the whole store. The
// trials are read once, in the order of their ids, however many findings there are.
func (l labelling) addStates(tx store.Tx, all []seen, trials []rates.Count) error {
	type mark struct {
		of   seen
		last rates.Last
	}
	lastHits, err := tx.LastHits()
	if err != nil {
		return err
	}
	byFinding := map[string][]rates.Last{}
	for _, last := range lastHits {
		byFinding[last.Finding] = append(byFinding[last.Finding], last)
	}
	var marks []mark
	for _, s := range all {
		s.finding.States = nil
		if s.finding.GetAssorted() != "" {
			continue
		}
		if err := l.addBack(tx, s, trials); err != nil {
			return err
		}
		for _, last := range lastOf(byFinding, append([]string{s.finding.GetId()}, s.finding.GetAliases()...)) {
			marks = append(marks, mark{s, last})
		}
	}
	slices.SortStableFunc(marks, func(a, b mark) int { return cmp.Compare(a.last.Trial, b.last.Trial) })
	bounds := []uint64{0}
	for _, m := range marks {
		bounds = append(bounds, m.last.Trial)
	}
	bounds = slices.Compact(bounds)
	spans, err := tx.CountsBetween(bounds)
	if err != nil {
		return err
	}
	before := map[rates.Combination]uint64{}
	for _, m := range marks {
		for bounds[0] < m.last.Trial {
			for _, c := range spans[0] {
				before[c.Combination] += c.N
			}
			bounds, spans = bounds[1:], spans[1:]
		}
		shown := map[string]bool{}
		for _, h := range m.of.hits {
			shown[h.JDK] = true
		}
		e := watch.Judge(cells(m.of, m.last.JDK, before, trials), len(shown))
		if e.Quiet() {
			m.of.finding.States = append(m.of.finding.States, &misstepv1.FindingState{
				Kind: misstepv1.StateQuiet, Jdk: m.last.JDK, Since: timestamppb.New(m.last.Ended), Hits: e.Hits, Trials: e.Trials,
				Expected: e.Expected, P: e.P, Level: e.Level,
			})
		}
	}
	for _, s := range all {
		slices.SortFunc(s.finding.GetStates(), func(a, b *misstepv1.FindingState) int {
			return cmp.Or(cmp.Compare(a.GetKind(), b.GetKind()), cmp.Compare(a.GetJdk(), b.GetJdk()))
		})
	}
	return nil
}

// lastOf returns the last trial on each JDK that shows one of the findings, ordered by JDK.
func lastOf(byFinding map[string][]rates.Last, findings []string) []rates.Last {
	last := map[string]rates.Last{}
	for _, f := range findings {
		for _, l := range byFinding[f] {
			if l.Trial > last[l.JDK].Trial {
				last[l.JDK] = l
			}
		}
	}
	return slices.SortedFunc(maps.Values(last), func(a, b rates.Last) int { return cmp.Compare(a.JDK, b.JDK) })
}

// cells returns the counts of a finding on a JDK, by everything that distinguishes rates except the campaign. Probes of
// reproductions are left out: their rates are unlike a campaign's.
func cells(s seen, jdk string, before map[rates.Combination]uint64, trials []rates.Count) []watch.Cell {
	of := map[rates.Combination]*watch.Cell{}
	hits := make(map[rates.Combination]uint64, len(s.hits))
	for _, h := range s.hits {
		hits[h.Combination] = h.N
	}
	for _, c := range trials {
		if c.JDK != jdk || strings.HasPrefix(c.Campaign, store.ReproductionPrefix) ||
			hits[c.Combination] == 0 && !couldShow(s.finding.GetSignature(), c.Checks) {
			continue
		}
		key := c.Combination
		key.Campaign = ""
		cell := of[key]
		if cell == nil {
			cell = &watch.Cell{}
			of[key] = cell
		}
		cell.Hits += hits[c.Combination]
		cell.Trials += before[c.Combination]
		cell.Since += c.N - min(c.N, before[c.Combination])
	}
	var out []watch.Cell
	for _, key := range slices.SortedFunc(maps.Keys(of), rates.Compare) { // sums do not depend on the order of a map
		out = append(out, *of[key])
	}
	return out
}

// addBack adds a state for each JDK that showed the finding although it has the fix of the known bug with its signature.
func (l labelling) addBack(tx store.Tx, s seen, trials []rates.Count) error {
	states := map[string]*misstepv1.FindingState{}
	on := func(c rates.Count) (*misstepv1.FindingState, error) {
		jdk, err := l.jdks.find(tx, c.Combination)
		if err != nil {
			return nil, err
		}
		for _, id := range append([]string{s.finding.GetId()}, s.finding.GetAliases()...) {
			bug, fixedIn := l.known.Fixed(l.Rows[id].GetSignature(), jdk)
			if bug == "" {
				continue
			}
			key := bug + " " + jdk.GetName() + " " + jdk.GetVersion()
			if states[key] == nil {
				states[key] = &misstepv1.FindingState{
					Kind: misstepv1.StateBack, Jdk: jdk.GetName(), Since: s.finding.GetLastSeen(), Bug: bug, FixedIn: fixedIn,
				}
			}
			return states[key], nil
		}
		return nil, nil
	}
	for _, h := range s.hits {
		state, err := on(h)
		if err != nil {
			return err
		}
		if state != nil {
			state.Hits += h.N
		}
	}
	if len(states) == 0 {
		return nil
	}
	for _, c := range trials {
		if !couldShow(s.finding.GetSignature(), c.Checks) {
			continue
		}
		state, err := on(c)
		if err != nil {
			return err
		}
		if state != nil {
			state.Trials += c.N
		}
	}
	for _, key := range slices.Sorted(maps.Keys(states)) {
		if states[key].GetHits() > 0 {
			s.finding.States = append(s.finding.States, states[key])
		}
	}
	return nil
}
