package perturb

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/agent"
	misstepv1 "misstep/proto/misstep/v1"
)

// A JVM that crashes may leave anything in its schedule, which is mapped into its memory. What it did is then not proved, and
// its crash still is one.
func TestDamagedScheduleIsNoFailureOfOurs(t *testing.T) {
	for name, schedule := range map[string][]byte{"none": nil, "empty": {}, "overwritten": bytes.Repeat([]byte{0xf1}, 1<<20)} {
		out := t.TempDir()
		p := &misstepv1.Perturbation{Strategy: "chaos", Seed: 3, Mechanism: misstepv1.MechanismAgent}
		var log bytes.Buffer
		session, err := Agent{}.Begin(t.Context(), Trial{Perturbation: p, AgentOut: out, Log: &log})
		require.NoError(t, err)
		if schedule != nil {
			require.NoError(t, os.WriteFile(filepath.Join(out, agent.FileSchedule), schedule, 0o644))
		}
		report, err := session.End()
		require.NoError(t, err, name)
		assert.Equal(t, "chaos", report.GetStrategy())
		assert.Equal(t, uint64(3), report.GetSeed())
		assert.NotEmpty(t, Idle(report), "which makes a clean trial void")
	}
}
