package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

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

// callerOf is who calls, as the coordinator says.
func callerOf(who *misstepv1.WhoAmIResponse) *access.Caller {
	c := &access.Caller{Name: who.GetName()}
	for _, g := range who.GetGrants() {
		c.Grants = append(c.Grants, access.Grant{Project: g.GetProject(), Role: g.GetRole()})
	}
	return c
}

// rightsOf is what somebody may do, as a part of the key of what is kept for all who may do the same.
func rightsOf(c *access.Caller) string { return fmt.Sprint(c.Grants) }

// unnamed is the visit of somebody who may do the same and is named nowhere.
func (v *visit) unnamed() *visit {
	other := *v
	other.named = false
	return &other
}

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
		if !utf8.ValidString(path) || !isText(r.URL.Query()) || !isText(r.PostForm) {
			s.fail(w, r, status.Error(codes.InvalidArgument, "the address or the form has bytes that are not UTF-8"))
			return
		}
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
		v.caller, v.named = callerOf(who), who.GetNamed()
		at := *r.URL
		at.Path, at.RawPath = path, ""
		r.URL = &at
		next.ServeHTTP(w, r)
	})
}

// isText reports whether all names and values are such as a message may have.
func isText(form url.Values) bool {
	for name, values := range form {
		if !utf8.ValidString(name) || slices.ContainsFunc(values, func(v string) bool { return !utf8.ValidString(v) }) {
			return false
		}
	}
	return true
}
