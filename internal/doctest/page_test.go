package doctest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"misstep/internal/reference"
	"misstep/internal/testenv"
)

func TestReferenceOfTheDocuments(t *testing.T) {
	pages, err := Pages(testenv.Root())
	require.NoError(t, err)
	reference.Hold(t, testenv.Root(), "documents.md", Summary(pages))
}

func TestAFenceSaysWhatItIs(t *testing.T) {
	for _, text := range []string{
		"```\nmake test\n```\n", "```yaml\na: 1\n```\n", "```text\noutput\n```\n", "```sh\nmake test\n",
		"<!-- doctest: skip -->\n```sh\nmake test\n```\n", "<!-- doctest: campaign x -->\n```yaml\na: 1\n```\n", "<!-- doctest: skip, WHY -->\n\n```sh\nmake test\n```\n",
	} {
		_, err := parse("page.md", text)
		require.ErrorContains(t, err, "page.md:", text)
	}
	page, err := parse("page.md", "1. Run\n\n   <!-- doctest: save a.yaml -->\n   ```yaml\n   a:\n     b\n   ```\n\n```console\n$ ls\na.yaml\n```\n"+
		"<!-- doctest: needs s3 -->\n```sh\nls\n```\n<!-- doctest: skip, it is long -->\n```go\nfunc f()\n```\n")
	require.NoError(t, err)
	require.Equal(t, []Fence{
		{Line: 4, Language: "yaml", Lines: []string{"a:", "  b"}, Save: "a.yaml"},
		{Line: 9, Language: "console", Lines: []string{"$ ls", "a.yaml"}},
		{Line: 14, Language: "sh", Lines: []string{"ls"}, Needs: "s3"},
		{Line: 18, Language: "go", Lines: []string{"func f()"}, Skip: "it is long"},
	}, page.Fences)
}

func TestCommandsOfABlock(t *testing.T) {
	f := Fence{Line: 7, Language: "sh", Lines: []string{
		"# first", "cat >f <<END", "echo no command", "END", "ls \\", "  -l  # exit code 3",
	}}
	commands, err := f.Commands()
	require.NoError(t, err)
	require.Equal(t, []Command{
		{Line: 9, Text: "cat >f <<END\necho no command\nEND"}, {Line: 12, Text: "ls \\\n  -l  # exit code 3", Code: 3},
	}, commands)
	f = Fence{Line: 7, Language: "yaml", Campaign: true, Lines: []string{"share: 3", "jdks: [jdk8]"}}
	commands, err = f.Commands()
	require.NoError(t, err)
	require.Equal(t, []Command{{Line: 7, Text: "misstep campaign check part.yaml"}}, commands)
	require.Equal(t, "share: 3\njdks: [jdk8]\nname: part\nworkloads: [{name: clinit}]\nchecks: [{name: liveness}]\nbudget: {trials: 1}",
		f.campaign())
	f = Fence{Line: 7, Language: "console", Lines: []string{"$ ls \\", "  -l", "f", "…", "$ true"}}
	commands, err = f.Commands()
	require.NoError(t, err)
	require.Equal(t, []Command{{Line: 8, Text: "ls \\\n  -l", Output: []string{"f", "…"}}, {Line: 12, Text: "true"}}, commands)
	_, err = Fence{Language: "sh", Lines: []string{"if true"}}.Commands()
	require.ErrorContains(t, err, "no shell command")
}

func TestCallsOfAProgram(t *testing.T) {
	calls, err := Calls("A=1 sudo misstep run --for '30 s' \"$D\" | jq . && x=$(misstep jdk show a)\n"+
		"# misstep comment\necho misstep", "misstep")
	require.NoError(t, err)
	require.Equal(t, [][]string{{"run", "--for", "30 s", "$D"}, {"jdk", "show", "a"}}, calls)
}

func TestWhatAPageShowsIsPrinted(t *testing.T) {
	printed := "head  rate\nF0123456789ab  new  3 %  2m ago  on 17.0.15\nbetween\nlast line\n"
	require.Empty(t, Missing([]string{"head rate", "Faaaaaaaaaaa1  new  0.5 %  1h ago  …", "", "last line"}, printed))
	for _, wrong := range []string{"head rates", "Faaaaaaaaaaa1  old  0.5 %  1h ago  …", "last", "3 lines", "JDK-1"} {
		require.Equal(t, []string{wrong}, Missing([]string{wrong}, printed))
	}
	require.Equal(t, []string{"head rate"}, Missing([]string{"last line", "head rate"}, printed), "the order counts")
}

// A page that lies is red: a command that fails, another exit code than it names, a line that is not printed, a command that does
// not end.
func TestAPageThatLiesIsRed(t *testing.T) {
	run := func(text string, table *Table) error {
		page, err := parse("page.md", text)
		require.NoError(t, err)
		dir := t.TempDir()
		s := &Session{
			Page: page, Table: table, Dir: dir, Records: t.TempDir(), Env: os.Environ(), Has: func(string) bool { return false },
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		_, err = s.Run(ctx)
		return err
	}
	require.NoError(t, run("<!-- doctest: save f -->\n```text\na\n```\n```console\n$ x=1; cat f\na\n$ echo $x; false # exit code 1\n1\n```\n", &Table{}))
	require.NoError(t, run("<!-- doctest: needs nothing -->\n```sh\nfalse\n```\n<!-- doctest: skip, it fails -->\n```sh\nfalse\n```\n", &Table{}))
	for text, problem := range map[string]string{
		"\n```sh\ntrue\ncat none\n```\n":         "page.md:4: exit code 1, want 0\n$ cat none\ncat: none",
		"```sh\ntrue # exit code 3\n```\n":       "page.md:2: exit code 0, want 3",
		"```console\n$ echo a\nb\n```\n":         "page.md:2: the page shows lines that are not printed, or in another order:\nb\n$ echo a\na",
		"```sh\nexit 0\n```\n```sh\ntrue\n```\n": "page.md:2: did not end in time, or ended the shell",
	} {
		require.ErrorContains(t, run(text, &Table{}), problem)
	}
	path := filepath.Join(t.TempDir(), "table.yaml")
	require.NoError(t, os.WriteFile(path, []byte(`
substitutions: [{from: 'host\.(\w+)', to: "echo $1", why: no host}]
given: [{pages: [page.md], script: echo b >b, why: has b}, {pages: [other.md], script: exit 1, why: other}]
varies: [{line: ^seldom, why: chance}]
`), 0o644))
	table, err := ReadTable(path)
	require.NoError(t, err)
	require.NoError(t, run("```console\n$ host.a\na\nseldom\n$ cat b\nb\n```\n", table))
	require.NoError(t, os.WriteFile(path, []byte("varies: [{line: ^seldom}]"), 0o644))
	_, err = ReadTable(path)
	require.ErrorContains(t, err, "^seldom: say why")
}

// What the table says of pages that are gone is gone, too.
func TestTheTableNamesPagesThatExist(t *testing.T) {
	table, err := ReadTable(filepath.Join(testenv.Root(), "docs", "doctest.yaml"))
	require.NoError(t, err)
	for _, row := range table.rows() {
		for _, page := range row.pages {
			require.FileExists(t, filepath.Join(testenv.Root(), page), strings.TrimSpace(row.what))
		}
	}
}
