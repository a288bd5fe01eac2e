package web

import (
	"context"
	"fmt"
	"hash/fnv"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	misstepv1 "misstep/proto/misstep/v1"
)

const (
	// lookEvery is how often a stream looks whether something changed, and aliveEvery how often it says that it is there, and asks
	// again whether whoever listens may.
	lookEvery  = 2 * time.Second
	aliveEvery = 30 * time.Second
	// lookTime bounds the time of one look.
	lookTime = 30 * time.Second
)

// changes tell whether something changed in a project. What many streams of people who may do the same ask at the same time is
// looked up once.
type changes struct {
	mu sync.Mutex
	// by project and what those who have streams in it may do; guarded by mu
	looks map[string]*look
	// made counts the changes that were made on pages.
	made atomic.Uint64
}

// look is the last one at a project, as people who may do the same see it.
type look struct {
	streams int // guarded by changes.mu
	// turn has a place for the stream that looks; what follows belongs to it.
	turn chan struct{}
	at   time.Time
	hash uint64
}

// follow returns the look that the streams with a key share, until leave is called.
func (c *changes) follow(key string) (l *look, leave func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l = c.looks[key]; l == nil {
		if c.looks == nil {
			c.looks = map[string]*look{}
		}
		l = &look{turn: make(chan struct{}, 1)}
		c.looks[key] = l
	}
	l.streams++
	return l, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if l.streams--; l.streams == 0 {
			delete(c.looks, key)
		}
	}
}

// events is a stream of server-sent events: "changed" with a number that stands for what is shown, whenever that changes.
func (s *Site) events(w http.ResponseWriter, r *http.Request) {
	v := visitOf(r.Context())
	leave, err := s.streams.join(v.caller)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	defer leave()
	last, leave := s.changes.follow(v.project + " " + rightsOf(v.caller))
	defer leave()
	hash, err := s.state(r.Context(), last)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	out := http.NewResponseController(w)
	tell := func(text string) bool {
		_, err := fmt.Fprint(w, text)
		return err == nil && out.Flush() == nil
	}
	if !tell(fmt.Sprintf("retry: 5000\nid: %x\n\n", hash)) {
		return
	}
	if before := r.Header.Get("Last-Event-ID"); before != "" && before != fmt.Sprintf("%x", hash) {
		hash = 0 // something changed while there was no connection
	}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for asked := s.Clock(); ; {
		select {
		case <-r.Context().Done():
			return
		case <-tick.C:
		}
		if now := s.Clock(); now.Sub(asked) >= aliveEvery {
			asked = now
			who, err := s.access.WhoAmI(r.Context(), &misstepv1.WhoAmIRequest{})
			if err != nil || rightsOf(callerOf(who)) != rightsOf(v.caller) || !tell(": alive\n\n") {
				return // who may do something else now follows anew
			}
		}
		current, err := s.state(r.Context(), last)
		switch {
		case status.Code(err) == codes.PermissionDenied || status.Code(err) == codes.Unauthenticated:
			return
		case err != nil || current == hash:
			continue
		}
		if hash = current; !tell(fmt.Sprintf("event: changed\nid: %x\ndata: %x\n\n", hash, hash)) {
			return
		}
	}
}

// state is a number that changes when campaigns or runners of the visitor's project do, or what was decided on these pages:
// whatever is found ends a trial of a campaign. It is made without what anybody sees by name, so it is the same for all who may
// do the same.
func (s *Site) state(ctx context.Context, l *look) (uint64, error) {
	ctx = context.WithValue(ctx, visitKey{}, visitOf(ctx).unnamed())
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	if s.Clock().Sub(l.at) < lookEvery/2 {
		return l.hash, nil
	}
	h := fnv.New64a()
	add := func(m proto.Message, err error) error {
		if err != nil {
			return err
		}
		text, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
		_, _ = h.Write(text) // never fails
		return err
	}
	campaigns, err := s.admin.ListCampaigns(ctx, &misstepv1.ListCampaignsRequest{})
	for _, c := range campaigns.GetCampaigns() {
		c.TrialsPerSecond, c.FindingIds = 0, nil // which time alone changes; of which not everybody sees all
	}
	if err := add(campaigns, err); err != nil {
		return 0, err
	}
	_, _ = fmt.Fprint(h, s.changes.made.Load())
	runners, err := s.admin.ListRunners(ctx, &misstepv1.ListRunnersRequest{})
	for _, r := range runners.GetRunners() {
		r.LastCall = nil
	}
	if err := add(runners, err); err != nil {
		return 0, err
	}
	l.at, l.hash = s.Clock(), h.Sum64()
	return l.hash, nil
}
