package reference

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write the pages of docs/reference instead of comparing them")

// Hold fails the test if the committed page differs from text; with -update it writes the page. root is the repository's root
// folder.
func Hold(t testing.TB, root, page, text string) {
	t.Helper()
	path := filepath.Join(root, "docs", "reference", page)
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	committed, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v: run make reference", err)
	}
	if string(committed) != text {
		t.Errorf("docs/reference/%s is stale: run make reference", page)
	}
}
