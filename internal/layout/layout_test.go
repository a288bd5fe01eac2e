// Package layout tests which part of Misstep imports which: parts stand on floors, and imports point downwards only.
package layout

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "misstep/"

// house lists the parts from the ground floor up, as ARCHITECTURE.md explains them. A part is a folder; a package belongs to the
// longest one that contains it. A part imports parts of lower floors only, and none of its own floor.
var house = [][]string{
	{"proto"},
	{"internal"},
	{"recipe", "schedule", "signature"},
	{"corpus"},
	{"catalogue"},
	{"agent", "bpf", "bundle", "deploy", "known", "workloads"},
	{"triage"},
	{"coordinator", "runner"},
	{"app"},
	{"bench", "cmd"},
}

// exceptions are the permitted imports that point sideways or upwards. When circles between parts are looked for, a package with an
// exception is a part by itself.
var exceptions = []exception{
	{"internal/gen/checks", "recipe", "generates the agent's C++ table of checks from recipe's; nothing imports it"},
	{"internal/reference", "recipe", "generates the reference of checks and limits from recipe's tables; only tests import it"},
}

// exception permits a package to import a part, or one package of a part.
type exception struct{ from, to, reason string }

// arrow is one import of one file. Packages are paths below the module; file and line are for people.
type arrow struct{ from, to, file string }

func (a arrow) String() string { return fmt.Sprintf("%s -> %s (%s)", a.from, a.to, a.file) }

func TestImportsPointDownwards(t *testing.T) {
	for _, problem := range check(house, exceptions, arrows(t, filepath.Join("..", ".."))) {
		t.Error(problem)
	}
}

// check returns one line for each violation, the import's file included.
func check(floors [][]string, allowed []exception, imports []arrow) []string {
	var problems []string
	used := map[exception]bool{}
	between := map[string][]arrow{} // by part, what it imports of others
	part := func(pkg string) string {
		if slices.ContainsFunc(allowed, func(e exception) bool { return e.from == pkg }) {
			return pkg
		}
		name, _ := partOf(floors, pkg)
		return name
	}
	for _, a := range imports {
		from, fromFloor := partOf(floors, a.from)
		to, toFloor := partOf(floors, a.to)
		switch {
		case from == "" || to == "":
			problems = append(problems, fmt.Sprintf("%v: a package belongs to no part: add its folder to a floor of the house", a))
			continue
		case from != to && fromFloor <= toFloor:
			i := slices.IndexFunc(allowed, func(e exception) bool { return e.from == a.from && within(a.to, e.to) })
			if i >= 0 {
				used[allowed[i]] = true
				break
			}
			direction := "upwards"
			if fromFloor == toFloor {
				direction = "sideways"
			}
			problems = append(problems,
				fmt.Sprintf("%v points %s: move the code down, or name the exception and its reason", a, direction))
			continue
		}
		if part(a.from) != part(a.to) {
			between[part(a.from)] = append(between[part(a.from)], a)
		}
	}
	for _, e := range allowed {
		if !used[e] {
			problems = append(problems, fmt.Sprintf("exception %s -> %s is not used: remove it", e.from, e.to))
		}
	}
	if loop := circle(between, part); loop != nil {
		problems = append(problems, fmt.Sprintf("circle between parts: %v", loop))
	}
	return problems
}

// partOf returns the longest part that contains a package, and its floor; "" where there is none.
func partOf(floors [][]string, pkg string) (string, int) {
	best, floor := "", -1
	for i, parts := range floors {
		for _, p := range parts {
			if within(pkg, p) && len(p) > len(best) {
				best, floor = p, i
			}
		}
	}
	return best, floor
}

// within reports whether a package is a folder or below it.
func within(pkg, folder string) bool { return pkg == folder || strings.HasPrefix(pkg, folder+"/") }

// circle returns the imports that lead from a part back to itself, nil when there are none.
func circle(between map[string][]arrow, part func(string) string) []arrow {
	done := map[string]bool{}
	var way []arrow
	var visit func(string) []arrow
	visit = func(from string) []arrow {
		if i := slices.IndexFunc(way, func(a arrow) bool { return part(a.from) == from }); i >= 0 {
			return slices.Clone(way[i:])
		}
		if done[from] {
			return nil
		}
		done[from] = true
		for _, a := range between[from] {
			way = append(way, a)
			if loop := visit(part(a.to)); loop != nil {
				return loop
			}
			way = way[:len(way)-1]
		}
		return nil
	}
	for from := range between {
		if loop := visit(from); loop != nil {
			return loop
		}
	}
	return nil
}

// arrows reads the imports of every Go file of the module whatever its build constraints, but not those of tests. It opens files
// itself, and runs no `go list`, so that go test knows when a cached result is stale.
func arrows(t *testing.T, root string) []arrow {
	var all []arrow
	files := token.NewFileSet()
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if file == root {
				return nil
			}
			if name[0] == '.' || slices.Contains([]string{"build", "node_modules", "target", "testdata"}, name) {
				return filepath.SkipDir
			}
			if _, err := os.Stat(filepath.Join(file, "go.mod")); err == nil { // another module
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		parsed, err := parser.ParseFile(files, file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		below, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		for _, i := range parsed.Imports {
			imported, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			if to, ok := strings.CutPrefix(imported, module); ok {
				at := fmt.Sprintf("%s:%d", below, files.Position(i.Pos()).Line)
				all = append(all, arrow{path.Dir(filepath.ToSlash(below)), to, at})
			}
		}
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, len(all), 300, "most of the module was not found below %s", root)
	return all
}

func TestCheck(t *testing.T) {
	floors := [][]string{{"low"}, {"left", "right", "low/hut"}, {"top"}}
	exempt := []exception{{from: "low/a", to: "left"}}
	for name, c := range map[string]struct {
		allowed []exception
		imports []arrow
		want    string // a part of the only problem; empty when there is none
	}{
		"downwards":                  {nil, []arrow{{"top/x", "low", "f"}, {"left", "low/y", "f"}, {"top", "top/x", "f"}}, ""},
		"upwards":                    {nil, []arrow{{"low", "top/x", "low/f.go:3"}}, "low -> top/x (low/f.go:3) points upwards"},
		"sideways":                   {nil, []arrow{{"left", "right", "f"}}, "left -> right (f) points sideways"},
		"down from a part in a part": {nil, []arrow{{"low/hut", "low", "f"}}, ""},
		"up to a part in a part":     {nil, []arrow{{"low", "low/hut/x", "g"}}, "low -> low/hut/x (g) points upwards"},
		"on no floor":                {nil, []arrow{{"top", "lowest", "f"}}, "belongs to no part"},
		"exempt":                     {exempt, []arrow{{"low/a", "left/x", "f"}}, ""},
		"exempt elsewhere":           {exempt, []arrow{{"low/a", "left", "f"}, {"low/b", "left", "g"}}, "low/b -> left (g)"},
		"exemption not used":         {exempt, []arrow{{"low/a", "low/b", "f"}}, "exception low/a -> left is not used"},
		"exempt without a circle":    {exempt, []arrow{{"low/a", "left", "f"}, {"left", "low", "g"}, {"top", "low/a", "h"}}, ""},
		"circle":                     {exempt, []arrow{{"low/a", "left/x", "f"}, {"left/y", "low/a", "g"}}, "circle between parts"},
	} {
		t.Run(name, func(t *testing.T) {
			problems := check(floors, c.allowed, c.imports)
			if c.want == "" {
				require.Empty(t, problems)
				return
			}
			require.Len(t, problems, 1)
			require.Contains(t, problems[0], c.want)
		})
	}
}
