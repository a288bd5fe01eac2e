package accounts

import (
	"context"
	"log/slog"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/coordinator/access"
	"misstep/coordinator/store"
	"misstep/internal/shorten"
	misstepv1 "misstep/proto/misstep/v1"
)

const (
	// maxEntries bounds the log; trimEvery is how many entries are added between two trims.
	maxEntries = 1_000_000
	trimEvery  = 256
	recordTime = 10 * time.Second
	// refusedEvery is how long calls that are refused alike share an entry; maxRefused bounds the entries of that time, so that
	// whoever tries does not push out of the log what was done.
	refusedEvery = time.Minute
	maxRefused   = 100
	// maxCall bounds the name of a call, which a stranger chooses, in bytes.
	maxCall = 200

	auditPage, maxAuditPage = 100, 1000
)

// refusal is what calls that are refused alike have in common.
type refusal struct{ caller, kind, host, method, code string }

// refusals counts what was refused since the last flush.
type refusals struct {
	mu     sync.Mutex
	counts map[refusal]uint64 // guarded by mu
}

// others stands for all refusals beyond maxRefused.
var others = refusal{caller: "others", kind: access.KindUnspecified.String(), method: "several", code: "several"}

// first reports whether nothing like it was refused since the last flush; else it is counted.
func (r *refusals) first(what refusal) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.counts == nil {
		r.counts = map[refusal]uint64{}
	}
	if _, known := r.counts[what]; !known {
		if len(r.counts) < maxRefused {
			r.counts[what] = 0
			return true
		}
		what = others
	}
	r.counts[what]++
	return false
}

func (r *refusals) flush() map[refusal]uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	counts := r.counts
	r.counts = nil
	return counts
}

// Record receives calls, see access.Options. Calls that were done are entries of the log, with what they name. What cannot be
// recorded is logged: the call is over by then.
func (s *Service) Record(ctx context.Context, call access.Call) {
	e := &misstepv1.AuditEntry{
		Caller: call.Caller.Name, Kind: call.Caller.Kind.String(), Address: call.Caller.Address,
		Call: shorten.To(call.Method, maxCall), Subject: subject(call.Request, call.Response),
		Code: codeName(status.Code(call.Err)), Count: 1, Project: call.Project,
	}
	if call.Refused() {
		host := e.GetAddress()
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		e.Address = host
		if !s.refused.first(refusal{e.GetCaller(), e.GetKind(), host, e.GetCall(), e.GetCode()}) {
			return
		}
	}
	s.add(context.WithoutCancel(ctx), e)
}

// Run writes how many calls were refused, each minute, until the context ends.
func (s *Service) Run(ctx context.Context) {
	tick := time.NewTicker(refusedEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.Flush(ctx)
		case <-ctx.Done():
			s.Flush(context.WithoutCancel(ctx))
			return
		}
	}
}

// Flush writes how many calls were refused since the last time beyond those that have entries.
func (s *Service) Flush(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, recordTime) // of all of them, so that a store that is away delays no end
	defer cancel()
	for what, n := range s.refused.flush() {
		if n > 0 {
			s.add(ctx, &misstepv1.AuditEntry{
				Caller: what.caller, Kind: what.kind, Address: what.host, Call: what.method, Code: what.code, Count: n,
			})
		}
	}
}

func (s *Service) add(ctx context.Context, e *misstepv1.AuditEntry) {
	ctx, cancel := context.WithTimeout(ctx, recordTime)
	defer cancel()
	now := s.config.Clock()
	e.At = timestamppb.New(now)
	err := s.config.Store.Update(ctx, func(tx store.Tx) error {
		id, err := tx.AddAudit(e)
		if err != nil || id%trimEvery != 0 {
			return err
		}
		return tx.TrimAudit(now.Add(-s.config.KeepAudit), id-min(id, maxEntries))
	})
	if err != nil {
		s.config.Logger.ErrorContext(ctx, "a call is missing in the audit log", slog.Any("error", err),
			slog.String("caller", e.GetCaller()), slog.String("address", e.GetAddress()), slog.String("call", e.GetCall()),
			slog.String("subject", e.GetSubject()), slog.String("code", e.GetCode()))
	}
}

// ListAudit implements the AccessService.
func (s *Service) ListAudit(ctx context.Context, req *misstepv1.ListAuditRequest) (*misstepv1.ListAuditResponse, error) {
	if req.GetLimit() > maxAuditPage {
		return nil, status.Errorf(codes.InvalidArgument, "limit: expected at most %d, got %d", maxAuditPage, req.GetLimit())
	}
	limit := int(req.GetLimit())
	if limit == 0 {
		limit = auditPage
	}
	filter := store.AuditFilter{By: req.GetBy(), Before: req.GetBefore(), Limit: limit + 1}
	if req.GetSince() != nil {
		if err := req.GetSince().CheckValid(); err != nil {
			return nil, status.Errorf(codes.InvalidArgument, "since: %v", err)
		}
		filter.Since = req.GetSince().AsTime()
	}
	r := &misstepv1.ListAuditResponse{}
	err := s.config.Store.View(ctx, func(tx store.Tx) (err error) {
		r.Entries, err = tx.Audit(filter)
		return err
	})
	if len(r.GetEntries()) > limit {
		r.Entries = r.GetEntries()[:limit]
		r.Next = r.GetEntries()[limit-1].GetId()
	}
	return r, store.Status(err)
}

// codeName is a code as the proto spells it, such as PERMISSION_DENIED.
func codeName(c codes.Code) string {
	text := make([]byte, 0, 24)
	name := c.String()
	if name == "OK" {
		return name
	}
	for i, b := range []byte(name) {
		if 'A' <= b && b <= 'Z' && i > 0 {
			text = append(text, '_')
		}
		if 'a' <= b && b <= 'z' {
			b -= 'a' - 'A'
		}
		text = append(text, b)
	}
	return string(text)
}
