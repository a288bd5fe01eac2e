package catalogue

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/corpus"
)

type thing struct {
	Name   string        `json:"name"`
	Digest corpus.Digest `json:"digest"`
	Note   string        `json:"note,omitempty"`
}

func (t thing) EntryName() string         { return t.Name }
func (t thing) TreeDigest() corpus.Digest { return t.Digest }

// things returns a catalogue in a folder whose name would match nothing as a pattern.
func things(t *testing.T) Catalogue[thing] {
	t.Helper()
	return Catalogue[thing]{
		Dir: filepath.Join(t.TempDir(), "home [1] *", "things"), Kind: "thing", Adding: "misstep thing add", Group: "suite",
		CheckName: func(name string) error {
			if name == "" || strings.ContainsAny(name, "/.") {
				return errors.New("want a name without slash and dot")
			}
			return nil
		},
	}
}

func named(name, content string) thing {
	return thing{Name: name, Digest: corpus.DigestBytes([]byte(content))}
}

func TestPutGetListRemove(t *testing.T) {
	c := things(t)
	list, err := c.List()
	require.NoError(t, err, "before the first Put")
	assert.Empty(t, list)
	b, a, in := named("b", "1"), named("a", "1"), named("suite/x", "2")
	for _, e := range []thing{b, a, in} {
		require.NoError(t, c.Put(e))
		got, err := c.Get(e.Name)
		require.NoError(t, err)
		assert.Equal(t, e, got)
	}
	list, err = c.List()
	require.NoError(t, err)
	assert.Equal(t, []thing{a, b, in}, list)
	assert.Equal(t, []thing{a, b}, c.ByDigest(a.Digest), "by name")
	assert.Empty(t, c.ByDigest(corpus.DigestBytes(nil)))
	assert.FileExists(t, filepath.Join(c.Dir, "suite", "x.json"))

	b.Note = "another"
	require.NoError(t, c.Put(b))
	got, err := c.Get("b")
	require.NoError(t, err)
	assert.Equal(t, "another", got.Note)

	require.NoError(t, c.Remove("b"))
	_, err = c.Get("b")
	require.ErrorIs(t, err, ErrUnknown)
	require.ErrorIs(t, c.Remove("b"), ErrUnknown)
}

func TestErrorsAboutUnknownNamesListTheNames(t *testing.T) {
	c := things(t)
	_, err := c.Get("jdk17")
	require.ErrorIs(t, err, ErrUnknown)
	require.EqualError(t, err, "thing \"jdk17\": not in the catalogue; it is empty: `misstep thing add` adds one (to "+c.Dir+")")
	for _, name := range []string{"jdk17", "jdk21", "suite/als"} {
		require.NoError(t, c.Put(named(name, name)))
	}
	const rest = "it has jdk17, jdk21, suite/als; `misstep thing add` adds one"
	for name, want := range map[string]string{
		"jdk71":     "not in the catalogue, did you mean jdk17? " + rest,
		"suite/asl": "not in the catalogue, did you mean suite/als? " + rest,
		"mix":       "not in the catalogue; " + rest,
		"../jdk17":  "want a name without slash and dot",
		"":          "want a name without slash and dot",
	} {
		_, err := c.Get(name)
		require.ErrorIs(t, err, ErrUnknown, name)
		require.ErrorContains(t, err, want)
		require.ErrorIs(t, c.Remove(name), ErrUnknown, name)
	}
	for i := range 30 {
		require.NoError(t, c.Put(named("a"+strings.Repeat("x", i), "")))
	}
	_, err = c.Get("mix")
	require.ErrorContains(t, err, ", …; `misstep")
	require.ErrorIs(t, c.Put(named("../x", "")), ErrUnknown, "no file outside of the folder")
}

func TestADamagedEntryIsNamed(t *testing.T) {
	c := things(t)
	require.NoError(t, c.Put(named("a", "1")))
	file := filepath.Join(c.Dir, "a.json")
	for _, text := range []string{
		"{", `{"name": "b", "digest": "` + named("b", "").Digest.String() + `"}`, `{"name": "a"}`,
		`{"name": "a", "digest": "x"}`,
	} {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		_, err := c.Get("a")
		require.ErrorContains(t, err, file+" is damaged; remove it and add the thing again", text)
		require.NotErrorIs(t, err, ErrUnknown)
		_, err = c.List()
		require.ErrorContains(t, err, "is damaged")
		assert.Empty(t, c.ByDigest(named("a", "1").Digest))
	}
	require.NoError(t, os.Truncate(file, maxEntryBytes+1))
	_, err := c.Get("a")
	require.ErrorContains(t, err, "is larger than")
	require.NoError(t, c.Remove("a"), "damaged or not")
}

func TestReadersSeeWholeEntries(t *testing.T) {
	c := things(t)
	e := named("a", "1")
	e.Note = strings.Repeat("x", 1<<16)
	require.NoError(t, c.Put(e))
	var all sync.WaitGroup
	all.Go(func() {
		for range 50 {
			assert.NoError(t, c.Put(e))
		}
	})
	for range 200 {
		got, err := c.Get("a")
		require.NoError(t, err)
		require.Len(t, got.Note, 1<<16)
		list, err := c.List()
		require.NoError(t, err)
		require.Len(t, list, 1)
	}
	all.Wait()
}
