package agent

import (
	"bufio"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// mostNativeLines is the largest number of lines of a file of the native agent; a longer one is to be split.
const mostNativeLines = 420

var includeLine = regexp.MustCompile(`^\s*#\s*include\s+"([^"/]+)\.h"`)

// nativeModules reads agent/native/src: the modules (x.h and x.cpp are the module x) that each module includes.
func nativeModules(t *testing.T) map[string][]string {
	t.Helper()
	files, err := filepath.Glob("native/src/*")
	require.NoError(t, err)
	includes := map[string][]string{}
	for _, file := range files {
		module := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
		f, err := os.Open(file)
		require.NoError(t, err)
		lines := 0
		scanner := bufio.NewScanner(f)
		for scanner.Scan() {
			lines++
			if m := includeLine.FindStringSubmatch(scanner.Text()); m != nil && m[1] != module {
				includes[module] = append(includes[module], m[1])
			}
		}
		require.NoError(t, scanner.Err())
		require.NoError(t, f.Close())
		assert.LessOrEqual(t, lines, mostNativeLines, "lines of %s: split it by topic", file)
	}
	require.Greater(t, len(includes), 20, "modules of the native agent")
	return includes
}

// includeCircle returns modules that include one another in a cycle, with the first one again at the end, or nil.
func includeCircle(includes map[string][]string) []string {
	var way []string
	done := map[string]bool{}
	var visit func(module string) []string
	visit = func(module string) []string {
		if at := slices.Index(way, module); at >= 0 {
			return append(slices.Clone(way[at:]), module)
		}
		if done[module] {
			return nil
		}
		way = append(way, module)
		for _, next := range includes[module] {
			if circle := visit(next); circle != nil {
				return circle
			}
		}
		way = way[:len(way)-1]
		done[module] = true
		return nil
	}
	for _, module := range slices.Sorted(maps.Keys(includes)) {
		if circle := visit(module); circle != nil {
			return circle
		}
	}
	return nil
}

func TestNativeModulesFormNoCircle(t *testing.T) {
	assert.Empty(t, includeCircle(nativeModules(t)), "modules of agent/native/src include one another in a circle")
}

func TestIncludeCircleIsFound(t *testing.T) {
	assert.Nil(t, includeCircle(map[string][]string{"a": {"b", "c"}, "b": {"c"}}))
	assert.Equal(t, []string{"b", "c", "b"}, includeCircle(map[string][]string{"a": {"b"}, "b": {"c"}, "c": {"d", "b"}}))
}

// The global pointer to the agent (agent.h) is for functions that the JVM calls without an argument from the agent; everything else
// gets what it needs as an argument.
func TestNativeGlobalIsForCallbacks(t *testing.T) {
	var users []string
	for module, includes := range nativeModules(t) {
		if slices.Contains(includes, "agent") {
			users = append(users, module)
		}
	}
	slices.Sort(users)
	assert.Equal(t, []string{"callbacks", "natives", "on_load"}, users, "modules that include agent.h")
}
