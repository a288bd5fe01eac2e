package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"misstep/recipe"
)

func TestTheAgentHasTheTableOfChecks(t *testing.T) {
	committed, err := os.ReadFile(target())
	require.NoError(t, err)
	require.Equal(t, string(header(recipe.AgentChecks())), string(committed),
		"recipe/checks.go has changed: run go generate ./recipe")
}

func TestEnumerator(t *testing.T) {
	require.Equal(t, "kAsgctGstBracket", enumerator("asgct-gst-bracket"))
}
