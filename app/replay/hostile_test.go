package replay

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"

	"misstep/app/local"
	"misstep/bundle"
	"misstep/corpus"
	"misstep/corpus/memory"
	misstepv1 "misstep/proto/misstep/v1"
)

// A stranger's bundle may not choose what a replay costs beyond what any trial may.
func TestLimitsOfAHostileBundle(t *testing.T) {
	for message, limits := range map[string]*misstepv1.Limits{
		"limits.wall: expected a duration":    {Wall: durationpb.New(1000 * 24 * time.Hour)},
		"limits.wall: expected":               {Wall: durationpb.New(-time.Second)},
		"limits.memory_mib: expected a":       {MemoryMib: 1<<32 - 1},
		"limits.disk_mib: expected a number":  {DiskMib: 1<<32 - 1},
		"limits.output_mib: expected a numbe": {OutputMib: 1<<32 - 1},
	} {
		var file bytes.Buffer
		require.NoError(t, bundle.Write(t.Context(), &file, bundle.Contents{
			Workload: t.TempDir(), Agent: t.TempDir(), Evidence: memory.New(),
			Reproducer: &misstepv1.Reproducer{
				Finding: &misstepv1.Finding{
					Id: "F0123456789ab", Signature: &misstepv1.Signature{Kind: "mismatch", Parts: []string{"gst-asgct", "truncated", "a"}},
				},
				Recipe: &misstepv1.Recipe{
					Jdk:      &misstepv1.Jdk{Name: "17", Digest: corpus.DigestBytes(nil).String()},
					Workload: &misstepv1.Workload{Name: "w"}, Limits: limits,
				},
			},
			Command: bundle.Command{AgentOptions: "seed=42,gst-asgct=1", Wall: time.Minute, MinFeature: 17, Invocation: []string{"Main"}},
		}))
		b, err := bundle.Read(bytes.NewReader(file.Bytes()), int64(file.Len()))
		require.NoError(t, err)
		scratch := t.TempDir()
		_, err = Prepare(t.Context(), local.Installation{Home: t.TempDir()}, b, "", scratch)
		require.ErrorContains(t, err, message)
		assert.NoDirExists(t, scratch+"/bundle", "nothing of it was unpacked")
	}
}
