package web

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"misstep/coordinator/access"
	misstepv1 "misstep/proto/misstep/v1"
)

// village is a coordinator with one campaign, and a secret one for whom it names. Callers are known by their credential.
type village struct {
	grpc.ClientConnInterface
	people map[string]*misstepv1.WhoAmIResponse
	// late means that nobody is told yet that they are named.
	late bool
	// hangs is the call that does not answer.
	hangs string
	// lists is how often the campaigns were listed.
	lists int
	site  *Site
	// mu is held while a call is answered.
	mu sync.Mutex
}

func (c *village) Invoke(ctx context.Context, method string, _, out any, _ ...grpc.CallOption) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	sent, _ := metadata.FromOutgoingContext(ctx)
	who := c.people[strings.Join(sent.Get("authorization"), ",")]
	if c.hangs != "" && strings.HasSuffix(method, c.hangs) {
		c.mu.Unlock()
		<-ctx.Done()
		c.mu.Lock()
		return status.FromContextError(ctx.Err()).Err()
	}
	if who == nil {
		return status.Error(codes.Unauthenticated, "this token is not valid")
	}
	switch out := out.(type) {
	case *misstepv1.WhoAmIResponse:
		out.Name, out.Named, out.Grants = who.GetName(), who.GetNamed() && !c.late, who.GetGrants()
	case *misstepv1.ListCampaignsResponse:
		if len(who.GetGrants()) == 0 {
			return status.Errorf(codes.PermissionDenied, "%s may not", who.GetName())
		}
		c.lists++
		tally := map[string]uint64{access.RoleName(who.GetGrants()[0].GetRole()): 1} // triagers see more
		out.Campaigns = []*misstepv1.CampaignStatus{{Id: "Cplain", Campaign: &misstepv1.Campaign{Name: "plain"}, Outcomes: tally}}
		if forAnyone(ctx) || !who.GetNamed() {
			return nil
		}
		out.Campaigns = append(out.Campaigns, &misstepv1.CampaignStatus{Id: "Csecret"})
	case *misstepv1.ListRunnersResponse:
	default:
		return status.Error(codes.NotFound, "there is none")
	}
	return nil
}

// forAnyone reports whether a client said that an answer is for others, too.
func forAnyone(ctx context.Context) bool {
	sent, _ := metadata.FromOutgoingContext(ctx)
	said, _ := metadata.FromOutgoingContext(access.ForAnyone(context.Background()))
	for key := range said {
		if len(sent.Get(key)) == 0 {
			return false
		}
	}
	return true
}

// newVillage has a site for anna, ben and mallory, who have one role, and visits it with a session.
func newVillage() (c *village, visit func(who, path string, header ...string) *httptest.ResponseRecorder) {
	grants := []*misstepv1.Grant{{Role: misstepv1.Role_ROLE_VIEWER}}
	c = &village{people: map[string]*misstepv1.WhoAmIResponse{}}
	s := New(Options{Conn: c, Asks: true})
	c.site = s
	cookies := map[string]*http.Cookie{}
	for _, name := range []string{"anna", "ben", "mallory"} {
		c.people["Bearer "+name] = &misstepv1.WhoAmIResponse{Name: name + "@example.org", Grants: grants}
		cookies[name] = s.cookie(s.sessions.begin(token(name), time.Now()))
	}
	return c, func(who, path string, header ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.AddCookie(cookies[who])
		for pair := range slices.Chunk(header, 2) {
			if r.Header.Set(pair[0], pair[1]); pair[0] == "Host" {
				r.Host = pair[1]
			}
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w
	}
}

// Whatever becomes of the rights of one of two people who shared a page, each sees what is theirs from then on.
func TestRightsChangeWhileAPageIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, visit := newVillage()
		anna := c.people["Bearer anna"]
		see := func(who string) (code int, text string) {
			w := visit(who, "/campaigns")
			return w.Code, w.Body.String()
		}
		shared := func(who string) string {
			t.Helper()
			code, text := see(who)
			require.Equal(t, http.StatusOK, code, text)
			assert.Contains(t, text, "Cplain")
			assert.Contains(t, text, who+"@example.org")
			for _, hidden := range []string{"Csecret", "mallory@", "anna@", "ben@"} {
				if !strings.HasPrefix(hidden, who) {
					assert.NotContains(t, text, hidden, who)
				}
			}
			return text
		}
		shared("anna")
		shared("ben")
		assert.Equal(t, 1, c.lists)
		for _, first := range []string{"anna", "ben"} { // each makes the page once
			time.Sleep(time.Minute)
			anna.Named, c.late = true, true
			shared("anna")
			shared("ben")
			c.late = false
			time.Sleep(time.Minute)
			if first == "ben" {
				shared("ben")
			}
			_, text := see("anna")
			assert.Contains(t, text, "Csecret", "at once")
			shared("ben")
			anna.Named = false
			shared("anna")
		}
		granted := anna.GetGrants()
		anna.Grants = nil
		code, text := see("anna")
		assert.Equal(t, http.StatusForbidden, code)
		assert.NotContains(t, text, "Cplain")
		shared("ben")
		anna.Grants = granted
		shared("anna")
		delete(c.people, "Bearer anna")
		code, text = see("anna")
		assert.Equal(t, http.StatusUnauthorized, code)
		assert.NotContains(t, text, "Cplain")
		assert.NotContains(t, text, "anna@")
		shared("ben")
		anna.Name = "anne@example.org"
		c.people["Bearer anna"] = anna
		_, text = see("anna")
		assert.Contains(t, text, "anne@example.org")
		assert.NotContains(t, text, "anna@")
	})
}

// No header of one visitor, and no address that looks like another's, puts anything on a page of another.
func TestNobodyChangesThePageOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, visit := newVillage()
		page := func(who string) string {
			w := visit(who, "/campaigns?a=1&b=2")
			require.Equal(t, http.StatusOK, w.Code)
			assert.Empty(t, w.Header().Get("Set-Cookie"))
			assert.Empty(t, w.Header().Get("Etag"))
			assert.Equal(t, "private, no-cache", w.Header().Get("Cache-Control"))
			return w.Body.String()
		}
		want := page("ben")
		for _, header := range [][]string{
			{"X-Forwarded-Host", "mallory.example"},
			{"X-Forwarded-Proto", "mallory"},
			{"X-Forwarded-For", "192.0.2.66"},
			{"X-Forwarded-Prefix", "/mallory"},
			{"Host", "mallory.example"},
			{"X-Original-Url", "/mallory"},
			{"Referer", "http://mallory.example"},
			{"X-Http-Method-Override", "POST"},
			{"Accept", "application/json"},
			{"Accept-Language", "mallory"},
			{"Misstep-For-Anyone", "mallory"},
			{"Misstep-Project", "mallory"},
			{"Last-Event-Id", "mallory"},
		} {
			time.Sleep(time.Minute)
			visit("mallory", "/campaigns%3Fa=1&b=2")
			visit("mallory", "/p/default/campaigns?a=1&b=2")
			visit("mallory", "/campaigns?a=1&b=2", header...)
			assert.Equal(t, want, page("ben"), header)
		}
		time.Sleep(time.Minute)
		made := c.site.texts.kept.Len()
		for _, query := range []string{"?b=2&a=1", "?a=1&b=2&", "?&&a=1&b=2"} {
			visit("ben", "/campaigns"+query)
			assert.Equal(t, made, c.site.texts.kept.Len(), "the same, written differently")
		}
		visit("mallory", "/campaigns/Cnone")
		visit("mallory", "/findings?jdk=\xff")
		assert.Equal(t, made, c.site.texts.kept.Len(), "what is wrong takes no place of others")
	})
}

// A coordinator that does not answer keeps nobody for ever, whatever call it is, and is asked again.
func TestACoordinatorThatDoesNotAnswer(t *testing.T) {
	for _, call := range []string{"/WhoAmI", "/ListCampaigns"} {
		for _, path := range []string{"/campaigns", "/campaigns.json", "/campaigns?x"} {
			synctest.Test(t, func(t *testing.T) {
				c, visit := newVillage()
				c.hangs = call
				answers := make(chan *httptest.ResponseRecorder)
				begin := time.Now()
				for _, who := range []string{"anna", "ben"} {
					go func() { answers <- visit(who, path) }()
				}
				for range 2 {
					w := <-answers
					assert.Equal(t, http.StatusGatewayTimeout, w.Code)
					assert.Contains(t, w.Body.String(), "the coordinator did not answer within 1m0s")
				}
				assert.LessOrEqual(t, time.Since(begin), 2*maxMaking)
				c.mu.Lock()
				c.hangs = ""
				c.mu.Unlock()
				assert.Equal(t, http.StatusOK, visit("anna", path).Code)
			})
		}
	}
}
