package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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

// stopAt cancels when what is written contains a string.
type stopAt struct {
	strings.Builder
	text string
	stop context.CancelFunc
}

func (s *stopAt) Write(p []byte) (int, error) {
	n, err := s.Builder.Write(p)
	if strings.Contains(s.String(), s.text) {
		s.stop()
	}
	return n, err
}

// What tries have shown is told when somebody interrupts them, and each try says whether it showed the finding.
func TestInterruptedTriesAreTold(t *testing.T) {
	t.Setenv("MISSTEP_HOME", testenv.Home(t))
	path := filepath.Join(testenv.Root(), "bundle", "testdata", "v1-clinit.zip")
	for _, c := range []struct{ args, stop, tried, told string }{
		{
			"replay --tries 50", "try 1 of 50", `(?m)^try 1 of 50: (not )?reproduced.*; [01] of 1 so far$`,
			` in [01] of 1 tries .*, of 50 tries asked for`,
		},
		{
			"retest --max-tries 50", "of 1 tries, at most", `; 0 of 1 retests done, \d+ %, ETA \d`,
			`interrupted: 0 of 1 reproducers were retested; on jdk25: F\w+ in [01] of 1 tries .*, of at most \d+ tries`,
		},
	} {
		ctx, stop := context.WithCancel(t.Context())
		errs := &stopAt{text: c.stop, stop: stop}
		var out strings.Builder
		args := append(strings.Fields(c.args), path, "--jdk", "jdk25")
		assert.Equal(t, exitFailed, run(ctx, args, &out, errs), "%s", &errs.Builder)
		assert.Regexp(t, c.tried, errs.String())
		assert.Regexp(t, c.told, errs.String())
		assert.NotContains(t, out.String(), "reproduced")
		stop()
	}
}

func TestTimeLeftOfRetests(t *testing.T) {
	assert.Equal(t, "0 of 4 retests done, 12 %, ETA 1m10s", retestPortion(0, 4, 0.5, 10*time.Second))
	assert.Equal(t, "3 of 4 retests done, 100 %, ETA 0s", retestPortion(3, 4, 1, 10*time.Second))
}
