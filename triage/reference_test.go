package triage

import (
	"fmt"
	"strings"
	"testing"

	"misstep/internal/reference"
	"misstep/signature"
)

// families in the order of the page.
var families = []struct {
	family Family
	title  string
}{
	{Entry, "Entry checks"}, {Bracket, "Brackets"}, {Sample, "Samples"}, {Edge, "Edges"}, {Recording, "Recordings"},
}

func TestReferenceOfTriage(t *testing.T) {
	var b strings.Builder
	b.WriteString(reference.Generated + "# Rules of triage\n\n" +
		reference.Paragraph("Triage turns a mismatch, a crash, a hang or a failure into a signature. It examines the record once, "+
			"which gives facts; then the rules of the check's family are asked in order, and the first that applies decides. `misstep findings "+
			"explain ID` prints the facts and the rule of a finding, as FAMILY/RULE, and `misstep triage FILE` those of a report."))
	b.WriteString("\n")
	if len(families) != len(rules) {
		t.Fatalf("%d families have rules, the page has %d", len(rules), len(families))
	}
	for _, f := range families {
		fmt.Fprintf(&b, "\n## %s (`%s`)\n\n| | rule | what it takes the mismatch for |\n|---|---|---|\n", f.title, f.family)
		for i, r := range rules[f.family] {
			fmt.Fprintf(&b, "| %d | `%s` | %s |\n", i+1, r.name, reference.Cell(r.doc))
		}
	}
	b.WriteString("\n## Crashes (`crash`)\n\nWhich frame is blamed.\n\n| | rule | why |\n|---|---|---|\n")
	for i, r := range blames {
		fmt.Fprintf(&b, "| %d | `%s` | %s |\n", i+1, r.name, reference.Cell(r.doc))
	}
	b.WriteString("\n## Hangs (`hang`)\n\nWhich threads are blamed.\n\n| | rule | why |\n|---|---|---|\n")
	for i, r := range hangs {
		fmt.Fprintf(&b, "| %d | `%s` | %s |\n", i+1, r.name, reference.Cell(r.doc))
	}
	e := explainFailure(nil, nil)
	fmt.Fprintf(&b, "\n## Failures of workloads (`failure`)\n\nThose of recipes with `failure_findings`.\n\n"+
		"| | rule | why |\n|---|---|---|\n| 1 | `%s` | %s |\n", strings.TrimPrefix(e.Rule, signature.KindFailure+"/"), reference.Cell(e.Reason))
	reference.Hold(t, "..", "triage.md", b.String())
}
