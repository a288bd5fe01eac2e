package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const listed = `{"ImportPath": "m/a", "Dir": "/r/a", "Deps": ["fmt"]}
{"ImportPath": "m/a.test", "Dir": "/r/a", "Deps": ["fmt", "m/a [m/a.test]", "m/help"]}
{"ImportPath": "m/a [m/a.test]", "ForTest": "m/a", "Dir": "/r/a", "Deps": ["fmt"]}
{"ImportPath": "m/b", "Dir": "/r/b", "Deps": ["m/a"]}
{"ImportPath": "m/help", "Dir": "/r/help"}
{"ImportPath": "m/only.test", "Dir": "/r/only", "Deps": ["m/b"]}
{"ImportPath": "m/only_test [m/only.test]", "ForTest": "m/only", "Dir": "/r/only"}
`

func TestTouched(t *testing.T) {
	packages, err := parse([]byte(listed), "/r")
	require.NoError(t, err)
	for name, c := range map[string]struct{ files, changed, imports []string }{
		"nothing":               {nil, nil, nil},
		"a package":             {[]string{"a/x.go"}, []string{"m/a"}, []string{"m/b"}},
		"test data":             {[]string{"a/testdata/deep/x.txt"}, []string{"m/a"}, []string{"m/b"}},
		"what tests import":     {[]string{"help/h.go"}, []string{"m/help"}, []string{"m/a"}},
		"what only tests use":   {[]string{"b/b.go"}, []string{"m/b"}, []string{"m/only"}},
		"files without package": {[]string{"README.md", "docs/x.md"}, nil, nil},
	} {
		changed, imports := touched(packages, c.files)
		require.Equal(t, c.changed, changed, name)
		require.Equal(t, c.imports, imports, name)
	}
	_, err = parse([]byte("{"), "/r")
	require.Error(t, err)
}

func TestThisCheckout(t *testing.T) {
	require.ErrorContains(t, run(nil, nil), "usage")
	require.ErrorContains(t, run([]string{"no-such-commit"}, nil), "git merge-base")
}
