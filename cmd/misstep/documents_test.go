package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"

	"misstep/internal/doctest"
)

// TestDocumentsNameCommandsThatExist holds each misstep command between the fences of README, tutorial and how-tos, those that are
// not run included, to the grammar of the command line, and each make target to the Makefile.
func TestDocumentsNameCommandsThatExist(t *testing.T) {
	pages, err := doctest.Pages("../..")
	require.NoError(t, err)
	makefile, err := os.ReadFile(filepath.Join("..", "..", "Makefile"))
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	commands := 0
	for _, page := range pages {
		for _, fence := range page.Fences {
			for _, c := range commandsOf(t, page, fence) {
				calls, err := doctest.Calls(c.Text, "misstep")
				require.NoError(t, err, "%s:%d", page.Name, c.Line)
				for _, words := range calls {
					commands++
					require.NoError(t, grammatical(t, words), "%s:%d: misstep %s", page.Name, c.Line, strings.Join(words, " "))
				}
				calls, err = doctest.Calls(c.Text, "make")
				require.NoError(t, err)
				for _, words := range calls {
					requireTarget(t, string(makefile), page, c, words)
				}
			}
		}
	}
	require.Greater(t, commands, 150)
}

func commandsOf(t *testing.T, page doctest.Page, fence doctest.Fence) []doctest.Command {
	t.Helper()
	if !fence.Shell() {
		return nil
	}
	commands, err := fence.Commands()
	require.NoError(t, err, "%s:%d", page.Name, fence.Line)
	return commands
}

// requireTarget wants make to have the targets that a page calls.
func requireTarget(t *testing.T, makefile string, page doctest.Page, c doctest.Command, words []string) {
	t.Helper()
	for _, word := range words {
		if strings.HasPrefix(word, "-") || strings.Contains(word, "=") || strings.HasPrefix(word, "bench-") {
			continue
		}
		require.Regexp(t, `(?m)^`+regexp.QuoteMeta(word)+`:`, makefile, "%s:%d: make %s", page.Name, c.Line, word)
	}
}

// grammatical parses a command line as misstep does, without running it. "…" stands for anything that is left out.
func grammatical(t *testing.T, words []string) error {
	var given []string
	for _, w := range words {
		if w != "…" {
			given = append(given, strings.ReplaceAll(w, "HOST:PORT", "127.0.0.1:7867"))
		}
	}
	err := parseCommand(t, given)
	here, wdErr := os.Getwd()
	require.NoError(t, wdErr)
	// A file that the reader has: it is made, so that the rest of the line is looked at, too.
	for m := absent.FindStringSubmatch(fmt.Sprint(err)); m != nil; m = absent.FindStringSubmatch(fmt.Sprint(err)) {
		if !strings.HasPrefix(m[1], here+"/") {
			return nil
		}
		require.NoError(t, os.MkdirAll(filepath.Dir(m[1]), 0o755))
		require.NoError(t, os.WriteFile(m[1], nil, 0o644))
		err = parseCommand(t, given)
	}
	if len(given) < len(words) && err != nil && strings.HasPrefix(err.Error(), "missing flags") {
		return nil
	}
	return err
}

var absent = regexp.MustCompile(`stat (\S+): no such file or directory`)

func parseCommand(t *testing.T, words []string) error {
	ended := false
	parser, err := newParser(t.Context(), &cli{}, io.Discard, io.Discard, func(int) { ended = true })
	require.NoError(t, err)
	command, err := parser.Parse(words)
	if err == nil && !ended {
		err = checkGiven(command)
	}
	return err
}

// A page with a command or flag that does not exist is red.
func TestDocumentsAreHeldToTheGrammar(t *testing.T) {
	for _, line := range []string{
		"hnut campaigns/hunt.yaml", "hunt campaigns/hunt.yaml --fr 60s", "findings lst --dir hunt", "hunt campaigns/hunt.yaml --for soon",
		"campaign", "hunt",
	} {
		require.Error(t, grammatical(t, strings.Fields(line)), line)
	}
	require.NoError(t, grammatical(t, strings.Fields("hunt campaigns/hunt.yaml --for 60s --dir hunt")))
	require.NoError(t, grammatical(t, strings.Fields("coordinator … --tls-client-ca bundle.pem")))
}

var (
	fenced = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	inText = regexp.MustCompile("`misstep ([^`]+)`")
	named  = regexp.MustCompile(`^[a-z][a-z-]*$`)
)

// TestDocumentsNameFlagsThatExist holds what the pages, the explanations included, say of commands within sentences: such a command
// may lack arguments, but its name and flags exist.
func TestDocumentsNameFlagsThatExist(t *testing.T) {
	root := model(t).Node
	var paths []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/howto/*.md", "docs/explanation/*.md"} {
		found, err := filepath.Glob(filepath.Join("..", "..", pattern))
		require.NoError(t, err)
		paths = append(paths, found...)
	}
	commands := 0
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, m := range inText.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1) {
			commands++
			if problem := unknownIn(root, strings.Fields(m[1])); problem != "" {
				t.Errorf("%s: `misstep %s`: %s", path, strings.Join(strings.Fields(m[1]), " "), problem)
			}
		}
	}
	require.Greater(t, commands, 200)
	require.Equal(t, "no command lst", unknownIn(root, []string{"findings", "lst"}))
	require.Equal(t, "no flag --fr", unknownIn(root, []string{"hunt", "c.yaml", "--fr", "60s"}))
}

// unknownIn returns the first name of a command or flag that does not exist, "" if all do. What follows "--" is another program's.
func unknownIn(node *kong.Node, words []string) string {
	for _, word := range words {
		if word == "--" {
			return ""
		}
		if flag, ok := strings.CutPrefix(word, "--"); ok {
			name, _, _ := strings.Cut(strings.TrimRight(flag, "…"), "=")
			name, _, _ = strings.Cut(name, "|")
			if !hasFlag(node, name) {
				return "no flag --" + name
			}
			continue
		}
		if child := childOf(node, word); child != nil {
			node = child
		} else if wantsCommand(node) && named.MatchString(word) {
			return "no command " + word
		}
	}
	return ""
}

// wantsCommand reports whether the next word is the name of a command and cannot be an argument.
func wantsCommand(node *kong.Node) bool {
	return len(node.Children) > 0 && (node.DefaultCmd == nil || len(node.DefaultCmd.Positional) == 0)
}

func childOf(node *kong.Node, name string) *kong.Node {
	for _, child := range node.Children {
		if child.Name == name {
			return child
		}
	}
	return nil
}

func hasFlag(node *kong.Node, name string) bool {
	if node.DefaultCmd != nil && hasFlag(node.DefaultCmd, name) {
		return true
	}
	for _, group := range node.AllFlags(false) {
		for _, f := range group {
			if f.Name == name || f.Tag.Negatable != "" && "no-"+f.Name == name {
				return true
			}
		}
	}
	return false
}
