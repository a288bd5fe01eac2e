package jvm_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"

	"misstep/agent"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner/jvm"
	"misstep/workloads"
)

// A bundle's script starts the JVM that was measured: one without instrumentation where no check asks for it.
func TestBundleCommandInstrumentsAsTheTrialDid(t *testing.T) {
	manifest := workloads.Manifest{Name: "w", Main: "M", Classpath: []string{"."}}
	for check, want := range map[string]bool{
		"gst-asgct": true, "asgct-shadow": true, "asgct-gst-bracket": false,
		"liveness": false,
	} {
		command, err := jvm.BundleCommand(&misstepv1.Recipe{Seed: 7, Checks: []*misstepv1.Check{{Name: check, Share: 1}}},
			t.TempDir(), manifest)
		require.NoError(t, err)
		assert.Contains(t, command.AgentOptions, "seed=7")
		assert.Equal(t, want, command.Instruments, check)
	}
}

// Every setting of a check is an option of the agent's.
func TestAgentOptionsOfChecks(t *testing.T) {
	o := agent.OptionsOf(&misstepv1.Recipe{Checks: []*misstepv1.Check{
		{Name: "asgct-shadow", Share: 0.5, Reference: "trace:0.1"},
		{Name: "gst-asgct"},
		{Name: "liveness", Interval: durationpb.New(20 * time.Millisecond)},
	}}, "/out")
	assert.Equal(t, map[string]float64{"asgct-shadow": 0.5, "gst-asgct": 0.001, "liveness": 1}, o.Checks)
	assert.Equal(t, "trace:0.1", o.Reference)
	assert.Contains(t, o.String(), "liveness=20")
}
