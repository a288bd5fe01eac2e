package web

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"misstep/coordinator/access"
	misstepv1 "misstep/proto/misstep/v1"
)

// large answers each call with as many bytes as the finding's id says.
type large struct {
	grpc.ClientConnInterface
	calls int
}

func (l *large) Invoke(_ context.Context, _ string, in, out any, _ ...grpc.CallOption) error {
	l.calls++
	size, _, _ := strings.Cut(in.(*misstepv1.GetFindingRequest).GetFindingId(), " ")
	n, err := strconv.Atoi(size)
	out.(*misstepv1.GetFindingResponse).Finding = &misstepv1.Finding{Id: strings.Repeat("x", n)}
	return err
}

// However large answers and requests are, what is kept is bounded, and the latest are kept.
func TestCacheIsBoundedInBytes(t *testing.T) {
	const mib = 1 << 20
	conn := &large{}
	now := time.Unix(1_800_000_000, 0)
	c := newCache(conn, func() time.Time { return now })
	ctx := context.WithValue(t.Context(), visitKey{}, &visit{
		project: "p", caller: &access.Caller{Grants: []access.Grant{{Role: misstepv1.Role_ROLE_VIEWER}}},
	})
	get := func(size int, what string) (calls int) {
		t.Helper()
		before := conn.calls
		request := &misstepv1.GetFindingRequest{FindingId: strconv.Itoa(size) + " " + what}
		var response misstepv1.GetFindingResponse
		require.NoError(t, c.Invoke(ctx, misstepv1.AdminService_GetFinding_FullMethodName, request, &response))
		require.Len(t, response.GetFinding().GetId(), size)
		total := 0
		for _, key := range c.answers.kept.Keys() {
			a, _ := c.answers.kept.Peek(key)
			total += len(key) + proto.Size(a.last.value)
		}
		assert.LessOrEqual(t, total, maxBytes)
		assert.Equal(t, total, c.answers.bytes)
		return conn.calls - before
	}
	for i := range 100 {
		assert.Equal(t, 1, get(mib, strconv.Itoa(i)))
	}
	assert.Greater(t, c.answers.bytes, maxBytes-2*mib)
	assert.Equal(t, 0, get(mib, "99"), "the latest is kept")
	assert.Equal(t, 1, get(mib, "0"), "the oldest is not")
	assert.Equal(t, 1, get(maxBytes, "too large"))
	assert.Equal(t, 1, get(maxBytes, "too large"), "it is not kept")
	assert.Equal(t, 0, get(mib, "0"), "nor does it push out others")
	for i := range 100 {
		get(1, strings.Repeat("y", mib)+strconv.Itoa(i)) // requests count
	}
	now = now.Add(time.Hour)
	assert.Equal(t, 1, get(mib, "99"), "made anew, and counted once")
}

// slow answers each call with its number, after some time of the test's clock.
type slow struct {
	grpc.ClientConnInterface
	now   time.Time
	calls int
	takes time.Duration
}

func (s *slow) Invoke(_ context.Context, _ string, _, out any, _ ...grpc.CallOption) error {
	s.calls++
	s.now = s.now.Add(s.takes)
	out.(*misstepv1.GetFindingResponse).Finding = &misstepv1.Finding{Id: strconv.Itoa(s.calls)}
	return nil
}

// An answer is given again for ten times as long as it took, and never for longer than some seconds.
func TestAnswersDoNotGrowOld(t *testing.T) {
	for _, c := range []struct{ takes, fresh time.Duration }{
		{0, minFresh},
		{300 * time.Millisecond, 3*time.Second - 300*time.Millisecond},
		{26 * time.Second, 0}, // older when it comes
	} {
		conn := &slow{now: time.Unix(1_800_000_000, 0), takes: c.takes}
		cache := newCache(conn, func() time.Time { return conn.now })
		ctx := context.WithValue(t.Context(), visitKey{}, &visit{
			project: "p", caller: &access.Caller{Grants: []access.Grant{{Role: misstepv1.Role_ROLE_VIEWER}}},
		})
		get := func() string {
			t.Helper()
			var request misstepv1.GetFindingRequest
			var response misstepv1.GetFindingResponse
			require.NoError(t, cache.Invoke(ctx, misstepv1.AdminService_GetFinding_FullMethodName, &request, &response))
			return response.GetFinding().GetId()
		}
		require.Equal(t, "1", get())
		if c.fresh > 0 {
			conn.now = conn.now.Add(c.fresh - time.Millisecond)
			assert.Equal(t, "1", get(), "%v", c.takes)
			assert.Equal(t, 1, conn.calls, "%v", c.takes)
		}
		conn.takes = 0
		conn.now = conn.now.Add(2 * maxFresh)
		assert.Equal(t, "2", get(), "%v: it is too old to be shown", c.takes)
	}
}

// nameless answers with how often it was called, and remembers the names that were not to be used.
type nameless struct {
	grpc.ClientConnInterface
	calls []bool
}

func (n *nameless) Invoke(ctx context.Context, _ string, _, out any, _ ...grpc.CallOption) error {
	sent, _ := metadata.FromOutgoingContext(ctx)
	asked, _ := metadata.FromOutgoingContext(access.ForAnyone(context.Background()))
	all := true
	for key := range asked {
		all = all && len(sent.Get(key)) == 1
	}
	n.calls = append(n.calls, all)
	out.(*misstepv1.GetFindingResponse).Finding = &misstepv1.Finding{Id: strconv.Itoa(len(n.calls))}
	return nil
}

// People who may do the same share answers that are made for no name; whoever is named somewhere shares with nobody.
func TestAnswersAreSharedAmongEquals(t *testing.T) {
	conn := &nameless{}
	now := time.Unix(1_800_000_000, 0)
	cache := newCache(conn, func() time.Time { return now })
	viewer, triager := misstepv1.Role_ROLE_VIEWER, misstepv1.Role_ROLE_TRIAGER
	for _, test := range []struct {
		name  string
		role  misstepv1.Role
		named bool
		want  string
	}{
		{"anna", viewer, false, "1"},
		{"ben", viewer, false, "1"},
		{"nora", viewer, true, "2"},
		{"norbert", viewer, true, "3"},
		{"tina", triager, false, "4"},
		{"nora", viewer, true, "2"},
		{"nora", viewer, false, "1"},
	} {
		ctx := context.WithValue(t.Context(), visitKey{}, &visit{
			project: "p", caller: &access.Caller{Name: test.name, Grants: []access.Grant{{Role: test.role}}}, named: test.named,
		})
		var response misstepv1.GetFindingResponse
		require.NoError(t, cache.Invoke(ctx, misstepv1.AdminService_GetFinding_FullMethodName,
			&misstepv1.GetFindingRequest{}, &response))
		assert.Equal(t, test.want, response.GetFinding().GetId(), test.name)
	}
	assert.Equal(t, []bool{true, false, false, true}, conn.calls, "those whose answers are shared have no name")
}

// A panic in a page that people share does not end the process, and is logged.
func TestAPanicInACommonPage(t *testing.T) {
	var log bytes.Buffer
	s := New(Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	page := s.common(func(*http.Request) (*page, error) { panic("nil finding") })
	ctx := context.WithValue(t.Context(), visitKey{}, &visit{format: "html", caller: &access.Caller{}})
	w := httptest.NewRecorder()
	page.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil))
	assert.Equal(t, http.StatusInternalServerError, w.Code)
	assert.Contains(t, w.Body.String(), "this page could not be made")
	assert.NotContains(t, w.Body.String(), "nil finding")
	assert.Contains(t, log.String(), "nil finding")
}
