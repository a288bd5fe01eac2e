package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"misstep/bundle"
	"misstep/internal/testenv"
	misstepv1 "misstep/proto/misstep/v1"
)

// A real build that does not know a flag of the recipe is never "fixed", however often it is tried.
func TestRetestOnABuildThatRefusesAFlag(t *testing.T) {
	t.Setenv("MISSTEP_HOME", testenv.Home(t))
	old, err := bundle.Open(filepath.Join(testenv.Root(), "bundle", "testdata", "v1-clinit.zip"))
	require.NoError(t, err)
	defer old.Close()
	dir := filepath.Join(t.TempDir(), "old")
	require.NoError(t, old.Extract(dir))
	r := proto.CloneOf(old.Reproducer())
	r.Recipe.JvmFlags = append(r.Recipe.JvmFlags, "-XX:+AFlagOfAnotherBuild")
	r.Reliability, r.Evidence = &misstepv1.Reliability{Hits: 10, Tries: 10, Low: 0.72, High: 1}, nil // needs four tries
	path := filepath.Join(t.TempDir(), "new.zip")
	f, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, bundle.Write(t.Context(), f, bundle.Contents{
		Reproducer: r, Workload: filepath.Join(dir, "workload"), Agent: filepath.Join(dir,
			"agent"), Command: bundle.Command{AgentOptions: "seed=1"},
	}))
	require.NoError(t, f.Close())

	for _, command := range []string{"retest", "replay"} {
		var out, errs strings.Builder
		args := []string{command, path, "--jdk", "jdk25"}
		if command == "replay" {
			args = append(args, "--tries", "4")
		}
		assert.Equal(t, exitFailed, run(t.Context(), args, &out, &errs), "%s: %s%s", command, &out, &errs)
		assert.Contains(t, errs.String(), "no try proved anything")
		assert.Contains(t, errs.String(), "AFlagOfAnotherBuild")
		assert.NotContains(t, out.String(), "fixed")
	}
}
