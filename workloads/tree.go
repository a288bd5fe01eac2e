package workloads

import (
	"fmt"
	"path"
	"strings"

	"misstep/corpus/tree"
)

// CheckTree returns an error that names the first file of a manifest that a tree lacks; nil if it has all.
func (m Manifest) CheckTree(t tree.Manifest) error {
	entries := m.Classpath
	if m.Jar != "" {
		entries = []string{m.Jar}
	}
	for _, entry := range entries {
		folder, all := strings.CutSuffix(path.Clean(entry), "/*")
		if !all {
			if _, found := t.Lookup(folder); !found && folder != "." {
				return fmt.Errorf("it has no %s, which its %s names", folder, ManifestFile)
			}
			continue
		}
		if !hasJar(t, folder) {
			return fmt.Errorf("there is no jar in %s, which its %s names", folder, ManifestFile)
		}
	}
	return nil
}

func hasJar(t tree.Manifest, folder string) bool {
	for e := range t.Entries() {
		if path.Dir(e.Path) == folder && strings.HasSuffix(e.Path, ".jar") {
			return true
		}
	}
	return false
}
