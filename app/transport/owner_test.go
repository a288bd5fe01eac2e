package transport

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"misstep/app/pki"
	"misstep/app/station"
	"misstep/coordinator"
	"misstep/coordinator/access"
	misstepv1 "misstep/proto/misstep/v1"
)

// What a runner says of itself gives it nothing: leases are those of the name in its certificate, whatever id, lease, header or
// project it gives, over the connections that it has in truth.
func TestARunnerIsWhoItsCertificateSays(t *testing.T) {
	a, dir := authority(t, time.Now())
	files := issue(t, a, pki.Coordinator, time.Hour, "127.0.0.1")
	files.CRL = filepath.Join(dir, pki.CRLFile)
	source, err := Open(files, (&log{}).logger())
	require.NoError(t, err)
	ids, err := ParseRunnerIDs([]string{OwnIDs})
	require.NoError(t, err)
	place := station.Place{
		Options: source.ServerOptions(coordinator.Ping),
		Access:  access.Options{Authenticators: []access.Authenticator{source.Authenticator(ids)}},
	}
	place.Accounts.Ask = true
	address := start(t, place)
	one := dial(t, issue(t, a, pki.Runner, time.Hour, "a1"), address)
	other := dial(t, issue(t, a, pki.Runner, time.Hour, "b2"), address)

	synchronize := func(st *station.Station, id string, held ...*misstepv1.HeldLease) *misstepv1.SynchronizeResponse {
		t.Helper()
		r, err := st.Leases.Synchronize(t.Context(), &misstepv1.SynchronizeRequest{
			Runner: &misstepv1.Runner{Id: id, Slots: 1}, Held: held,
		})
		require.NoError(t, err)
		return r
	}
	require.Empty(t, synchronize(one, "vm-1").GetDesired())
	// The id of another's runner, and a lease that does not exist: the same answer as for one of its own.
	assert.Empty(t, synchronize(other, "vm-1", &misstepv1.HeldLease{
		LeaseId: "L0000000000000000", State: &misstepv1.HeldLease_Running{Running: &misstepv1.Progress{}},
	}).GetDesired())

	// Headers with which people and projects are named do not make it somebody else.
	for _, header := range [][2]string{
		{"authorization", "Bearer misstep_0000000000_0000000000000000000000000000000000000000000000000000"},
		{"authorization", "Bearer "},
		{"authorization", "Basic YTE6YTE="},
	} {
		ctx := metadata.AppendToOutgoingContext(t.Context(), header[0], header[1])
		_, err := one.Leases.Synchronize(ctx, &misstepv1.SynchronizeRequest{Runner: &misstepv1.Runner{Id: "vm-1", Slots: 1}})
		assert.Equal(t, codes.Unauthenticated, status.Code(err), "a credential that is shown counts, with a good certificate too")
	}
	ctx := metadata.AppendToOutgoingContext(t.Context(), access.ProjectHeader, "loom")
	_, err = one.ListCampaigns(ctx, &misstepv1.ListCampaignsRequest{})
	assert.Equal(t, codes.PermissionDenied, status.Code(err))
	assert.Contains(t, err.Error(), "runner a1 may not call ListCampaigns")
	who, err := one.Access.WhoAmI(t.Context(), &misstepv1.WhoAmIRequest{})
	require.NoError(t, err)
	assert.Equal(t, "runner a1", who.GetName())
	_, err = one.Access.CreateToken(t.Context(), &misstepv1.CreateTokenRequest{
		Name: "x", Grants: []*misstepv1.Grant{{Role: misstepv1.Role_ROLE_RUNNER}},
	})
	assert.Equal(t, codes.PermissionDenied, status.Code(err), "a token would outlive the certificate")

	// One connection carries one certificate: what is revoked of one does not touch the other's.
	_, err = a.Revoke(t.Context(), "a1")
	require.NoError(t, err)
	require.Eventually(t, func() bool { return status.Code(call(t, one)) == codes.Unauthenticated }, 5*time.Second,
		10*time.Millisecond)
	require.NoError(t, call(t, other))
}

// A certificate that ends while its connection stands is refused from then on, and the renewed one is taken on the next.
func TestACertificateEndsWhileConnected(t *testing.T) {
	a, _ := authority(t, time.Now())
	files := issue(t, a, pki.Coordinator, time.Hour, "127.0.0.1")
	s := serve(t, files)
	const life = 5*time.Minute + 2*time.Second // pki begins it five minutes ago
	a.Clock = func() time.Time { return time.Now().Add(-5 * time.Minute) }
	short := issue(t, a, pki.Runner, life, "a1")
	a.Clock = time.Now
	st := dial(t, short, s.address)
	require.NoError(t, call(t, st))
	require.Eventually(t, func() bool { return status.Code(call(t, st)) == codes.Unauthenticated }, 10*time.Second,
		20*time.Millisecond)
	assert.Contains(t, call(t, st).Error(), "issue a new one (`misstep pki issue runner NAME --renew`)")
	require.NoError(t, call(t, dial(t, issue(t, a, pki.Runner, time.Hour, "a1"), s.address)))
}

// A bad certificate is judged seldom, and judged anew once the files have changed.
func TestABadCertificateIsJudgedAgain(t *testing.T) {
	own, ownDir := authority(t, time.Now())
	foreign, foreignDir := authority(t, time.Now())
	files := issue(t, own, pki.Coordinator, time.Hour, "127.0.0.1")
	s := serve(t, files)
	bad := issue(t, foreign, pki.Runner, time.Hour, "a1")
	bad.CA = files.CA
	st := dial(t, bad, s.address)
	for range 3 {
		require.Equal(t, codes.Unauthenticated, status.Code(call(t, st)))
	}
	join(t, files.CA, ownDir, foreignDir)
	require.Eventually(t, func() bool { return call(t, st) == nil }, 8*time.Second, 50*time.Millisecond,
		"its authority is trusted now")
}
