package jvm

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"misstep/internal/testenv"
)

// Each JDK starts with the flags that keep JFR quiet: one that does not know a tag of the log ends at once.
func TestEachJDKStartsQuietly(t *testing.T) {
	for _, name := range []string{"jdk8", "jdk11", "jdk17", "jdk21", "jdk25", "jdk28"} {
		t.Run(name, func(t *testing.T) {
			j := testenv.Catalogued(t, name)
			flags := append(quietStart(j.Feature), "-version")
			output, err := exec.CommandContext(t.Context(), j.Tool("java"), flags...).CombinedOutput()
			require.NoError(t, err, "%s", output)
		})
	}
}
