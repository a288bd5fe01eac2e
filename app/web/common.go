package web

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"html/template"
	"net/http"
	"runtime/debug"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"misstep/coordinator/access"
)

// minShared is how long the text of a page is given to everybody who may do the same: a page that is open is not fetched sooner.
const minShared = 2 * time.Second

// blanks stand in the text of a shared page for what each visitor has alone. Nobody is sent one.
type blanks struct{ csrf, caller string }

func newBlanks() blanks { return blanks{rand.Text(), rand.Text()} }

// fill returns a visitor's page.
func (b blanks) fill(text []byte, v *visit) []byte {
	text = bytes.ReplaceAll(text, []byte(b.csrf), []byte(template.HTMLEscapeString(v.csrf)))
	return bytes.ReplaceAll(text, []byte(b.caller), []byte(template.HTMLEscapeString(v.caller.Name)))
}

// common is page for pages that are the same for everybody who may do the same, but for the visitor's name and what forms have in
// them: their text is made once for all who look at about the same time. It is made without what anybody sees by name, so whoever
// is named somewhere has pages of their own.
func (s *Site) common(make maker) http.Handler {
	own := s.page(make)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := visitOf(r.Context())
		if v.named || v.format != "html" {
			own.ServeHTTP(w, r)
			return
		}
		blank := *v
		blank.caller = &access.Caller{Name: s.blanks.caller, Grants: v.caller.Grants}
		if v.csrf != "" {
			blank.csrf = s.blanks.csrf
		}
		key := fmt.Sprintf("%s %q %q %t %q %q", r.Method, v.prefix, rightsOf(v.caller), v.csrf != "", r.URL.Path,
			r.URL.Query().Encode())
		text, err := s.texts.get(r.Context(), key, func(ctx context.Context) (_ []byte, err error) {
			defer func() { // net/http keeps a panic in one request from the others; nothing does so here
				if p := recover(); p != nil {
					s.Logger.ErrorContext(ctx, "page", "path", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
					err = status.Error(codes.Internal, "this page could not be made: the log says why")
				}
			}()
			r := r.WithContext(context.WithValue(access.ForAnyone(ctx), visitKey{}, &blank))
			p, err := make(r)
			if err != nil {
				return nil, err
			}
			return s.html(&blank, r, p)
		})
		if err != nil {
			s.fail(w, r, err)
			return
		}
		send(w, http.StatusOK, "text/html; charset=utf-8", s.blanks.fill(text, v))
	})
}
