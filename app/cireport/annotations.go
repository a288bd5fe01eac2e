package cireport

import (
	"fmt"
	"strings"
)

// Values of workflow commands are escaped so that they stay on a line (GitHub's actions/toolkit, command.ts).
var (
	escapedData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	escapedProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// Annotations returns a line for each case that failed, and a notice for each allowed finding, as GitHub Actions reads them from
// what a job prints.
func (r Report) Annotations() string {
	var b strings.Builder
	for _, c := range r.Cases {
		level := map[State]string{Failed: "error", Allowed: "notice"}[c.State]
		if level == "" {
			continue
		}
		title := r.Command + ": " + c.Name
		fmt.Fprintf(&b, "::%s title=%s::%s\n", level, escapedProperty.Replace(plain(title)), escapedData.Replace(plain(text(c))))
	}
	return b.String()
}
