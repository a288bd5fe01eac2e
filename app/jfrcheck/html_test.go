package jfrcheck

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// outsideRE finds what a browser would fetch or run.
var outsideRE = regexp.MustCompile(`(?i)(src|href|srcset|action|data)\s*=|url\(|@import|<(script|iframe|link|base|object|embed)|` +
	`\bon\w+\s*=`)

// hostile is a report in which everything that a recording says tries to leave its place in the page.
func hostile(text string) *Report {
	fault := Fault{
		Check: text, Kind: text, Place: text, Count: 1, Sampler: text, Detail: text, Stack: []string{text, text}, Known: text,
		Touches: TouchesSamples, Samples: 1,
	}
	all := Counts{Samples: 7, Empty: 1, Truncated: 2, Lost: 3}
	return &Report{
		Recordings: []Recording{{
			File: text, Profiler: text, Problems: []Problem{{Message: text}}, Incomplete: text, LostBytes: 1,
			Writers: []string{text, text}, Damage: &Damage{Kind: text, What: text, Lost: true},
		}},
		Checks: []Check{
			{Name: text, What: text, Unit: text, Tolerated: map[string]uint64{text: 1}, Void: map[string]uint64{text: 1}},
			{Name: text, Skipped: text},
		},
		Faults: []Fault{fault}, Doubts: []Fault{fault}, Samplers: []Sampler{{Event: text, Asked: text, Counts: all}},
		Threads: []Thread{{Group: Group{text, all}}}, Methods: []Group{{text, all}}, Notes: []string{text},
	}
}

func TestPageEscapesWhatRecordingsSay(t *testing.T) {
	var harmless bytes.Buffer
	require.NoError(t, renderPage(&harmless, "report.html", hostile("text")))
	tags := func(page string) []string { return regexp.MustCompile(`</?[a-zA-Z!][^\s>]*`).FindAllString(page, -1) }
	for _, text := range []string{
		`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `</title></style><svg onload=alert(1)>`, `{{.}}`,
		"' onmouseover='alert(1)", "]]><!--", "</pre>\x00<b>",
	} {
		var b bytes.Buffer
		require.NoError(t, renderPage(&b, "report.html", hostile(text)))
		assert.Equal(t, tags(harmless.String()), tags(b.String()), "%q adds no element", text)
	}
}

func TestPageRefersToNothingOutside(t *testing.T) {
	var b bytes.Buffer
	r := hostile("text")
	r.weigh()
	require.NoError(t, renderPage(&b, "report.html", r))
	assert.Empty(t, outsideRE.FindAllString(b.String(), -1))
	assert.NotContains(t, b.String(), "://")
	assert.Contains(t, b.String(), `default-src 'none'`)
	assert.Contains(t, b.String(), "The profile is not right")
	assert.Equal(t, 3*4, strings.Count(b.String(), "</title></rect>"), "whole, truncated, empty and lost of each group")
}

func TestVerdictOfPage(t *testing.T) {
	for want, r := range map[string]*Report{
		"There are no samples, so no profile to judge": {Checks: []Check{{Right: 1}}},
		"The profile is right as far as was checked: no fault touches any of its 7 samples": {
			Checks: []Check{{Right: 1}}, Samplers: []Sampler{{Event: "e", Counts: Counts{Samples: 7}}},
		},
		"Nothing was checked": {Checks: []Check{{Skipped: "why"}}},
	} {
		r.weigh()
		path := filepath.Join(t.TempDir(), "report.html")
		require.NoError(t, WriteHTML(path, r))
		page, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Contains(t, string(page), want)
	}
}

// The picture of a group has its parts side by side, to the scale of the largest group.
func TestBars(t *testing.T) {
	small := Counts{Samples: 3, Truncated: 1, Lost: 1}
	list := bars(small, []Group{{"a", small}, {"b", Counts{Samples: 8}}})
	assert.Equal(t, []bar{
		{0, 1, 60, 12, "whole", "2 whole"}, {60, 1, 30, 12, "truncated", "1 truncated"}, {90, 1, 30, 12, "lost", "1 lost"},
	}, list)
	assert.Empty(t, bars(Counts{}, []Group{}))
	rest := Counts{Samples: 80}
	assert.Equal(t, list, bars(small, []Group{{"a", small}, {"b", Counts{Samples: 8}}, {others, rest}}), "whatever the others are")
	assert.InDelta(t, barWidth, bars(rest, []Group{{"a", small}, {others, rest}})[0].Width, 1e-9, "which fill the picture at most")
}

func hostileDifference(text string) *Difference {
	side := Side{File: text, Event: text}
	return &Difference{
		A: side, B: side, Compared: 3, Notes: []string{text}, Stacks: []Change{{Kind: text, A: 0.5, Stack: []string{text, text}}},
		Changes: []Change{{Kind: text, Method: text, Caller: text, A: 0.25, B: 0.5, Low: 0.1, High: 0.4, Q: 0.001}},
	}
}

// The page of a comparison has what the report's page keeps to, and the numbers of each change.
func TestPageOfAComparison(t *testing.T) {
	var b bytes.Buffer
	d := hostileDifference("text")
	require.NoError(t, renderPage(&b, "diff.html", d))
	assert.Empty(t, outsideRE.FindAllString(b.String(), -1))
	assert.Contains(t, b.String(), `default-src 'none'`)
	for _, want := range []string{"+25.0", "25.0 %", "50.0 %", "+10.0 to +40.0", "0.001", "stack of text"} {
		assert.Contains(t, strings.ReplaceAll(b.String(), "&#43;", "+"), want)
	}
	assert.Equal(t, 2*2, strings.Count(b.String(), "</title></rect>"), "A and B of each change")
	path := filepath.Join(t.TempDir(), "diff.html")
	require.NoError(t, (&Difference{Compared: 1234}).WriteHTML(path))
	page, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Contains(t, string(page), "Nothing differs beyond chance, of 1\u202f234 shares compared")
}

func FuzzPage(f *testing.F) {
	f.Add("<b>")
	f.Fuzz(func(t *testing.T, text string) {
		var b bytes.Buffer
		require.NoError(t, renderPage(&b, "report.html", hostile(text)))
		assert.Equal(t, 12, strings.Count(b.String(), "</title></rect>"))
		require.NoError(t, renderPage(&b, "diff.html", hostileDifference(text)))
		assert.NotContains(t, strings.ToLower(b.String()), "<script")
	})
}
