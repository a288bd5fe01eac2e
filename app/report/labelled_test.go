package report_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/app/report"
	"misstep/triage/triagetest"
)

// pastes make a part of an error file in the way people paste it, which has its native frames; held ones were written before any of
// them was tried, and nothing was changed for them.
var pastes = []struct {
	name  string
	held  bool
	paste func(text string) string
}{
	{"thread section", false, func(text string) string {
		return between(text, "---------------  T H R E A D", "---------------  P R O C")
	}},
	{"native frames", false, func(text string) string { return between(text, "Native frames:", "\n\n") }},
	{"frames only", false, func(text string) string {
		_, frames, _ := strings.Cut(between(text, "Native frames:", "\n\n"), "\n")
		return "The stack is:\n\n" + frames
	}},
	{"no opening line", false, func(text string) string { return between(text, "#  ", "") }},
	{"head and stack, unlabelled", true, func(text string) string {
		_, frames, _ := strings.Cut(between(text, "Native frames:", "\n\n"), "\n")
		return between(text, "#", "\n---") + "\n\n" + frames
	}},
	{"quoted thread section", true, func(text string) string {
		return "> " + strings.ReplaceAll(between(text, "Current thread", "---------------  P R O C"), "\n", "\n> ")
	}},
	{"indented, no opening line", true, func(text string) string {
		return regexp.MustCompile(`(?m)^`).ReplaceAllString(between(text, "#  ", ""), "\t")
	}},
	{"no number signs, in a fence", true, func(text string) string {
		return "```\n" + regexp.MustCompile(`(?m)^# ?`).ReplaceAllString(between(text, "#", "---------------  P R O C"), "") + "\n```\n"
	}},
}

// between returns the text from where a word is first to where another one follows, "" without the first one.
func between(text, from, to string) string {
	at := strings.Index(text, from)
	if at < 0 {
		return ""
	}
	text = text[at:]
	if end := strings.Index(text, to); to != "" && end >= 0 {
		text = text[:end]
	}
	return text
}

// least is what parts have to reach as well as whole reports.
var least = struct{ precision, recall float64 }{0.98, 0.95}

// Parts of the labelled error files belong to the findings of whole ones of the same cause, and to no other.
func TestLabelledParts(t *testing.T) {
	all, err := triagetest.OpenReports("../../triage/triagetest/testdata/reports.jsonl.gz")
	require.NoError(t, err)
	dir := t.TempDir()
	var names []string
	byFile := map[string]triagetest.Report{}
	add := func(r triagetest.Report) {
		path := filepath.Join(dir, fmt.Sprint(len(names)))
		require.NoError(t, os.WriteFile(path, []byte(r.Text), 0o600))
		names, byFile[path] = append(names, path), r
	}
	n := 0
	for _, r := range all {
		if r.Kind != triagetest.KindCrash || strings.Contains(r.Name, ", cut at") {
			continue
		}
		r.Held = false
		add(r)
		p := pastes[n%len(pastes)]
		n++
		part := r
		part.Name, part.Held, part.Text = r.Name+", "+p.name, p.held, p.paste(r.Text)
		// What was sent to a thread is shown by the thread's kind alone.
		killed := strings.HasPrefix(r.Name, "kill:") && !strings.Contains(part.Text, "Current thread")
		if !killed && (strings.Contains(part.Text, "C  [") || strings.Contains(part.Text, "V  [")) {
			part.Kind = p.name
			add(part)
		}
	}
	answers, failed := report.Triage{}.Files(names)
	require.Empty(t, failed)
	ids := map[string]map[string]string{}
	for _, a := range answers {
		if a.Explanation.Assorted != "" && byFile[a.File].Kind != triagetest.KindCrash {
			continue // of a part that shows nothing, nothing is said
		}
		if ids[a.File] == nil {
			ids[a.File] = map[string]string{}
		}
		ids[a.File][a.ID] = strings.Join(a.Signature, " | ")
	}
	var identified []triagetest.Identified
	for _, name := range names {
		i := triagetest.Identified{Report: byFile[name], Signatures: ids[name]}
		for id := range ids[name] {
			i.IDs = append(i.IDs, id)
		}
		slices.Sort(i.IDs)
		identified = append(identified, i)
	}
	for _, of := range []struct {
		name string
		keep func(triagetest.Identified) bool
	}{
		{"whole reports", func(i triagetest.Identified) bool { return i.Kind == triagetest.KindCrash }},
		{"with parts", func(i triagetest.Identified) bool { return i.Kind == triagetest.KindCrash || !i.Held }},
		{"with parts held back", func(i triagetest.Identified) bool { return i.Kind == triagetest.KindCrash || i.Held }},
	} {
		some := slices.DeleteFunc(slices.Clone(identified), func(i triagetest.Identified) bool { return !of.keep(i) })
		s := triagetest.MeasurePairs(some, 1)
		t.Logf("%s: %d reports, %d causes, %d findings: precision %.4f (%.3f–%.3f), recall %.4f (%.3f–%.3f)", of.name,
			s.Reports, s.Causes, s.Findings, s.Precision.Value, s.Precision.Low, s.Precision.High,
			s.Recall.Value, s.Recall.Low, s.Recall.High)
		for i, p := range triagetest.Wrong(some) {
			if i < 6 && (s.Precision.Value < least.precision || s.Recall.Value < least.recall) {
				t.Logf("%d pairs, missed: %v\n\t%s: %s\n\t%s: %s", p.Number, p.Missed, p.A.Name, p.A.Findings(), p.B.Name,
					p.B.Findings())
			}
		}
		assert.GreaterOrEqual(t, s.Precision.Value, least.precision, of.name)
		assert.GreaterOrEqual(t, s.Recall.Value, least.recall, of.name)
	}
}
