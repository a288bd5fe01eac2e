package kernel

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestHostSourcesTakesTheMainArchiveOnce(t *testing.T) {
	etc := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(etc, "sources.list.d"), 0o755))
	for name, text := range map[string]string{
		"sources.list": "# old form\ndeb [arch=amd64 signed-by=/keys/a.gpg] http://one.example/debian stable main contrib # the " +
			"archive\n" +
			"deb-src http://one.example/debian stable main\ndeb http://one.example/security stable-security main\n" +
			"deb http://other.example/tool nodistro main\n" +
			"deb [signed-by=/unclosed http://x stable main\n",
		"sources.list.d/debian.sources": "Types: deb deb-src\n# a remark\nURIs: http://two.example/debian\n" +
			"Suites: bookworm bookworm-updates\nComponents: main non-free\n" +
			"Signed-By: /keys/b.gpg\n\nTypes: deb\nURIs: http://two.example/security\nSuites: bookworm-security\n" +
			"Components: main\n\n" +
			"Enabled: no\nTypes: deb\nURIs: http://off.example/debian\nSuites: sid\nComponents: main\n",
		"sources.list.d/again.list": "deb [signed-by=/keys/a.gpg] http://one.example/debian trixie main\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(etc, name), []byte(text), 0o644))
	}
	got, err := hostSources(etc, Sid)
	require.NoError(t, err)
	assert.Equal(t, "Types: deb\nURIs: http://one.example/debian\nSuites: sid\nComponents: main\nSigned-By: /keys/a.gpg\n\n"+
		"Types: deb\nURIs: http://two.example/debian\nSuites: sid\nComponents: main\nSigned-By: /keys/b.gpg\n", got)
}

func TestHostSourcesKeepsAKeyWithinTheSource(t *testing.T) {
	key := "\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n abc\n -----END PGP PUBLIC KEY BLOCK-----"
	got := deb822Sources("Types: deb\nURIs: http://one.example/debian\nSuites: sid\nComponents: main\nSigned-By:"+key+"\n",
		Experimental)
	assert.Equal(t, []string{"Types: deb\nURIs: http://one.example/debian\nSuites: experimental\nComponents: main\nSigned-By: " +
		key + "\n"}, got)
}

func TestHostSourcesWithoutDebian(t *testing.T) {
	_, err := hostSources(t.TempDir(), Sid)
	require.ErrorIs(t, err, errNoSource)
}
