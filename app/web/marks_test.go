package web_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"misstep/app/web"
	"misstep/internal/testenv"
	misstepv1 "misstep/proto/misstep/v1"
)

// marked is a connection to a coordinator that doubts whoever reported its findings, and holds its campaigns.
type marked struct{ grpc.ClientConnInterface }

func (c marked) Invoke(ctx context.Context, method string, in, out any, options ...grpc.CallOption) error {
	if err := c.ClientConnInterface.Invoke(ctx, method, in, out, options...); err != nil {
		return err
	}
	doubt := func(f *misstepv1.Finding) { f.Doubted, f.ReportedBy = true, []string{"token anna/runner", evil} }
	switch m := out.(type) {
	case *misstepv1.GetFindingResponse:
		doubt(m.GetFinding())
	case *misstepv1.ListFindingsResponse:
		for _, f := range m.GetFindings() {
			doubt(f)
		}
	case *misstepv1.GetCampaignResponse:
		m.Campaign.Held = []string{"trials of a day: 100 of 100"}
		m.Campaign.Repetitions = &misstepv1.Repetitions{Drawn: 12, Ended: 10, Dropped: 1, Differing: 3}
	}
	return nil
}

// Who sees a finding, who is doubted and what a campaign waits for is on its page and in the lists.
func TestMarks(t *testing.T) {
	s := newScene(t, func(o *web.Options) { o.Conn = marked{o.Conn} })
	s.run(100, usual()...)
	path := s.findingOf("Both")
	id := strings.TrimPrefix(path, "/findings/")
	_, err := s.st.SetVisibility(t.Context(), &misstepv1.SetVisibilityRequest{
		FindingId: id, Visibility: misstepv1.Visibility_VISIBILITY_SHARED, Reason: "others have it, too \u202egnp.exe",
	})
	require.NoError(t, err)
	facts := words(s.page(path), "[data-part=facts]")
	assert.Contains(t, facts, "shared with all projects, set")
	assert.Contains(t, facts, `others have it, too \u202egnp.exe`, "it would turn around what follows")
	assert.Contains(t, facts, "Only token anna/runner, "+evil+" reported it, whose runners are set aside")
	for row, want := range map[string]string{id: "new shared doubted", "frame::sender": "new doubted"} {
		tr := s.page("/findings?by=finding").Find("table.list tbody tr:contains('" + row + "') td").First()
		assert.Equal(t, want, strings.Join(strings.Fields(tr.Text()), " "))
	}
	assert.Contains(t, words(s.page("/findings?by=finding&doubted=yes"), "main"), "None of", "the coordinator itself doubts none")

	campaign := words(s.page("/campaigns/"+s.campaign), "[data-part=progress]")
	assert.Contains(t, campaign, "Waits: trials of a day: 100 of 100")
	assert.Contains(t, campaign, "10 of 12 drawn trials, 1 dropped; 3 showed a finding one time only")
}

// The draft of a bug report is that of the bundle, as text.
func TestReport(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s := newScene(t, func(o *web.Options) {
		o.Bundle = func(_ context.Context, _, path string) error {
			content, err := os.ReadFile(filepath.Join(testenv.Root(), "bundle", "testdata", "v1.zip"))
			if err != nil {
				return err
			}
			return os.WriteFile(path, content, 0o600)
		}
	})
	s.run(20, usual()[0])
	path := s.findingOf("Both")
	doc := s.page(path)
	link := doc.Find("a:contains('draft of a bug report')").AttrOr("href", "")
	assert.Equal(t, path+"/report", link)
	text := s.page(link).Find("pre.report").Text()
	assert.True(t, strings.HasPrefix(text, "**Synopsis**"), text)
	assert.Contains(t, text, "**Component**: hotspot / svc")
	assert.Contains(t, s.get(link+".json").text, `"report": "**Synopsis**`)
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "misstep-web-*"))
	require.NoError(t, err)
	assert.Empty(t, left)
	assert.Equal(t, http.StatusConflict, newScene(t).get(path+"/report").code, "nothing to make bundles of")
}
