package jvm

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"misstep/agent"
	"misstep/internal/testenv"
)

// A JDK starts as a trial's does, with nothing left behind; what is wrong is named.
func TestStarts(t *testing.T) {
	artefacts, err := agent.Find(testenv.Agent(t))
	require.NoError(t, err)
	entry := testenv.Catalogued(t, "jdk17")
	e := &Executor{Agent: artefacts, Scratch: t.TempDir(), PatchCache: t.TempDir()}
	require.NoError(t, e.Starts(t.Context(), entry.Path, entry.Feature, entry.Digest))
	require.NoError(t, e.CheckCgroups())

	broken := e.Agent
	broken.Library = filepath.Join(t.TempDir(), "libmisstep.so")
	require.NoError(t, os.WriteFile(broken.Library, []byte("no library"), 0o644))
	e2 := &Executor{Agent: broken, Scratch: e.Scratch, PatchCache: e.PatchCache}
	err = e2.Starts(t.Context(), entry.Path, entry.Feature, entry.Digest)
	require.ErrorContains(t, err, "java -version ended with code 1")
	require.ErrorContains(t, err, "libmisstep.so")

	fake := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(fake, "bin"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(fake, "bin", "java"), []byte("#!/bin/sh\nexit 0\n"), 0o755))
	e3 := &Executor{Scratch: e.Scratch}
	require.NoError(t, e3.Starts(t.Context(), fake, 17, "sha256:0"), "without an agent only the JVM counts")
	e4 := &Executor{Agent: artefacts, Scratch: e.Scratch, PatchCache: e.PatchCache}
	require.ErrorContains(t, e4.Starts(t.Context(), fake, 17, "sha256:0"), "misstep.agent.Patch")

	left, err := os.ReadDir(e.Scratch)
	require.NoError(t, err)
	require.Empty(t, left)
}
