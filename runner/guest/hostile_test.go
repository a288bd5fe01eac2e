package guest

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/corpus/memory"
	"misstep/deploy/vm"
)

// What a guest wrote in place of an outcome is refused, whatever it is, and costs the host bounded memory.
func TestHostileOutcomes(t *testing.T) {
	const size = maxMessage - 100
	for name, text := range map[string]string{
		"garbage":         strings.Repeat("\x00", size),
		"deep":            strings.Repeat(`{"example":`, size/11),
		"lists":           `{"mismatches":` + strings.Repeat("[", size),
		"empty parts":     `{"mismatches":[` + strings.Repeat("{},", size/3) + `{}]}`,
		"empty frames":    `{"mismatches":[{"suspect":{"frames":[` + strings.Repeat("{},", size/3) + `{}]}}]}`,
		"numbers":         `{"mismatches":[{"suspect":{"frames":[{"bci":` + strings.Repeat("1,", size/2) + `1}]}}]}`,
		"too long":        strings.Repeat(" ", maxMessage+1) + "{}",
		"climbing":        `{"evidence":[{"name":"../outcome.json","digest":"sha256:` + strings.Repeat("0", 64) + `"}]}`,
		"no digest":       `{"evidence":[{"name":"a","digest":"../../etc/passwd"}]}`,
		"absolute":        `{"evidence":[{"name":"/etc/passwd","digest":"sha256:` + strings.Repeat("0", 64) + `"}]}`,
		"escape sequence": `{"evidence":[{"name":"\u001b[2J","digest":"\u001b[2J"}]}`,
	} {
		dir := t.TempDir()
		require.NoError(t, os.MkdirAll(filepath.Join(dir, dirFiles), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, fileOutcome), []byte(text), 0o600))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := collect(t.Context(), dir, memory.New(), vm.Result{}, "")
		runtime.ReadMemStats(&after)
		require.Error(t, err, name)
		assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(128<<20), name)
	}
}
