package web

import (
	"net/http"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"misstep/coordinator/access"
	misstepv1 "misstep/proto/misstep/v1"
)

// peoplePage shows to admins who may do what, and who did what.
type peoplePage struct {
	Now    time.Time
	Access []*misstepv1.AccessGrant
	Tokens []*misstepv1.Token
	Audit  []*misstepv1.AuditEntry
	Older  string
}

// auditSize is the number of entries of the audit log on a page.
const auditSize = 100

func (s *Site) people(r *http.Request) (*page, error) {
	ctx := r.Context()
	if !s.Asks {
		return nil, status.Error(codes.FailedPrecondition,
			"this coordinator asks nobody who they are: start it with --auth to have people, tokens and an audit log")
	}
	granted, err := s.access.ListAccess(ctx, &misstepv1.ListAccessRequest{})
	if err != nil {
		return nil, err
	}
	tokens, err := s.access.ListTokens(ctx, &misstepv1.ListTokensRequest{})
	if err != nil {
		return nil, err
	}
	var before uint64
	if given := r.URL.Query().Get("before"); given != "" {
		if before, err = strconv.ParseUint(given, 10, 64); err != nil {
			return nil, status.Errorf(codes.InvalidArgument, "before: expected the number of an entry, got %q", given)
		}
	}
	log, err := s.access.ListAudit(ctx, &misstepv1.ListAuditRequest{
		Before: before, Limit: auditSize, By: r.URL.Query().Get("by"),
	})
	if err != nil {
		return nil, err
	}
	p := peoplePage{Now: s.Clock(), Access: granted.GetAccess(), Tokens: tokens.GetTokens(), Audit: log.GetEntries()}
	if log.GetNext() != 0 {
		p.Older = with(r.URL.Query(), "before", strconv.FormatUint(log.GetNext(), 10))
	}
	rows := [][]string{{"at", "caller", "kind", "address", "call", "subject", "code", "count", "project"}}
	for _, e := range p.Audit {
		rows = append(rows, []string{
			stamp(e.GetAt()), e.GetCaller(), e.GetKind(), e.GetAddress(), e.GetCall(), e.GetSubject(), e.GetCode(),
			number(e.GetCount()), e.GetProject(),
		})
	}
	return &page{
		template: "people", title: "People", data: p, csv: rows, json: map[string]any{
			"access": raws(p.Access), "tokens": raws(p.Tokens), "audit": raws(p.Audit),
		},
	}, nil
}

// grantText is a grant as people write it.
func grantText(g *misstepv1.Grant) string {
	return access.Grant{Project: g.GetProject(), Role: g.GetRole()}.String()
}
