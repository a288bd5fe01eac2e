package jvm

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"misstep/internal/sandbox"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

// async-profiler has SIGPROF though that has a handler already, here another copy's: the tap looks at no other signal, and a
// profiler that had moved on would have samples without a call.
func TestTheProfilerHasTheTappedSignal(t *testing.T) {
	s := withProfilers(t)
	s.Agent = withAgent(t).Agent
	library := filepath.Join(s.Profilers, "libasyncProfiler.so")
	original, err := os.Open(library)
	if err != nil {
		t.Skipf("async-profiler is not here, run `make profilers`: %v", err)
	}
	defer original.Close()
	free, err := sandbox.Policy{Mode: sandbox.None, AsRoot: true}.Open() // the other copy writes where no trial may
	require.NoError(t, err)
	s.Sandbox = free
	folder := t.TempDir()
	another, err := os.Create(filepath.Join(folder, "libanother.so"))
	require.NoError(t, err)
	_, err = io.Copy(another, original)
	require.NoError(t, err)
	require.NoError(t, another.Close())

	r := profiled(17, recipe.ProfilerAsync, "work", "1500")
	recording := filepath.Join(folder, "another.jfr")
	r.JvmFlags = append(r.JvmFlags, "-agentpath:"+another.Name()+"=start,jfr,event=ctimer,interval=10ms,file="+recording)
	r.Checks = []*misstepv1.Check{{Name: recipe.ProfilerShadow}}
	outcome, err := s.run(t, t.Context(), r)
	require.NoError(t, err)
	c := outcome.GetChecks()[0]
	t.Logf("%v: %v of %v match, void %v", outcome.GetReason(), c.GetMatch(), c.GetTotal(), c.GetVoid())
	require.FileExists(t, recording, "the other copy has started")
	require.Greater(t, c.GetMatch(), uint64(20))
	// All of them, if the profiler had moved on; 58 of 169 were seen at a load of 27.
	require.Less(t, c.GetVoid()["no-signal"], c.GetTotal()/2)
}
