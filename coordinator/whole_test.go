package coordinator_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// wholly are the functions that work on the store of all projects, with what becomes of what they read.
var wholly = map[string]string{
	"readWhole": "a helper", "updateWhole": "a helper", "updateFor": "a helper", "read": "in the project of the call",
	"update":         "in the project of the call",
	"Load":           "numbers of the whole fleet, for metrics without labels of campaigns",
	"CheckReadiness": "nothing is read",
	"GetBacklog":     "the role is needed in every project, as the proto says: counts, names and projects of what runs",
	"LeasesOf":       "which blobs a runner may read and write",
	"changeAside":    "owners of runners, which serve all projects",
	"DrainRunner":    "runners that are to exit, which serve all projects: the role is needed in every one",
	"Synchronize":    "a runner's own leases; results enter the project of their campaign",
	"Tick":           "time passes in each project by itself",
	"runForNewJDK":   "which projects have schedules; each runs in its own, and the answer has those of the call's",
	"listShared":     "which projects decided about findings; each is read as somebody without a role there sees it",
	"sharedFinding":  "one project, as somebody without a role there sees it",
	"SetQuota":       "quotas of projects and people",
	"ListQuotas":     "numbers of what the caller's project and the caller use; to an admin of all projects those of all",
	"Meter":          "what all running campaigns use of quotas (package quota); a campaign is answered with those that hold it",
	"follow":         "results stay in memory; each list reads of them what its caller sees",
	"hiddenFrom":     "which findings are hidden from the caller; it only takes away from an answer",
	"Begin":          "turns of all campaigns, for the fleet is shared (package queue)",
}

// seeing are the names of what sees all projects.
var seeing = []string{"readWhole", "updateWhole", "updateFor", "Whole", "View", "UpdateFor"}

// Whoever reads what is all projects' says here why nothing of it gets to anybody.
func TestFewFunctionsSeeAllProjects(t *testing.T) {
	positions := token.NewFileSet()
	found := map[string]bool{}
	for _, pattern := range []string{"*.go", "view/*.go", "queue/*.go"} {
		paths, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(positions, path, nil, 0)
			require.NoError(t, err)
			for _, d := range file.Decls {
				function, ok := d.(*ast.FuncDecl)
				if !ok {
					continue
				}
				ast.Inspect(function, func(n ast.Node) bool {
					if call, ok := n.(*ast.SelectorExpr); ok && slices.Contains(seeing, call.Sel.Name) {
						found[function.Name.Name] = true
						assert.Contains(t, wholly, function.Name.Name, "%s sees all projects", positions.Position(call.Pos()))
					}
					return true
				})
			}
		}
	}
	assert.ElementsMatch(t, slices.Collect(maps.Keys(wholly)), slices.Collect(maps.Keys(found)))
}
