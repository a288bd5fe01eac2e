package transport

import (
	"crypto/x509"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRunnerIDs(t *testing.T) {
	for form, bad := range map[string]string{
		"misstep://runner/*":                    "",
		"spiffe://example.org/misstep/runner/*": "",
		"spiffe://example.org/*/runner":         "",
		"":                                      "more or less than",
		"runner/*":                              "more or less than",
		"misstep://runner":                      "more or less than",
		"misstep://runner/a1":                   "no *",
		"misstep://*/a1":                        "no *",
		"misstep://*/*":                         "no *",
		"misstep://runner/*/*":                  "two *",
		"misstep://runner/a-*":                  "* beside other characters",
		"misstep://runner/*?x=1":                "more or less than",
		"misstep://u@runner/*":                  "more or less than",
		"misstep://runner/%2a":                  "more or less than",
		"misstep://%zz/*":                       "invalid URL escape",
	} {
		_, err := ParseRunnerIDs([]string{form})
		if bad == "" {
			require.NoError(t, err, form)
			continue
		}
		require.ErrorContains(t, err, bad, form)
		require.ErrorContains(t, err, "such as misstep://runner/*", form)
	}
	ids, err := ParseRunnerIDs([]string{"misstep://runner/*", "spiffe://example.org/ns/*/runner"})
	require.NoError(t, err)
	for uri, want := range map[string]string{
		"misstep://runner/a1":                         "a1",
		"MISSTEP://Runner/a1":                         "a1",
		"spiffe://example.org/ns/b.2_c-d/runner":      "b.2_c-d",
		"misstep://runner/":                           "",
		"misstep://runner/*":                          "",
		"misstep://runner/a1/":                        "",
		"misstep://runner//a1":                        "",
		"misstep://runner/a/b":                        "",
		"misstep://runner/..":                         "",
		"misstep://runner/a%2fb":                      "",
		"misstep://runner/a%20b":                      "",
		"misstep://runner/a1?as=b2":                   "",
		"misstep://runner/a1#b2":                      "",
		"misstep://runner:80/a1":                      "",
		"misstep://runners/a1":                        "",
		"misstep:runner/a1":                           "",
		"https://runner/a1":                           "",
		"spiffe://example.org.evil/ns/a1/runner":      "",
		"spiffe://example.org/ns/a1/runner/more":      "",
		"misstep://runner/" + strings.Repeat("a", 65): "",
	} {
		u, err := url.Parse(uri)
		require.NoError(t, err)
		name, err := ids.Name(&x509.Certificate{URIs: []*url.URL{u}})
		assert.Equal(t, want, name, uri)
		assert.Equal(t, want == "", err != nil, uri)
	}
	same := uris(t, "misstep://runner/a1", "spiffe://example.org/ns/a1/runner")
	name, err := ids.Name(&x509.Certificate{URIs: same})
	require.NoError(t, err)
	assert.Equal(t, "a1", name)
}

// Whatever the form and the URI: a name is one segment of the URI as it stands there, of harmless characters, and what stands
// around it is the form.
func FuzzRunnerID(f *testing.F) {
	for _, form := range []string{"misstep://runner/*", "spiffe://example.org/ns/*/runner", "a://b/*/", "a://b//*"} {
		for _, uri := range []string{"misstep://runner/a1", "spiffe://example.org/ns/a/runner", "a://b/c/", "a://b//c", "a://b/%2e%2e"} {
			f.Add(form, uri)
		}
	}
	f.Fuzz(func(t *testing.T, form, uri string) {
		ids, err := ParseRunnerIDs([]string{form})
		if err != nil {
			return
		}
		u, err := url.Parse(uri)
		if err != nil {
			return
		}
		name, err := ids.Name(&x509.Certificate{URIs: []*url.URL{u}})
		if err != nil {
			assert.Empty(t, name)
			return
		}
		assert.Regexp(t, `^[A-Za-z0-9][A-Za-z0-9._-]*$`, name)
		assert.LessOrEqual(t, len(name), 64)
		rest, _ := strings.CutPrefix(form, u.Scheme)
		_, form, _ = strings.Cut(rest, "://")
		_, uri, _ = strings.Cut(uri, "://")
		_, form, _ = strings.Cut(form, "/")
		_, uri, _ = strings.Cut(uri, "/")
		// An empty query or fragment leaves no trace in the parsed form.
		assert.Equal(t, strings.Replace(strings.TrimSuffix(form, "#"), "*", name, 1), strings.TrimSuffix(uri, "#"))
	})
}
