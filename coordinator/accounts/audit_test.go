package accounts_test

import (
	"cmp"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/coordinator/access"
	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

// lines are entries as texts.
func lines(entries []*misstepv1.AuditEntry) (out []string) {
	for _, e := range entries {
		out = append(out, fmt.Sprintf("%s %s %s [%s] %s x%d", e.GetCaller(), cmp.Or(e.GetAddress(), "-"),
			e.GetCall()[strings.LastIndexByte(e.GetCall(), '/')+1:], e.GetSubject(), e.GetCode(), e.GetCount()))
	}
	return out
}

func TestTheLogHasWhatWasDoneAndWhatWasRefused(t *testing.T) {
	l := newLab(t, nil)
	root, ci := l.token("root", grant("", admin)), l.token("ci", grant("", hunter))
	api := misstepv1.NewAdminServiceClient(l.conn)
	_, err := l.api.GrantAccess(l.with(root), &misstepv1.GrantAccessRequest{Access: &misstepv1.AccessGrant{
		Person: "anna@example.org", Grant: grant("nightly", hunter),
	}})
	require.NoError(t, err)
	_, err = api.StopCampaign(l.with(ci), &misstepv1.StopCampaignRequest{CampaignId: "C1 \"x\""})
	require.Equal(t, codes.Unimplemented, status.Code(err))
	_, _ = api.ListCampaigns(l.with(ci), &misstepv1.ListCampaignsRequest{}) // a query is not recorded
	_, _ = l.api.WhoAmI(l.with(ci), &misstepv1.WhoAmIRequest{})
	_, _ = api.MergeFindings(l.with(ci), &misstepv1.MergeFindingsRequest{FindingId: "F1", IntoId: "F2"})
	_, _ = api.SetVisibility(l.with(root), &misstepv1.SetVisibilityRequest{
		FindingId: "F1", Visibility: misstepv1.Visibility_VISIBILITY_EMBARGOED, People: []string{"nora"}, Reason: "a hole",
		Until: timestamppb.New(time.Date(2027, 1, 31, 0, 0, 0, 0, time.UTC)),
	})
	_, _ = l.api.RevokeToken(l.with(root), &misstepv1.RevokeTokenRequest{TokenId: ci})
	_, _ = api.StopCampaign(l.with(ci), &misstepv1.StopCampaignRequest{CampaignId: "C2"})
	_, _ = api.StopCampaign(l.with(""), &misstepv1.StopCampaignRequest{CampaignId: "C3"})
	assert.Equal(t, []string{
		"token root - GrantAccess [access.person=anna@example.org access.grant.project=nightly access.grant.role=hunter] OK x1",
		`token ci - StopCampaign [campaign_id="C1 \"x\""] UNIMPLEMENTED x1`,
		"token ci - MergeFindings [finding_id=F1 into_id=F2] PERMISSION_DENIED x1",
		"token root - SetVisibility [finding_id=F1 visibility=VISIBILITY_EMBARGOED until=2027-01-31T00:00:00Z] UNIMPLEMENTED x1",
		"token root - RevokeToken [token_id=" + ci[:19] + "… tokens.id=" + ci[8:18] + " tokens.name=ci " +
			"tokens.grants.role=hunter tokens.made_by=local] OK x1",
		"anonymous - StopCampaign [] UNAUTHENTICATED x1", // what a stranger says is not read
	}, lines(l.entries()), "the last call was refused as the one before")
	l.service.Flush(t.Context())
	last := l.entries()[6:]
	assert.Equal(t, []string{"anonymous - StopCampaign [] UNAUTHENTICATED x1"}, lines(last))
	assert.Equal(t, l.now, last[0].GetAt().AsTime())
	assert.Equal(t, "unspecified", last[0].GetKind())
}

// Whoever tries and tries does not push out of the log what was done.
func TestRefusedCallsShareEntries(t *testing.T) {
	l := newLab(t, nil)
	record := func(host string) {
		l.service.Record(t.Context(), access.Call{
			Caller: &access.Caller{Name: access.Anonymous, Address: net.JoinHostPort(host, "4711")},
			Method: "/misstep.v1.AdminService/StopCampaign", Err: status.Error(codes.Unauthenticated, "no"),
		})
	}
	for range 1000 {
		record("192.0.2.1")
	}
	assert.Equal(t, []string{"anonymous 192.0.2.1 StopCampaign [] UNAUTHENTICATED x1"}, lines(l.entries()))
	l.service.Flush(t.Context())
	l.service.Flush(t.Context())
	assert.Equal(t, []string{
		"anonymous 192.0.2.1 StopCampaign [] UNAUTHENTICATED x1", "anonymous 192.0.2.1 StopCampaign [] UNAUTHENTICATED x999",
	}, lines(l.entries()))
	for i := range 1000 {
		record(fmt.Sprintf("2001:db8::%x", i))
	}
	l.service.Flush(t.Context())
	all := l.entries()[2:]
	assert.Len(t, all, 101)
	assert.Equal(t, "others", all[100].GetCaller())
	assert.EqualValues(t, 900, all[100].GetCount())
}

func TestTheLogIsBounded(t *testing.T) {
	l := newLab(t, nil)
	done := func() {
		l.service.Record(t.Context(), access.Call{
			Caller: &access.Caller{Name: "anna"}, Method: "/misstep.v1.AdminService/StopCampaign",
			Request: &misstepv1.StopCampaignRequest{CampaignId: strings.Repeat("ü", 1000)},
		})
	}
	done()
	subject := l.entries()[0].GetSubject()
	assert.LessOrEqual(t, len(subject), 200)
	assert.True(t, strings.HasSuffix(subject, "ü…"), subject)
	l.now = l.now.Add(366 * 24 * time.Hour)
	for range 255 {
		done()
	}
	entries := l.entries()
	assert.Len(t, entries, 255, "the first one is older than a year")
	require.NoError(t, l.store.Update(t.Context(), func(tx store.Tx) error {
		return tx.TrimAudit(l.now, entries[253].GetId())
	}))
	assert.Len(t, l.entries(), 1)
}

func TestTheLogIsReadPageByPage(t *testing.T) {
	l := newLab(t, nil)
	for i := range 250 {
		l.now = l.now.Add(time.Second)
		l.service.Record(t.Context(), access.Call{
			Caller: &access.Caller{Name: []string{"anna", "ben"}[i%2]}, Method: "/misstep.v1.AdminService/StopCampaign",
		})
	}
	list := func(req *misstepv1.ListAuditRequest) (total, pages int) {
		for {
			r, err := l.service.ListAudit(t.Context(), req)
			require.NoError(t, err)
			total, pages = total+len(r.GetEntries()), pages+1
			if req.Before = r.GetNext(); req.GetBefore() == 0 {
				return total, pages
			}
		}
	}
	total, pages := list(&misstepv1.ListAuditRequest{})
	assert.Equal(t, 250, total)
	assert.Equal(t, 3, pages)
	total, pages = list(&misstepv1.ListAuditRequest{By: "ben", Limit: 125})
	assert.Equal(t, 125, total)
	assert.Equal(t, 1, pages)
	total, _ = list(&misstepv1.ListAuditRequest{Since: timestamppb.New(l.now.Add(-9 * time.Second)), Limit: 3})
	assert.Equal(t, 10, total)
	_, err := l.service.ListAudit(t.Context(), &misstepv1.ListAuditRequest{Limit: 1001})
	require.ErrorContains(t, err, "limit: expected at most 1000, got 1001")
	_, err = l.service.ListAudit(t.Context(), &misstepv1.ListAuditRequest{Since: &timestamppb.Timestamp{Nanos: -1}})
	require.ErrorContains(t, err, "since: ")
}
