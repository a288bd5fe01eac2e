package view

import (
	"cmp"
	"slices"
	"strings"

	"misstep/coordinator/rates"
	"misstep/coordinator/store"
	"misstep/known"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/triage"
)

// label is which known bug a finding is. It follows from its signatures, the JDKs that showed it and the catalogues, and is shared:
// nobody changes what is in it.
type label struct {
	assorted, knownAs string
	on                []*misstepv1.KnownOn
	bugs              []*misstepv1.KnownBug
	// fixed has the JDKs that showed the finding although they have the fix of the known bug with its signature.
	fixed []fix
}

// fix is what a JDK has.
type fix struct {
	jdk          *jdk
	bug, fixedIn string
}

// labelling is what findings are labelled by, made once for all of them.
type labelling struct {
	Groups
	*trials
	tx store.Tx
	// known is the store's own catalogue before the built-in one.
	known known.Catalogue
	kept  *labels
	// jdks of combinations, by their indices; nil until they are wanted.
	jdks []*jdk
	of   jdksOf
}

func (r Reader) labelling(tx store.Tx, g Groups, t *trials) *labelling {
	return &labelling{
		Groups: g, trials: t, tx: tx, known: r.Known.With(g.Own), kept: &cmp.Or(r.Memory, &Memory{}).labels,
		jdks: make([]*jdk, len(t.tallies)), of: jdksOf{},
	}
}

// jdk returns the JDK of a combination.
func (l *labelling) jdk(tally int) (*jdk, error) {
	if l.jdks[tally] == nil {
		found, err := l.of.find(l.tx, l.log.Tallies[tally].Combination)
		if err != nil {
			return nil, err
		}
		l.jdks[tally] = l.kept.jdk(found)
	}
	return l.jdks[tally], nil
}

// label returns the label of a finding with these hits. It depends on the current catalogues, of which the store's own comes first;
// the label of a stored reproducer is that of its own time.
func (l *labelling) label(f *misstepv1.Finding, all []hits) (label, error) {
	var shownOn []*jdk
	for _, h := range all {
		j, err := l.jdk(h.tally)
		if err != nil {
			return label{}, err
		}
		if !slices.Contains(shownOn, j) {
			shownOn = append(shownOn, j)
		}
	}
	return l.kept.get(l.catalogue, idsOf(f), shownOn, func() label { return l.made(f, shownOn) }), nil
}

// made makes a label. Merged findings are one bug, so any of their signatures may identify it.
func (l *labelling) made(f *misstepv1.Finding, shownOn []*jdk) label {
	var out label
	out.assorted, _ = triage.Assorted(f.GetSignature())
	for _, j := range shownOn {
		on := &misstepv1.KnownOn{Jdk: j.Jdk}
		for _, id := range idsOf(f) {
			for _, bug := range triage.KnownAs(l.known, l.Rows[id].GetSignature(), j.Jdk) {
				switch {
				case on.GetKnownAs() == "":
					on.KnownAs = bug
				case on.GetKnownAs() != bug && !slices.Contains(on.GetAlsoAs(), bug):
					on.AlsoAs = append(on.AlsoAs, bug)
				}
				if own := l.OwnBugs[bug]; own != nil && !slices.Contains(out.bugs, own) {
					out.bugs = append(out.bugs, own)
				}
			}
		}
		out.on = append(out.on, on)
		for _, id := range idsOf(f) {
			if bug, fixedIn := l.known.Fixed(l.Rows[id].GetSignature(), j.Jdk); bug != "" {
				out.fixed = append(out.fixed, fix{j, bug, fixedIn})
				break
			}
		}
	}
	slices.SortFunc(out.on, compareOn)
	var bugs []string
	for _, on := range out.on {
		switch {
		case on.GetKnownAs() == "":
			return out
		case !slices.Contains(bugs, on.GetKnownAs()):
			bugs = append(bugs, on.GetKnownAs())
		}
	}
	out.knownAs = strings.Join(bugs, ", ")
	return out
}

// addBack adds a state for each JDK that showed the finding although it has the fix.
func (l *labelling) addBack(f *misstepv1.Finding, all []hits, fixed []fix) error {
	if len(fixed) == 0 {
		return nil
	}
	states := map[*jdk]*misstepv1.FindingState{}
	for _, x := range fixed {
		states[x.jdk] = &misstepv1.FindingState{
			Kind: misstepv1.StateBack, Jdk: x.jdk.GetName(), Since: f.GetLastSeen(), Bug: x.bug, FixedIn: x.fixedIn,
		}
		f.States = append(f.States, states[x.jdk])
	}
	for _, h := range all {
		if state := states[l.jdks[h.tally]]; state != nil {
			state.Hits += h.n
		}
	}
	can := l.could(f)
	for i, t := range l.tallies {
		if !can[t.checks] {
			continue
		}
		j, err := l.jdk(i)
		if err != nil {
			return err
		}
		if state := states[j]; state != nil {
			state.Trials += l.log.Tallies[i].N()
		}
	}
	return nil
}

// compareOn orders by the JDK: version, then name.
func compareOn(a, b *misstepv1.KnownOn) int {
	v, w := versionOf(a.GetJdk()), versionOf(b.GetJdk())
	return cmp.Or(slices.Compare(v[:], w[:]), cmp.Compare(a.GetJdk().GetName(), b.GetJdk().GetName()),
		cmp.Compare(a.GetJdk().GetVersion(), b.GetJdk().GetVersion()))
}

// jdksOf caches the JDKs of campaigns and reproductions by id, since counts have only the names of JDKs.
type jdksOf map[string][]*misstepv1.Jdk

// find returns the JDK that a combination's trials ran on.
func (j jdksOf) find(tx store.Tx, c rates.Combination) (*misstepv1.Jdk, error) {
	all, ok := j[c.Campaign]
	if !ok {
		var err error
		if all, err = readJdks(tx, c.Campaign); err != nil {
			return nil, err
		}
		j[c.Campaign] = all
	}
	if i := slices.IndexFunc(all, func(x *misstepv1.Jdk) bool { return x.GetName() == c.JDK }); i >= 0 {
		return all[i], nil
	}
	return &misstepv1.Jdk{Name: c.JDK}, nil
}

// readJdks returns the JDKs of a campaign or of a reproduction.
func readJdks(tx store.Tx, campaign string) ([]*misstepv1.Jdk, error) {
	if !strings.HasPrefix(campaign, store.ReproductionPrefix) || strings.HasPrefix(campaign, store.RetestPrefix) {
		c, err := tx.Campaign(campaign)
		if err != nil {
			return nil, err
		}
		return c.Submission.GetJdks(), nil
	}
	r, err := tx.Reproduction(campaign)
	if err != nil {
		return nil, err
	}
	all := []*misstepv1.Jdk{r.GetSpec().GetRecipe().GetJdk()}
	for _, b := range r.GetSpec().GetBuilds() {
		all = append(all, b.GetJdk())
	}
	return all, nil
}
