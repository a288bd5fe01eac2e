package view

import (
	"cmp"
	"slices"
	"strings"

	"misstep/coordinator/rates"
	"misstep/coordinator/store"
	"misstep/coordinator/triage"
	"misstep/known"
	misstepv1 "misstep/proto/misstep/v1"
)

// labelling is what findings are labelled by, made once for all of them.
type labelling struct {
	Groups
	// known is the store's own catalogue before the built-in one.
	known known.Catalogue
	jdks  jdksOf
}

func (r Reader) labelling(g Groups) labelling { return labelling{g, r.Known.With(g.Own), jdksOf{}} }

// addLabel fills in which known bug a finding is on each JDK that showed it, and on all of them. The label depends on the hits, in
// any order, and on the current catalogues, of which the store's own comes first; the label of a stored reproducer is that of its
// own time. Merged findings are one bug, so any of their signatures may identify it.
func (l labelling) addLabel(tx store.Tx, f *misstepv1.Finding, hits []rates.Count) error {
	f.KnownAs, f.KnownOn, f.Bugs = "", nil, nil
	f.Assorted, _ = triage.Assorted(f.GetSignature())
	for _, h := range hits {
		jdk, err := l.jdks.find(tx, h.Combination)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(f.GetKnownOn(), func(k *misstepv1.KnownOn) bool {
			return k.GetJdk().GetName() == jdk.GetName() && k.GetJdk().GetVersion() == jdk.GetVersion()
		}) {
			continue
		}
		on := &misstepv1.KnownOn{Jdk: jdk}
		for _, id := range append([]string{f.GetId()}, f.GetAliases()...) {
			for _, bug := range triage.KnownAs(l.known, l.Rows[id].GetSignature(), jdk) {
				switch {
				case on.GetKnownAs() == "":
					on.KnownAs = bug
				case on.GetKnownAs() != bug && !slices.Contains(on.GetAlsoAs(), bug):
					on.AlsoAs = append(on.AlsoAs, bug)
				}
				if own := l.OwnBugs[bug]; own != nil && !slices.Contains(f.GetBugs(), own) {
					f.Bugs = append(f.Bugs, own)
				}
			}
		}
		f.KnownOn = append(f.KnownOn, on)
	}
	slices.SortFunc(f.GetKnownOn(), compareOn)
	var bugs []string
	for _, on := range f.GetKnownOn() {
		switch {
		case on.GetKnownAs() == "":
			return nil
		case !slices.Contains(bugs, on.GetKnownAs()):
			bugs = append(bugs, on.GetKnownAs())
		}
	}
	f.KnownAs = strings.Join(bugs, ", ")
	return nil
}

// compareOn orders by the JDK: version, then name.
func compareOn(a, b *misstepv1.KnownOn) int {
	v, _ := known.ParseVersion(a.GetJdk().GetVersion())
	w, _ := known.ParseVersion(b.GetJdk().GetVersion())
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
