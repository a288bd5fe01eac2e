package browser

import (
	"os"
	"path/filepath"

	"misstep/internal/testenv"
)

// Violation is what axe-core finds that keeps people from using a page.
type Violation struct {
	// ID of the rule, Help what it asks for, and Nodes where the page breaks it and why.
	ID, Help string
	Nodes    []struct{ HTML, FailureSummary string }
}

// Violations of the rules of axe-core by the page that is shown; the test is skipped where axe-core is not installed.
func (tab *Tab) Violations() []Violation {
	tab.t.Helper()
	script, err := os.ReadFile(filepath.Join(testenv.Root(), "build", "tools", "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		tab.t.Skipf("no axe-core: %v; deploy/setup/install.sh test installs it", err)
	}
	return Eval[[]Violation](tab, string(script)+`
		; axe.run({resultTypes: ["violations"], preload: false}).then((found) => found.violations.map((v) => (
			{ID: v.id, Help: v.help, Nodes: v.nodes.map((n) => ({HTML: n.html, FailureSummary: n.failureSummary}))})))`)
}
