package coordinator_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/coordinator/access"
	"misstep/coordinator/store/memory"
	"misstep/corpus"
	"misstep/corpus/index"
	misstepv1 "misstep/proto/misstep/v1"
)

// bookcase is an index of bundles.
type bookcase struct {
	misstepv1.UnimplementedCorpusServiceServer
	findings []string
}

func (s bookcase) ListEntries(context.Context, *misstepv1.ListEntriesRequest) (*misstepv1.ListEntriesResponse, error) {
	r := &misstepv1.ListEntriesResponse{NextPageToken: "next"}
	for _, id := range s.findings {
		e := index.Entry{Finding: id, Bundle: index.Blob{Digest: corpus.DigestBytes([]byte(id)), Size: 1}}
		r.Entries = append(r.Entries, string(e.Text()))
	}
	return r, nil
}

// Bundles of a hidden finding are not listed for whoever may not see it, in whichever project it is hidden.
func TestTheIndexDoesNotNameHiddenFindings(t *testing.T) {
	l := newLab(t, memory.New(), bug(0.7))
	n := settle(t, l, "p", 9)
	_, err := l.server.MergeFindings(by(t, "tim", "p", misstepv1.Role_ROLE_TRIAGER, "p"), &misstepv1.MergeFindingsRequest{
		FindingId: n.other, IntoId: n.finding,
	})
	require.NoError(t, err)
	served := l.server.Discreet(bookcase{findings: []string{n.finding, n.other, "F000000000000"}})
	lists := func(ctx context.Context) (found []string) {
		r, err := served.ListEntries(ctx, &misstepv1.ListEntriesRequest{})
		require.NoError(t, err)
		assert.Equal(t, "next", r.GetNextPageToken())
		for _, text := range r.GetEntries() {
			e, err := index.ParseEntry([]byte(text))
			require.NoError(t, err)
			found = append(found, e.Finding)
		}
		return found
	}
	all, rest := []string{n.finding, n.other, "F000000000000"}, []string{"F000000000000"}
	vera := by(t, "vera", "default", misstepv1.Role_ROLE_VIEWER, "")
	assert.Equal(t, all, lists(vera))
	decideVisibility(t, l, n.finding, shared)
	assert.Equal(t, all, lists(vera))
	decideVisibility(t, l, n.finding, embargoed, "nora")
	assert.Equal(t, rest, lists(vera), "merged findings are hidden together")
	assert.Equal(t, all, lists(by(t, "nora", "default", misstepv1.Role_ROLE_VIEWER, "")))
	assert.Equal(t, all, lists(by(t, "tina", "default", misstepv1.Role_ROLE_TRIAGER, "")))
	assert.Equal(t, all, lists(access.With(t.Context(), &access.Caller{Name: "ted", Grants: []access.Grant{
		{Role: misstepv1.Role_ROLE_VIEWER}, {Project: "p", Role: misstepv1.Role_ROLE_TRIAGER},
	}})), "a triager of its project")
	assert.Equal(t, rest, lists(access.With(t.Context(), &access.Caller{Name: "ted", Grants: []access.Grant{
		{Role: misstepv1.Role_ROLE_VIEWER}, {Project: "q", Role: misstepv1.Role_ROLE_TRIAGER},
	}})), "a triager of another one")
	l.now = l.now.Add(time.Hour)
	assert.Equal(t, all, lists(vera))
}
