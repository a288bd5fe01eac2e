package web

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"misstep/known"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/signature"
)

// Labels are entries of the project's own catalogue of known bugs that match exactly the signature of a finding.

// ownLabel is a known bug of the project's own as which a finding is known.
type ownLabel struct {
	*misstepv1.KnownBug
	// Exact reports that the entry has the finding's very signature, so that it can be taken away from it.
	Exact bool
}

func ownLabels(f *misstepv1.Finding) (all []ownLabel) {
	for _, b := range f.GetBugs() {
		all = append(all, ownLabel{b, slices.ContainsFunc(b.GetMatches(), isExactly(f))})
	}
	return all
}

// exactly is the match of a finding's signature and of no other.
func exactly(f *misstepv1.Finding) *misstepv1.KnownMatch {
	s, _ := signature.Upgrade(f.GetSignature())
	return &misstepv1.KnownMatch{Kind: s.GetKind(), Parts: s.GetParts()}
}

func isExactly(f *misstepv1.Finding) func(*misstepv1.KnownMatch) bool {
	exact := exactly(f)
	return func(m *misstepv1.KnownMatch) bool { return proto.Equal(m, exact) }
}

// label makes a finding known as a bug: the entry with that id gets the finding's signature, too.
func (s *Site) label(ctx context.Context, r *http.Request) (string, error) {
	f, catalogue, _, err := s.labelled(ctx, r)
	if err != nil {
		return "", err
	}
	if f.GetAssorted() != "" {
		return "", status.Errorf(codes.FailedPrecondition, "%s holds assorted failures (%s) and cannot be one known bug", f.GetId(),
			f.GetAssorted())
	}
	id := strings.TrimSpace(r.PostFormValue("bug"))
	entry := &misstepv1.KnownBug{Id: id, Title: f.GetTitle()}
	if bug, ok := catalogue.Bug(id); ok {
		entry = bug.Proto()
	}
	if !slices.ContainsFunc(entry.GetMatches(), isExactly(f)) {
		entry.Matches = append(entry.GetMatches(), exactly(f))
	}
	_, err = s.admin.PutKnownBugs(ctx, &misstepv1.PutKnownBugsRequest{Bugs: []*misstepv1.KnownBug{entry}})
	return "/findings/" + f.GetId(), err
}

// unlabel takes the signature of a finding from an entry, and the entry away if it then says nothing of its own.
func (s *Site) unlabel(ctx context.Context, r *http.Request) (string, error) {
	f, _, own, err := s.labelled(ctx, r)
	if err != nil {
		return "", err
	}
	to, id := "/findings/"+f.GetId(), r.PostFormValue("bug")
	i := slices.IndexFunc(own, func(b *misstepv1.KnownBug) bool {
		return b.GetId() == id && slices.ContainsFunc(b.GetMatches(), isExactly(f))
	})
	if i < 0 {
		return "", status.Errorf(codes.NotFound, "%q is no label of %s alone: `misstep known list` shows the known bugs", id, f.GetId())
	}
	entry := proto.CloneOf(own[i])
	entry.Matches = slices.DeleteFunc(entry.GetMatches(), isExactly(f))
	entry.Added, entry.AddedBy = nil, ""
	if builtIn, _ := known.Default().Bug(id); len(entry.GetMatches()) == 0 || proto.Equal(entry, builtIn.Proto()) {
		_, err = s.admin.RemoveKnownBug(ctx, &misstepv1.RemoveKnownBugRequest{BugId: id})
		return to, err
	}
	_, err = s.admin.PutKnownBugs(ctx, &misstepv1.PutKnownBugsRequest{Bugs: []*misstepv1.KnownBug{entry}})
	return to, err
}

// labelled returns the finding that a form is about, for those who may label it.
func (s *Site) labelled(ctx context.Context, r *http.Request) (
	*misstepv1.Finding, known.Catalogue, []*misstepv1.KnownBug, error,
) {
	if !visitOf(ctx).may(misstepv1.Role_ROLE_TRIAGER) { // the coordinator refuses it, and its audit log says so
		_, err := s.admin.PutKnownBugs(ctx, &misstepv1.PutKnownBugsRequest{})
		return nil, known.Catalogue{}, nil, err
	}
	response, err := s.admin.GetFinding(ctx, &misstepv1.GetFindingRequest{FindingId: r.PathValue("id")})
	if err != nil {
		return nil, known.Catalogue{}, nil, err
	}
	catalogue, own, err := s.catalogue(r)
	return response.GetFinding(), catalogue, own, err
}

func (s *Site) note(ctx context.Context, r *http.Request) (string, error) {
	_, err := s.admin.NoteFinding(ctx, &misstepv1.NoteFindingRequest{
		FindingId: r.PathValue("id"), Text: strings.TrimSpace(r.PostFormValue("text")),
	})
	return "/findings/" + r.PathValue("id"), err
}
