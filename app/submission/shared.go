package submission

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"misstep/app/local"
	catalogues "misstep/catalogue"
	"misstep/coordinator/catalogue"
	"misstep/corpus"
	misstepv1 "misstep/proto/misstep/v1"
)

const (
	jdkKind      = catalogue.JDK
	workloadKind = catalogue.Workload
)

// Precedence says which catalogue gives a name that both have.
type Precedence string

// The precedences.
const (
	// Own takes what this machine has, and the rest from the shared catalogue.
	Own Precedence = "own"
	// SharedFirst takes what the shared catalogue has, and the rest from this machine.
	SharedFirst Precedence = "shared"
)

// Shared is the shared catalogue of the coordinator that a campaign is for. The zero value is none.
type Shared struct {
	Entries []*misstepv1.CatalogueEntry
	// First is the catalogue that gives a name which both have; empty is Own.
	First Precedence
}

// LoadFor is Load for a coordinator with a shared catalogue: what that gives is left open in the request. notes tell, a line each,
// where names come from when that is not plain. Without agent artefacts here, runners take their own.
func LoadFor(ctx context.Context, i local.Installation, file string, shared Shared) (
	request *misstepv1.SubmitCampaignRequest, notes []string, err error,
) {
	text, err := read(file)
	if err != nil {
		return nil, nil, err
	}
	return Prepare(ctx, &i, text, file, shared)
}

// Prepare is LoadFor for the text of a campaign; name stands for it in messages. Without an installation (nil) all names are those
// of the shared catalogue.
func Prepare(ctx context.Context, i *local.Installation, text []byte, name string, shared Shared) (
	request *misstepv1.SubmitCampaignRequest, notes []string, err error,
) {
	spec, err := parse(i, text, name, shared, func(*misstepv1.Campaign) {})
	if err != nil {
		return nil, nil, err
	}
	request = &misstepv1.SubmitCampaignRequest{Campaign: spec}
	if i == nil {
		return request, nil, nil
	}
	if artefacts, err := i.Agent(); err == nil {
		request.AgentDigest = artefacts.Digest
	} else {
		notes = append(notes, "no agent artefacts here: runners take their own agent")
	}
	if err := resolve(ctx, *i, request, shared); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	return request, append(notes, shared.ambiguous(*i, request)...), nil
}

// names returns the names that a campaign may use.
func (s Shared) names(i *local.Installation) (jdks, loads []string, err error) {
	jdks, loads = []string{}, []string{} // none, where nil would be any
	if i != nil {
		if jdks, err = i.JDKNames(); err != nil {
			return nil, nil, err
		}
		if loads, err = i.WorkloadNames(); err != nil {
			return nil, nil, err
		}
	}
	for _, e := range s.Entries {
		if e.GetKind() == jdkKind {
			jdks = append(jdks, e.GetName())
		} else {
			loads = append(loads, e.GetName())
		}
	}
	return jdks, loads, nil
}

func (s Shared) find(kind misstepv1.CatalogueKind, name string) *misstepv1.CatalogueEntry {
	k := slices.IndexFunc(s.Entries, func(e *misstepv1.CatalogueEntry) bool { return e.GetKind() == kind && e.GetName() == name })
	if k < 0 {
		return nil
	}
	return s.Entries[k]
}

// matching returns the JDKs of the shared catalogue whose names match a pattern.
func (s Shared) matching(pattern string) (all []*misstepv1.CatalogueEntry) {
	for _, e := range s.Entries {
		if e.GetKind() == jdkKind && catalogue.Matches(pattern, e.GetName()) {
			all = append(all, e)
		}
	}
	return all
}

// takes returns the entry of the shared catalogue that gives a name; nil when this machine does.
func (s Shared) takes(i local.Installation, kind misstepv1.CatalogueKind, name string) (*misstepv1.CatalogueEntry, error) {
	e := s.find(kind, name)
	if e == nil || s.First == SharedFirst {
		return e, nil
	}
	_, err := ownDigest(i, kind, name)
	if errors.Is(err, catalogues.ErrUnknown) {
		return e, nil
	}
	return nil, err
}

func ownDigest(i local.Installation, kind misstepv1.CatalogueKind, name string) (corpus.Digest, error) {
	if kind == jdkKind {
		entry, err := i.JDKs().Get(name)
		return entry.Digest, err
	}
	entry, err := i.Workloads().Get(name)
	return entry.Digest, err
}

// ambiguous tells which names of a request both catalogues have with other files, and which one is taken.
func (s Shared) ambiguous(i local.Installation, request *misstepv1.SubmitCampaignRequest) (notes []string) {
	tell := func(kind misstepv1.CatalogueKind, name string) {
		e := s.find(kind, name)
		own, err := ownDigest(i, kind, name)
		if e == nil || err != nil || own.String() == e.GetDigest() {
			return
		}
		taken, other := "this machine's", "--catalogue shared takes that one"
		if s.First == SharedFirst {
			taken, other = "the shared catalogue's", "--catalogue own takes this machine's"
		}
		notes = append(notes, fmt.Sprintf("%s %s: %s is taken; here it is %.19s…, in the shared catalogue %.19s… of %s: %s",
			catalogue.Word(kind), name, taken, own, e.GetDigest(), e.GetOwner(), other))
	}
	for _, name := range request.GetCampaign().GetJdks() {
		tell(jdkKind, name)
	}
	for _, w := range request.GetCampaign().GetWorkloads() {
		tell(workloadKind, w.GetName())
	}
	return notes
}
