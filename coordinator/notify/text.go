package notify

import (
	"fmt"
	"strings"

	misstepv1 "misstep/proto/misstep/v1"
)

// words names one and many events of each kind.
var words = map[string][2]string{
	NewFinding:       {"new finding", "new findings"},
	NewOnJDK:         {"finding on a further JDK", "findings on further JDKs"},
	Back:             {"finding is back", "findings are back"},
	Quiet:            {"finding became quiet", "findings became quiet"},
	ReproductionDone: {"reproduction done", "reproductions done"},
	OwnerSetAside:    {"owner of runners set aside", "owners of runners set aside"},
}

// Subject returns what a message says in a few words: "2 new findings, 1 reproduction done"; with the project first unless it is
// the default one: "loom: 1 new finding".
func Subject(n *misstepv1.Notification) string {
	var parts []string
	for _, kind := range Kinds() {
		count := n.GetOmitted()[kind]
		for _, e := range n.GetEvents() {
			if e.GetKind() == kind {
				count++
			}
		}
		switch count {
		case 0:
		case 1:
			parts = append(parts, "1 "+words[kind][0])
		default:
			parts = append(parts, fmt.Sprintf("%d %s", count, words[kind][1]))
		}
	}
	text := strings.Join(parts, ", ")
	if n.GetProject() != "" {
		text = n.GetProject() + ": " + text
	}
	return text
}

// Text returns a message as lines for people: the subject, one line for each event and the command that shows more.
func Text(n *misstepv1.Notification) string {
	var b strings.Builder
	b.WriteString(Subject(n) + "\n")
	for _, e := range n.GetEvents() {
		if e.GetKind() == OwnerSetAside {
			fmt.Fprintf(&b, "- %s: %s: %s; misstep runners trust lets it back\n",
				words[OwnerSetAside][0], e.GetOwner(), e.GetDetail())
			continue
		}
		fmt.Fprintf(&b, "- %s: %s %s", words[e.GetKind()][0], e.GetFindingId(), e.GetTitle())
		if len(e.GetJdks()) > 0 {
			fmt.Fprintf(&b, " [%s]", strings.Join(e.GetJdks(), ", "))
		}
		if e.GetKnownAs() != "" {
			fmt.Fprintf(&b, " (known: %s)", e.GetKnownAs())
		}
		if e.GetDetail() != "" {
			b.WriteString(": " + e.GetDetail())
		}
		b.WriteString("\n")
	}
	for _, kind := range Kinds() {
		if left := n.GetOmitted()[kind]; left > 0 {
			fmt.Fprintf(&b, "- and %d more: %s\n", left, words[kind][1])
		}
	}
	in := ""
	if n.GetProject() != "" {
		in = " --project " + n.GetProject()
	}
	fmt.Fprintf(&b, "More: misstep findings list%[1]s; misstep findings show ID%[1]s\n", in)
	return b.String()
}
