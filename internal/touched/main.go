// Command touched says which packages a change touches, one a line: "changed PATH" if a file in the package's folder, or below it
// in a folder without a package, differs from the commit BASE (in the commits since it left BASE, or not committed), and
// "imports PATH" if it or one of its tests imports such a package.
//
//	touched BASE
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "touched:", err)
		os.Exit(1)
	}
}

func run(args []string, stdout io.Writer) error {
	if len(args) != 1 {
		return errors.New("usage: touched BASE")
	}
	files, err := changedFiles(args[0])
	if err != nil {
		return err
	}
	listed, err := output("go", "list", "-test", "-json=ImportPath,Dir,Deps,ForTest", "./...")
	if err != nil {
		return err
	}
	root, err := output("git", "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	packages, err := parse(listed, strings.TrimSpace(string(root)))
	if err != nil {
		return err
	}
	changed, imports := touched(packages, files)
	for _, p := range changed {
		fmt.Fprintln(stdout, "changed", p)
	}
	for _, p := range imports {
		fmt.Fprintln(stdout, "imports", p)
	}
	return nil
}

// changedFiles lists files relative to the root of the checkout.
func changedFiles(base string) ([]string, error) {
	fork, err := output("git", "merge-base", base, "HEAD")
	if err != nil {
		return nil, err
	}
	diff, err := output("git", "diff", "--name-only", strings.TrimSpace(string(fork)))
	if err != nil {
		return nil, err
	}
	added, err := output("git", "ls-files", "--others", "--exclude-standard", "--full-name", ":/")
	if err != nil {
		return nil, err
	}
	return strings.Fields(string(diff) + string(added)), nil
}

func output(name string, args ...string) ([]byte, error) {
	var stderr bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w: %.400s", name, strings.Join(args, " "), err, &stderr)
	}
	return out, nil
}

// pkg is a package with all that it and its tests import, directly or not.
type pkg struct {
	path, folder string
	deps         []string
}

// parse reads what go list -test prints: packages, and for those with tests also the program "PATH.test", which imports all that
// they need under names such as "PATH [OTHER.test]".
func parse(listed []byte, root string) ([]pkg, error) {
	var out []pkg
	index := map[string]int{}
	dec := json.NewDecoder(bytes.NewReader(listed))
	for {
		var p struct {
			ImportPath, Dir, ForTest string
			Deps                     []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return nil, fmt.Errorf("read what go list prints: %w", err)
		}
		tested, isTest := strings.CutSuffix(p.ImportPath, ".test")
		switch {
		case p.ForTest != "":
			continue // its program has the same
		case !isTest:
			folder := strings.TrimPrefix(strings.TrimPrefix(p.Dir, root), "/")
			index[p.ImportPath] = len(out)
			out = append(out, pkg{p.ImportPath, folder, p.Deps})
		default:
			i, ok := index[tested]
			if !ok {
				index[tested] = len(out)
				i = len(out)
				out = append(out, pkg{tested, strings.TrimPrefix(strings.TrimPrefix(p.Dir, root), "/"), nil})
			}
			for _, dep := range p.Deps {
				name, _, _ := strings.Cut(dep, " ")
				out[i].deps = append(out[i].deps, name)
			}
		}
	}
}

// touched returns the paths of packages that files belong to, and of those that import one of them, both sorted.
func touched(packages []pkg, files []string) (changed, imports []string) {
	folders := map[string]string{}
	for _, p := range packages {
		folders[p.folder] = p.path
	}
	hit := map[string]bool{}
	for _, file := range files {
		for dir := path.Dir(file); dir != "." && dir != "/"; dir = path.Dir(dir) {
			if p, ok := folders[dir]; ok {
				hit[p] = true
				break
			}
		}
	}
	for _, p := range packages {
		switch {
		case hit[p.path]:
			changed = append(changed, p.path)
		case slices.ContainsFunc(p.deps, func(dep string) bool { return hit[dep] }):
			imports = append(imports, p.path)
		}
	}
	slices.Sort(changed)
	slices.Sort(imports)
	return changed, imports
}
