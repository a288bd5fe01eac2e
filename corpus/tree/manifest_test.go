package tree_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/corpus"
	"misstep/corpus/tree"
)

var hello = corpus.DigestBytes([]byte("hello\n"))

func file(path string) tree.Entry {
	return tree.Entry{Kind: tree.KindFile, Path: path, Size: 6, Digest: hello}
}

func dir(path string) tree.Entry { return tree.Entry{Kind: tree.KindDir, Path: path} }

func link(path, target string) tree.Entry {
	return tree.Entry{Kind: tree.KindLink, Path: path, Target: target}
}

// TestVectors pins the bytes that FORMAT.md shows: a digest must mean the same tree for ever.
func TestVectors(t *testing.T) {
	for name, entries := range map[string][]tree.Entry{
		"empty": nil,
		"small": {
			dir("bin"), dir("lib"), dir("lib/a b"), file("release"), file("lib/a b/größe 100%"), link("lib/self", "../bin/./x"),
			{Kind: tree.KindExecutable, Path: "bin/x", Size: 0, Digest: corpus.DigestBytes(nil)},
			file("lib-old"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			want, err := os.ReadFile(filepath.Join("testdata", name+".manifest"))
			require.NoError(t, err)
			m, err := tree.New(entries)
			require.NoError(t, err)
			assert.Equal(t, string(want), string(m.Bytes()))
			assert.Equal(t, corpus.DigestBytes(want), m.Digest())
			parsed, err := tree.Parse(want)
			require.NoError(t, err)
			assert.Equal(t, m.Digest(), parsed.Digest())
			assert.Equal(t, len(entries), parsed.Len())

			format, err := os.ReadFile(filepath.Join("..", "FORMAT.md"))
			require.NoError(t, err)
			assert.Contains(t, string(format), string(want), "FORMAT.md shows the vector")
			assert.Contains(t, string(format), m.Digest().String(), "FORMAT.md shows its digest")
		})
	}
}

func TestNewRefuses(t *testing.T) {
	long := strings.Repeat("x", 256)
	for want, entries := range map[string][]tree.Entry{
		`climbs with ".."`:                      {file("../x")},
		`path "a/../b": climbs`:                 {dir("a"), file("a/../b")},
		"absolute":                              {file("/etc/passwd")},
		"empty component":                       {dir("a"), file("a//b")},
		`or "."`:                                {file("./a")},
		"1 to 4095 bytes":                       {file("")},
		"component has more than 255":           {file(long)},
		"not valid UTF-8":                       {file("a\xff")},
		`forbidden character '\n'`:              {file("a\nb")},
		`forbidden character '\x00'`:            {file("a\x00b")},
		`forbidden character '\\'`:              {file(`..\b`)},
		"folders deep":                          {file(strings.Repeat("a/", 128) + "b")},
		"its folder is not an entry":            {file("a/b")},
		"is not an entry of kind dir":           {file("a"), file("a/b")},
		"twice":                                 {file("a"), file("a")},
		"ignores case":                          {file("Makefile"), file("makefile")},
		"same name":                             {file("ß"), file("ss")},
		"on a file system that ignores case":    {file("\u00e9"), file("e\u0301")},
		"unknown kind 0":                        {{Path: "a"}},
		"a file has a size":                     {{Kind: tree.KindFile, Path: "a", Size: -1, Digest: hello}},
		"a digest and no target":                {{Kind: tree.KindFile, Path: "a", Size: 1}},
		"a folder has neither size":             {{Kind: tree.KindDir, Path: "a", Size: 1}},
		"a link has a target":                   {link("a", "")},
		"bytes in all":                          {{Kind: tree.KindFile, Path: "a", Size: 16 << 30, Digest: hello}, file("b")},
		`link "a" to "/etc": leaves the tree`:   {link("a", "/etc")},
		`link "a" to "..": leaves the tree`:     {link("a", "..")},
		`link "d/a" to "../../x": leaves`:       {dir("d"), link("d/a", "../../x")},
		`link "d/out" to "up/..": leaves`:       {dir("d"), link("d/up", ".."), link("d/out", "up/..")},
		`link "a" to "b": is a loop`:            {link("a", "b"), link("b", "a")},
		`link "a" to "./a": is a loop`:          {link("a", "./a")},
		`link "a": target "b\nc": has the forb`: {link("a", "b\nc")},
	} {
		_, err := tree.New(entries)
		require.ErrorContains(t, err, want)
	}
}

func TestNewTakesLinksThatStayInside(t *testing.T) {
	_, err := tree.New([]tree.Entry{
		dir(
			"d",
		), dir("d/e"), link("d/e/up", "../.."), link("d/e/dot", "."), link("x", "d/e/up/d/./e/dot/up"), link("gone", "not/there"), link("d/f", "../x/d"),
	})
	require.NoError(t, err)
}

func TestParseRefuses(t *testing.T) {
	const head = "misstep-tree 1\n"
	good := head + "dir a\nfile 6 " + hello.String() + " a/b\n"
	_, err := tree.Parse([]byte(good))
	require.NoError(t, err)
	for want, text := range map[string]string{
		"does not begin with":        "",
		`"misstep-tree 1\n"`:         "misstep-tree 2\n",
		"line 2: cut off":            head + "dir a",
		"line 3: cut off":            good[:len(good)-1],
		`line 2: "dir"`:              head + "dir\n",
		`"dir a b": expected`:        head + "dir a b\n",
		`"block a": expected`:        head + "block a\n",
		`"": expected`:               head + "\n",
		"size \"six\"":               strings.Replace(good, " 6 ", " six ", 1),
		"value out of range":         strings.Replace(good, " 6 ", " 99999999999999999999 ", 1),
		"digest \"sha256:1\"":        head + "file 6 sha256:1 a\n",
		"not in canonical form":      strings.Replace(good, " 6 ", " 06 ", 1),
		"not in canonical":           head + "dir %61\n",
		"not in canonical form (":    head + "dir %c3%9f\n",
		"incomplete escape":          head + "dir a%4\n",
		`"%g1" is not a byte`:        head + "dir %g1\n",
		"out of order":               head + "dir b\ndir a\n",
		`twice, or out of`:           head + "dir a\ndir a\n",
		"climbs":                     head + "dir ..\n",
		`climbs with`:                head + "dir %2E%2E\n",
		"leaves the tree":            head + "link a ..\n",
		`link "a" to "/x": leaves t`: head + "link a /x\n",
	} {
		_, err := tree.Parse([]byte(text))
		require.ErrorContains(t, err, want, "%q", text)
	}
	_, err = tree.Parse(append([]byte(head), bytes.Repeat([]byte("\n"), tree.MaxEntries+1)...))
	require.ErrorContains(t, err, "200001 entries")
	_, err = tree.Parse(make([]byte, tree.MaxText+1))
	require.ErrorContains(t, err, "bytes, at most")
}

func TestALongChainOfLinksIsBounded(t *testing.T) {
	// Each link goes twice through the one before: without a bound 2^60 steps.
	entries := []tree.Entry{dir("l0")}
	for i := 1; i < 60; i++ {
		name, before := "l"+strings.Repeat("x", i), "l"+strings.Repeat("x", i-1)
		if i == 1 {
			before = "l0"
		}
		entries = append(entries, link(name, before+"/../"+before))
	}
	_, err := tree.New(entries)
	require.ErrorContains(t, err, "too many links")
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{"empty", "small"} {
		text, err := os.ReadFile(filepath.Join("testdata", name+".manifest"))
		require.NoError(f, err)
		f.Add(text)
	}
	f.Add([]byte("misstep-tree 1\ndir a\nlink a/b ../c/..\nlink c a/b\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := tree.Parse(text)
		if err != nil {
			return
		}
		assert.Equal(t, text, m.Bytes(), "the text is canonical")
		for e := range m.Entries() {
			assert.True(t, filepath.IsLocal(e.Path), "%q", e.Path)
			if e.Kind == tree.KindLink {
				assert.False(t, filepath.IsAbs(e.Target))
			}
		}
	})
}
