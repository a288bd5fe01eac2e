package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"misstep/app/station"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner/sim/fleet"
)

// Between two refreshes of a page is some time, and more if it took long, as in the pages' script.
const (
	leastPause, mostPause = 2 * time.Second, 30 * time.Second
	pauseFactor           = 20
)

// audience are people who have a page open each: they follow its events, and get the page anew whenever it changed.
type audience struct {
	site   string
	tokens []string
	client *http.Client
	// watching is how many people look at the finding that changes.
	watching int
	// pages are the times that pages took, seen the times from a change to a page that has it.
	pages, seen fleet.Latencies
	failed      atomic.Uint64

	mu   sync.Mutex
	mark string    // what the page of the finding that changed last has in it; guarded by mu
	at   time.Time // when it changed; guarded by mu
	n    int       // changes, guarded by mu
	// unseen is how many people have yet to see the last change; guarded by mu.
	unseen int
}

// changePatience is how long people wait for a change.
const changePatience = time.Minute

func newAudience(site string, tokens []string) *audience {
	return &audience{site: site, tokens: tokens, client: &http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: 1000},
	}}
}

// change changes the finding at which some people look.
func (a *audience) change(ctx context.Context, st *station.Station) error {
	a.mu.Lock()
	a.n++
	mark := fmt.Sprintf("change number %d.", a.n)
	a.mark, a.at, a.unseen = mark, time.Now(), a.watching
	a.mu.Unlock()
	_, err := st.SetVisibility(ctx, &misstepv1.SetVisibilityRequest{
		FindingId: changed(), Visibility: misstepv1.Visibility_VISIBILITY_SHARED, Reason: mark,
	})
	return err
}

// awaitChange waits until everybody who looks at the finding that changed has seen it.
func (a *audience) awaitChange(ctx context.Context) error {
	for begin := time.Now(); ; {
		a.mu.Lock()
		unseen := a.unseen
		a.mu.Unlock()
		switch {
		case unseen == 0:
			return nil
		case time.Since(begin) > changePatience:
			return fmt.Errorf("%d people have not seen %q after %v", unseen, a.mark, changePatience)
		}
		if err := wait(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}

// enter lets n people open their pages until leave is called; it returns once all follow.
func (a *audience) enter(ctx context.Context, n int) (leave func(), err error) {
	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	leave = func() {
		stop()
		running.Wait()
	}
	pages := pagesOf()
	a.watching = 0
	following := make(chan error, n)
	for i := range n {
		path := pages[i%len(pages)]
		if strings.HasSuffix(path, changed()) {
			a.watching++
		}
		running.Go(func() { a.look(ctx, path, a.tokens[i%len(a.tokens)], following) })
	}
	for range n {
		if err := <-following; err != nil {
			leave()
			return nil, err
		}
	}
	return leave, nil
}

// look is one visit, which ends with the context. It says when it has begun.
func (a *audience) look(ctx context.Context, path, token string, following chan<- error) {
	events, err := a.get(ctx, "/events", token)
	if err == nil {
		defer events.Close()
		_, err = a.page(ctx, path, token)
	}
	following <- err
	if err != nil {
		return
	}
	changes := make(chan struct{}, 1)
	go func() {
		for lines := bufio.NewScanner(events); lines.Scan(); {
			if lines.Text() == "event: changed" {
				select {
				case changes <- struct{}{}:
				default: // one refresh is for both
				}
			}
		}
		if ctx.Err() == nil {
			a.failed.Add(1) // the stream ended
		}
		close(changes)
	}()
	saw := ""
	for pause, last := leastPause, time.Now(); ; {
		if _, more := <-changes; !more {
			return
		}
		if wait(ctx, pause-time.Since(last)) != nil {
			continue // until the stream has ended, too
		}
		last = time.Now()
		text, err := a.page(ctx, path, token)
		if err != nil {
			if ctx.Err() == nil {
				a.failed.Add(1)
			}
			continue
		}
		took := time.Since(last)
		pause = min(mostPause, max(leastPause, pauseFactor*took))
		a.pages.Add(took)
		a.mu.Lock()
		if strings.HasSuffix(path, changed()) && a.mark != saw && bytes.Contains(text, []byte(a.mark)) {
			a.seen.Add(time.Since(a.at))
			saw = a.mark
			a.unseen--
		}
		a.mu.Unlock()
	}
}

func (a *audience) page(ctx context.Context, path, token string) ([]byte, error) {
	body, err := a.get(ctx, path, token)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return io.ReadAll(body)
}

func (a *audience) get(ctx context.Context, path, token string) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, a.site+path, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := a.client.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, errors.Join(fmt.Errorf("%s: %s", path, response.Status), response.Body.Close())
	}
	return response.Body, nil
}
