package layout

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// CONTRIBUTING.md says how each committed file that a program has written is made.
func TestEveryGeneratedFileIsInContributing(t *testing.T) {
	text, err := os.ReadFile("../../CONTRIBUTING.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(text), "## Generated files")
	require.True(t, found)
	var patterns []string
	for _, row := range regexp.MustCompile(`(?m)^\|(.*?)\|`).FindAllStringSubmatch(section, -1) {
		for _, cell := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			patterns = append(patterns, cell[1])
		}
	}
	require.NotEmpty(t, patterns)
	list := exec.Command("git", "ls-files", "-z")
	list.Dir = "../.."
	files, err := list.Output()
	if err != nil {
		t.Skipf("no git checkout: %v", err)
	}
	marker := regexp.MustCompile(`(?m)^(//|<!--|/\*).*([Gg]enerated by .*(DO NOT EDIT|do not edit))`)
	for name := range strings.SplitSeq(strings.Trim(string(files), "\x00"), "\x00") {
		content, err := os.ReadFile(filepath.Join("../..", name))
		if err != nil || !marker.Match(content[:min(len(content), 300)]) {
			continue // not there, or written by hand
		}
		listed := false
		for _, pattern := range patterns {
			match, err := path.Match(pattern, name)
			require.NoError(t, err)
			listed = listed || match
		}
		assert.True(t, listed, "%s is generated: say by what in CONTRIBUTING.md", name)
	}
}
