package coordinator

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/coordinator/access"
	"misstep/coordinator/projects"
	"misstep/coordinator/queue"
	"misstep/coordinator/queue/quota"
	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

// maxQuotas bounds the quotas that a store keeps.
const maxQuotas = 1000

// quotaTable knows the quotas, so that no call of a runner reads them.
type quotaTable struct {
	mu  sync.Mutex
	all *quota.Table // guarded by mu; not changed once it is there
}

func (t *quotaTable) get() *quota.Table {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all
}

func (t *quotaTable) take(all *misstepv1.Quotas) {
	table := quota.NewTable(all.GetQuotas())
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = table
}

// load takes over what coordinators have stored.
func (t *quotaTable) load(tx store.Tx) error {
	all, err := queue.ReadQuotas(tx)
	if err == nil {
		t.take(all)
	}
	return err
}

func checkQuota(req *misstepv1.SetQuotaRequest) error {
	project, person := req.GetProject(), req.GetPerson()
	switch {
	case (project == "") == (person == ""):
		return status.Error(codes.InvalidArgument, "quota: give either project or person")
	case len(person) > maxCallerLen || !utf8.ValidString(person):
		return status.Errorf(codes.InvalidArgument, "person: expected a name of 1 to %d bytes of UTF-8", maxCallerLen)
	case project != "" && project != quota.Everybody:
		if err := projects.Check(project); err != nil {
			return status.Errorf(codes.InvalidArgument, "project: %v", err)
		}
	}
	return nil
}

// SetQuota implements the AdminService.
func (s *Server) SetQuota(ctx context.Context, req *misstepv1.SetQuotaRequest) (*misstepv1.SetQuotaResponse, error) {
	if err := checkQuota(req); err != nil {
		return nil, err
	}
	var all *misstepv1.Quotas
	err := s.updateWhole(ctx, func(tx store.Tx, now time.Time) (err error) {
		if all, err = queue.ReadQuotas(tx); err != nil {
			return err
		}
		q := &misstepv1.Quota{
			Project: req.GetProject(), Person: req.GetPerson(), Runners: req.Runners, TrialsADay: req.TrialsADay,
			EvidenceADay: req.EvidenceADay, SetBy: access.From(ctx).Name, Set: timestamppb.New(now),
		}
		i, found := slices.BinarySearchFunc(all.GetQuotas(), q, quota.Compare)
		bounded := q.Runners != nil || q.TrialsADay != nil || q.EvidenceADay != nil
		switch {
		case !bounded && !found:
			return status.Errorf(codes.NotFound, "%s has no quota; `misstep quota list` shows what has one", quota.KeyOf(q))
		case !bounded:
			all.Quotas = slices.Delete(all.Quotas, i, i+1)
		case found:
			all.Quotas[i] = q
		case len(all.GetQuotas()) >= maxQuotas:
			return status.Errorf(codes.ResourceExhausted, "%d quotas are kept, which is the most: bound everybody by the name %s",
				maxQuotas, quota.Everybody)
		default:
			all.Quotas = slices.Insert(all.Quotas, i, q)
		}
		return queue.WriteQuotas(tx, all)
	})
	if err != nil {
		return nil, err
	}
	s.quotas.take(all)
	return &misstepv1.SetQuotaResponse{}, nil
}

// ListQuotas implements the AdminService.
func (s *Server) ListQuotas(ctx context.Context, _ *misstepv1.ListQuotasRequest) (*misstepv1.ListQuotasResponse, error) {
	admin := access.From(ctx).May(misstepv1.Role_ROLE_ADMIN, "")
	concerns := func(q *misstepv1.Quota) bool {
		if q.GetPerson() == "" {
			return q.GetProject() == access.Project(ctx) || q.GetProject() == quota.Everybody
		}
		return q.GetPerson() == access.Reader(ctx) || q.GetPerson() == quota.Everybody
	}
	resp := &misstepv1.ListQuotasResponse{}
	err := s.readWhole(ctx, func(tx store.Tx, now time.Time) error {
		resp.Reset()
		all, err := queue.ReadQuotas(tx)
		if err != nil || len(all.GetQuotas()) == 0 {
			return err
		}
		meter, _, err := queue.Meter(tx, quota.NewTable(all.GetQuotas()), now)
		if err != nil {
			return err
		}
		for _, q := range all.GetQuotas() {
			if !admin && !concerns(q) {
				continue
			}
			u := &misstepv1.QuotaUsage{Quota: q}
			if !strings.HasSuffix(quota.KeyOf(q), " "+quota.Everybody) {
				u.Running, u.Today = meter.Usage(quota.KeyOf(q), all.GetEnded())
			}
			resp.Quotas = append(resp.Quotas, u)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// admitted returns an error when a quota leaves the caller, or the call's project, no trials at all.
func admitted(ctx context.Context, tx store.Tx) error {
	all, err := queue.ReadQuotas(tx)
	if err != nil {
		return err
	}
	t := quota.NewTable(all.GetQuotas())
	for _, q := range []*misstepv1.Quota{
		t.Of(quota.Project(access.Project(ctx)), quota.Project(quota.Everybody)),
		t.Of(quota.Person(access.PersonOf(access.From(ctx).Name)), quota.Person(quota.Everybody)),
	} {
		if quota.Nothing(q) {
			return status.Errorf(codes.ResourceExhausted, "the quota of %s leaves no trials: ask an admin for another one",
				quota.KeyOf(q))
		}
	}
	return nil
}
