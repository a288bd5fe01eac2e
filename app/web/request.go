package web

import (
	"context"
	"net/http"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"misstep/coordinator/access"
	"misstep/coordinator/projects"
	misstepv1 "misstep/proto/misstep/v1"
)

// visit is who looks at what: one request, before it is known which page it is for.
type visit struct {
	caller *access.Caller
	// named means that the caller may see what others with the same grants do not.
	named bool
	// project and the prefix of its addresses, as "/p/nightly"; the default project has none.
	project, prefix string
	// format of the answer: html, json or csv.
	format string
	// csrf is what forms of the visitor's pages have in them; empty where no form may be sent.
	csrf string
}

type visitKey struct{}

func visitOf(ctx context.Context) *visit { return ctx.Value(visitKey{}).(*visit) }

// enter finds out the project, the format and the caller of a request, and asks whoever is to log in. What follows sees the address
// without project and format, in a context with which calls are made for the caller in the project.
func (s *Site) enter(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := &visit{project: projects.Default, format: "html", caller: &access.Caller{}}
		path := r.URL.Path
		if rest, ok := strings.CutPrefix(path, "/p/"); ok {
			v.project, path, _ = strings.Cut(rest, "/")
			v.prefix, path = "/p/"+v.project, "/"+path
		}
		if !strings.Contains(path, "/evidence/") { // whose files have names of their own
			for _, format := range []string{"json", "csv"} {
				if before, ok := strings.CutSuffix(path, "."+format); ok {
					v.format, path = format, before
				}
			}
		}
		if path == "/overview" { // so that the first page has a name that a format can follow
			path = "/"
		}
		ctx := context.WithValue(access.ForVisitor(r.Context(), r.RemoteAddr), visitKey{}, v)
		if err := projects.Check(v.project); err != nil {
			v.project, v.prefix = projects.Default, ""
			s.fail(w, r.WithContext(ctx), status.Errorf(codes.InvalidArgument, "project: %v", err))
			return
		}
		r = r.WithContext(ctx)
		ctx, csrf, err := s.identify(r)
		if err != nil {
			s.askToLogIn(w, r, err)
			return
		}
		v.csrf = csrf
		ctx = metadata.AppendToOutgoingContext(ctx, access.ProjectHeader, v.project)
		r = r.WithContext(ctx)
		who, err := s.access.WhoAmI(ctx, &misstepv1.WhoAmIRequest{})
		switch {
		case s.Asks && status.Code(err) == codes.Unauthenticated:
			s.askToLogIn(w, r, err)
			return
		case err != nil:
			s.fail(w, r, err)
			return
		}
		v.caller, v.named = &access.Caller{Name: who.GetName()}, who.GetNamed()
		for _, g := range who.GetGrants() {
			v.caller.Grants = append(v.caller.Grants, access.Grant{Project: g.GetProject(), Role: g.GetRole()})
		}
		at := *r.URL
		at.Path, at.RawPath = path, ""
		r.URL = &at
		next.ServeHTTP(w, r)
	})
}
