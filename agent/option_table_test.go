package agent

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"misstep/recipe"
)

func source(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{"native"}, path...)...))
	require.NoError(t, err)
	return string(text)
}

// texts returns the string literals of a C++ array, without the empty one that means unspecified.
func texts(t *testing.T, code, list string) []string {
	t.Helper()
	m := regexp.MustCompile(regexp.QuoteMeta(list) + `\[\] = \{([^}]*)\}`).FindStringSubmatch(code)
	require.NotNil(t, m, list)
	var all []string
	for _, s := range regexp.MustCompile(`"([^"]*)"`).FindAllStringSubmatch(m[1], -1) {
		if s[1] != "" {
			all = append(all, s[1])
		}
	}
	return all
}

func names(words []recipe.Word) []string {
	var all []string
	for _, w := range words {
		all = append(all, w.Name)
	}
	return all
}

func TestTheCatalogueHasTheWordsOfTheAgent(t *testing.T) {
	code, words := source(t, "src", "verdict.h"), recipe.AgentWords()
	require.Equal(t, texts(t, code, "kRuleNames"), names(words.Rules))
	require.Equal(t, texts(t, code, "kReasonNames"), names(words.Reasons))
	require.Equal(t, texts(t, code, "kKindNames"), names(words.Kinds))
	for _, list := range [][]recipe.Word{words.Rules, words.Reasons, words.Kinds, words.Codes} {
		for _, w := range list {
			require.NotEmpty(t, w.Meaning, w.Name)
			require.NotEmpty(t, w.Source, w.Name)
		}
	}
}

func TestTheTableHasTheOptionsOfTheParser(t *testing.T) {
	code, header := source(t, "src", "options.cpp"), source(t, "src", "options.h")
	var listed, parsed []string
	for _, o := range OptionTable() {
		listed = append(listed, o.Key)
		require.NotEmpty(t, o.Meaning, o.Key)
		require.NotEmpty(t, o.Values, o.Key)
		// Numbers are compared with the defaults in options.h, whose fields are named after the keys.
		if check, ok := recipe.FindCheck(o.Key); ok && !check.Interval { // its default is generated, with the rest of checks.gen.h
			row := regexp.MustCompile(`\{Check::(k\w+), &Options::(\w+)\},`).FindAllStringSubmatch(code, -1)
			require.Greater(t, len(row), check.Slot, "kShareOptions has no row for %s", o.Key)
			require.Contains(t, header, "double "+row[check.Slot][2]+" = FactsOf(Check::"+row[check.Slot][1]+").share;", o.Key)
			parsed = append(parsed, o.Key)
		} else if ok {
			require.Contains(t, code, "key == NameOf(Check::k"+strings.ToUpper(o.Key[:1])+o.Key[1:]+")")
			parsed = append(parsed, o.Key)
		} else if regexp.MustCompile(`^[0-9.]+$`).MatchString(o.Default) {
			field := strings.ReplaceAll(o.Key, "-", "_")
			m := regexp.MustCompile(`\b` + field + `(?:_millis|_micros)? = ([0-9.]+);`).FindStringSubmatch(header)
			require.NotNilf(t, m, "default of %s", o.Key)
			require.Equal(t, strings.TrimSuffix(o.Default, ".0"), strings.TrimSuffix(m[1], ".0"), o.Key)
		}
	}
	for _, m := range regexp.MustCompile(`key == "([a-z-]+)"`).FindAllStringSubmatch(code, -1) {
		parsed = append(parsed, m[1])
	}
	message := regexp.MustCompile(`(?s)": expected one of (out.*?);`).FindStringSubmatch(code)
	require.NotNil(t, message)
	checks := `"` + strings.Join(recipe.Names(recipe.AgentChecks()), ", ") + `"`
	joined := regexp.MustCompile(`"\s*"`).ReplaceAllString(strings.ReplaceAll(message[1], "MISSTEP_CHECK_OPTIONS", checks), "")
	require.Equal(t, listed, strings.Split(strings.TrimSuffix(joined, `"`), ", "), "the message about unknown options")
	slices.Sort(listed)
	slices.Sort(parsed)
	require.Equal(t, listed, slices.Compact(parsed), "the parser")
}
