package web

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	misstepv1 "misstep/proto/misstep/v1"
)

// follow opens a stream, which ends with the test, and returns what is closed at its end.
func (c *village) follow(t *testing.T, who string) (w *httptest.ResponseRecorder, ended <-chan struct{}, leave func()) {
	ctx, leave := context.WithCancel(t.Context())
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/events", nil)
	r.Header.Set("Authorization", "Bearer "+who)
	w = httptest.NewRecorder()
	end := newSignal()
	go func() {
		defer close(end)
		c.site.ServeHTTP(w, r)
	}()
	return w, end, leave
}

// People who see different numbers of the same project are not told all the time that something changed.
func TestStreamsOfPeopleWhoSeeOtherNumbers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := newVillage()
		c.people["Bearer anna"].Grants = []*misstepv1.Grant{{Role: misstepv1.Role_ROLE_TRIAGER}}
		c.people["Bearer mallory"].Named = true
		var streams []*httptest.ResponseRecorder
		var ends []<-chan struct{}
		for _, who := range []string{"anna", "ben", "mallory"} {
			w, ended, leave := c.follow(t, who)
			defer leave()
			streams, ends = append(streams, w), append(ends, ended)
			time.Sleep(1200 * time.Millisecond) // more than a look is believed
		}
		time.Sleep(20 * time.Second)
		c.site.changes.made.Add(1)
		time.Sleep(2 * lookEvery)
		synctest.Wait()
		for i, w := range streams {
			select {
			case <-ends[i]:
				t.Fatal("a stream has ended")
			default:
			}
			assert.Equal(t, 1, strings.Count(w.Body.String(), "event: changed"), i)
		}
	})
}

// The stream of somebody whose rights have changed ends, so that what they follow is what they may see.
func TestStreamsEndWithTheRights(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := newVillage()
		_, annas, leave := c.follow(t, "anna")
		defer leave()
		_, bens, leaveToo := c.follow(t, "ben")
		defer leaveToo()
		time.Sleep(time.Minute)
		c.mu.Lock()
		c.people["Bearer anna"].Grants = []*misstepv1.Grant{{Role: misstepv1.Role_ROLE_HUNTER}}
		c.mu.Unlock()
		time.Sleep(aliveEvery + lookEvery)
		synctest.Wait()
		select {
		case <-annas:
		default:
			t.Error("anna still follows")
		}
		select {
		case <-bens:
			t.Error("ben does not follow any more")
		default:
		}
	})
}
