package fleet

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"misstep/app/station"
	misstepv1 "misstep/proto/misstep/v1"
)

// following follows the backlog of a small fleet on a Nomad that answers every request with one status, and returns the error and
// what was said; after returns when it has been asked so often.
func following(t *testing.T, answer, after int) (said []string, err error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) == int64(after) {
			cancel()
		}
		http.Error(w, "no", answer)
	}))
	defer server.Close()
	f, err := Parse([]byte("name: f\ntransport: plain_text\nartefacts: {path: /opt/misstep}\ncoordinators: {dir: /srv/f, node: n}\n"+
		"runners: [{name: g, max: 2}]\n"), "f.yaml")
	require.NoError(t, err)
	cluster, err := Open(f, server.URL, func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) })
	require.NoError(t, err)
	defer cluster.Close()
	err = cluster.Follow(ctx, Auto{Every: time.Millisecond, PerSlot: 1})
	return said, err
}

func TestFollowSaysOnceWhatHeals(t *testing.T) {
	said, err := following(t, http.StatusInternalServerError, 4)
	require.NoError(t, err, "it ends with its context only")
	require.Len(t, said, 1)
	require.Contains(t, said[0], "500")
	require.Contains(t, said[0], "trying again until it works")
}

func TestFollowEndsWhenItIsRefused(t *testing.T) {
	t.Setenv("NOMAD_TOKEN", "")
	_, err := following(t, http.StatusForbidden, 1000)
	require.ErrorContains(t, err, "NOMAD_TOKEN, the token for it, is not set")
	t.Setenv("NOMAD_TOKEN", "00000000-0000-0000-0000-000000000000")
	said, err := following(t, http.StatusForbidden, 1000)
	require.ErrorContains(t, err, "the token in NOMAD_TOKEN lacks a capability")
	require.Empty(t, said)
	require.True(t, refused(fmt.Errorf("ask: %w", status.Error(codes.Unauthenticated, "no"))))
	require.True(t, refused(fmt.Errorf("ask: %w", status.Error(codes.PermissionDenied, "no"))))
	require.False(t, refused(fmt.Errorf("ask: %w", status.Error(codes.Unavailable, "no"))))
	require.False(t, refused(nil))
}

// Who has no authority for coordinators with TLS is not asked to wait for them.
func TestAskingNeedsAnAuthority(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("Nomad was asked") }))
	defer server.Close()
	c, err := Open(&misstepv1.Fleet{}, server.URL, t.Logf)
	require.NoError(t, err)
	defer c.Close()
	err = c.ask(t.Context(), func(*station.Station) error { return nil })
	require.ErrorContains(t, err, "the fleet's coordinators have TLS: give their authority by --tls-ca")
	require.True(t, refused(fmt.Errorf("ask: %w", err)))
}
