package guest

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/deploy/vm"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/runner/recording"
)

// A machine gets the helper and the profiler's library when the recipe needs them, and finds them where its job says.
func TestMachineOfARecipeWithAProfiler(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"helper/bin/java", "recording.jar", "profilers/libasyncProfiler.so"} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o755))
	}
	helper := recording.Helper{Java: filepath.Join(dir, "helper/bin/java"), Jar: filepath.Join(dir, "recording.jar")}
	for _, c := range []struct {
		executor, profiler, check string
		want                      job
		trees                     []string
	}{
		{Shared, "", "", job{}, nil},
		{
			Shared, recipe.ProfilerJFR, recipe.JfrChunks,
			job{HelperJava: helper.Java, HelperJar: helper.Jar},
			nil,
		},
		{Shared, recipe.ProfilerAsync, "", job{Profilers: filepath.Join(dir, "profilers")}, nil},
		{Deterministic, recipe.ProfilerJFR, "", job{}, nil},
		{
			Deterministic, recipe.ProfilerAsync, recipe.JfrChunks,
			job{HelperJava: "/trial/helper/bin/java", HelperJar: "/trial/recording/recording.jar", Profilers: "/trial/profilers"},
			[]string{"/trial/profilers/libasyncProfiler.so", "/trial/helper", "/trial/recording/recording.jar"},
		},
	} {
		e := stand(t, func(config vm.Config, command []string, _ io.Writer) (vm.Result, error) {
			path := command[2]
			var guests []string
			for _, tree := range config.Trees {
				guests = append(guests, tree.Guest)
				if tree.Guest == path {
					path = tree.Host
				}
			}
			j, err := readJob(path)
			require.NoError(t, err)
			assert.Equal(t, c.want, job{HelperJava: j.HelperJava, HelperJar: j.HelperJar, Profilers: j.Profilers}, c)
			if c.executor == Deterministic {
				guests = guests[4:] // those of any recipe
			}
			assert.Equal(t, c.trees, append([]string(nil), guests...), c)
			return leave(map[string]string{fileOutcome: `{"kind":"OUTCOME_KIND_CLEAN"}`})(config, command, io.Discard)
		})
		e.Recording, e.Profilers = helper, filepath.Join(dir, "profilers")
		r := minimal(c.executor)
		r.Profiler = &misstepv1.Profiler{Name: c.profiler}
		if c.check != "" {
			r.Checks = []*misstepv1.Check{{Name: c.check}}
		}
		_, err := e.Run(t.Context(), r, nil)
		require.NoError(t, err)
	}
}
