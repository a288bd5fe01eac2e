package reference

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	fenced  = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	anchor  = regexp.MustCompile(`[^\pL\pN _-]`)
)

// pages returns the repository's own Markdown files: their text without code blocks, by path.
func pages(t *testing.T) map[string]string {
	all := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "build" || d.Name() == ".git" || d.Name() == "testdata" || d.Name() == "target") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".md") {
			return nil
		}
		text, err := os.ReadFile(path)
		all[path] = fenced.ReplaceAllString(string(text), "")
		return err
	})
	require.NoError(t, err)
	return all
}

// anchors returns the names that GitHub gives to a page's headings.
func anchors(text string) map[string]bool {
	names := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		names[strings.ReplaceAll(anchor.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")] = true
	}
	return names
}

func TestLinksOfThePagesPointSomewhere(t *testing.T) {
	all := pages(t)
	for path, text := range all {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			file, name, _ := strings.Cut(m[1], "#")
			to := path
			if file != "" {
				to = filepath.Join(filepath.Dir(path), file)
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: no file for the link %s", path, m[1])
			} else if page, ok := all[to]; ok && name != "" && !anchors(page)[name] {
				t.Errorf("%s: no heading for the link %s", path, m[1])
			}
		}
	}
}

func TestEveryPageIsLinkedFromTheIndex(t *testing.T) {
	all := pages(t)
	index := all[filepath.Join(root, "docs", "README.md")]
	for path := range all {
		page, ok := strings.CutPrefix(path, filepath.Join(root, "docs")+"/")
		if ok && !strings.HasPrefix(page, "figures/0") && page != "README.md" {
			require.Contains(t, index, "("+page, "docs/README.md does not link to %s", page)
		}
	}
}
