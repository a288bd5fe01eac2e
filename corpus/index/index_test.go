package index_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/corpus"
	"misstep/corpus/index"
)

func TestADamagedIndexIsSaid(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "index"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "index", strings.Repeat("a", 64)), []byte("misstep-entry 1\n"), 0o600))
	_, err := index.Folder(dir).Entries(t.Context())
	require.ErrorContains(t, err, "damaged")
	require.ErrorContains(t, err, dir)
}

func FuzzParseEntry(f *testing.F) {
	e := index.Entry{Finding: "F313247774e0d", Bundle: index.Blob{Digest: corpus.DigestBytes(nil), Size: 12}}
	f.Add(e.Text())
	e.Signature = e.Bundle
	f.Add(e.Text())
	e.Shared = []index.Blob{e.Bundle, e.Bundle}
	f.Add(e.Text())
	f.Add([]byte("misstep-entry 2\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		e, err := index.ParseEntry(text)
		if err != nil {
			return
		}
		assert.Equal(t, text, e.Text())
		assert.NotContains(t, e.Finding, "/")
	})
}

// TestVector pins the vector in FORMAT.md.
func TestVector(t *testing.T) {
	text := "misstep-entry 1\nfinding F313247774e0d\n" +
		"bundle 8 sha256:a198d6f87c5038040cda251d3628af3c847c3efd5f636ab42101bf2851abbf7b\n"
	e, err := index.ParseEntry([]byte(text))
	require.NoError(t, err)
	assert.Equal(t, int64(8), e.Bundle.Size)
	format, err := os.ReadFile("../FORMAT.md")
	require.NoError(t, err)
	assert.Contains(t, string(format), e.Digest().String()+"`:\n```\n"+text+"```\n")
	assert.Equal(t, "sha256:766e6cd0bebe9287092d4ba7bd3a6afc327825a852f884f2c6d5866071b8055a", e.Digest().String())
	for _, bad := range []string{
		"", "misstep-entry 2\n", text + "more\n", strings.TrimSuffix(text, "\n"),
		strings.Replace(text, "F31", "../", 1), strings.Replace(text, " 8 ", " 08 ", 1),
	} {
		_, err := index.ParseEntry([]byte(bad))
		require.Error(t, err, bad)
	}
}
