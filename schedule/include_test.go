package schedule

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	include     = regexp.MustCompile(`(?m)^\s*#\s*include\s+"([^"]+)"`)
	includePath = regexp.MustCompile(`(?m)^include_directories\([^"]*"\$\{CMAKE_CURRENT_SOURCE_DIR\}/([^"]+)"\)`)
)

// The linter enforces which Go packages may import which. This test does the same for C and C++: agent and bpf include only their
// own headers and those of this folder, which includes none of theirs.
func TestAgentAndSchedulerShareHeadersOnlyHere(t *testing.T) {
	allowed := map[string][]string{"agent": {"agent", "schedule"}, "bpf": {"bpf", "schedule"}, "schedule": {"schedule"}}
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	for part, from := range allowed {
		files, outside := 0, 0
		within := func(file, target string) {
			relative, err := filepath.Rel(root, filepath.Join(filepath.Dir(file), target))
			require.NoError(t, err)
			first, _, _ := strings.Cut(filepath.ToSlash(relative), "/")
			assert.Contains(t, from, first, "%s includes %s", file, target)
			if first != part {
				outside++
			}
		}
		require.NoError(t, filepath.WalkDir(filepath.Join(root, part), func(file string, _ fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			pattern := include
			switch {
			case filepath.Base(file) == "CMakeLists.txt":
				pattern = includePath
			case !regexp.MustCompile(`\.(c|h|cc|cpp|hpp)$`).MatchString(file):
				return nil
			}
			files++
			text, err := os.ReadFile(file)
			for _, m := range pattern.FindAllStringSubmatch(string(text), -1) {
				within(file, m[1])
			}
			return err
		}))
		assert.NotZero(t, files, part)
		assert.Equal(t, part != "schedule", outside > 0, "%s includes the policy from here", part)
	}
}
