package jvm_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner/jvm"
	"misstep/workloads"
)

// A bundle's script starts the JVM that was measured: one without instrumentation where no check asks for it.
func TestBundleCommandInstrumentsAsTheTrialDid(t *testing.T) {
	manifest := workloads.Manifest{Name: "w", Main: "M", Classpath: []string{"."}}
	for check, want := range map[string]bool{"gst-asgct": true, "asgct-shadow": true, "asgct-gst-bracket": false, "liveness": false} {
		command, err := jvm.BundleCommand(&misstepv1.Recipe{Seed: 7, Checks: []*misstepv1.Check{{Name: check, Share: 1}}}, t.TempDir(), manifest)
		require.NoError(t, err)
		assert.Contains(t, command.AgentOptions, "seed=7")
		assert.Equal(t, want, command.Instruments, check)
	}
}
