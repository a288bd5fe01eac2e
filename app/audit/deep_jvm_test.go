package audit_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/stretchr/testify/require"

	"misstep/app/audit"
	"misstep/app/executors"
	"misstep/app/local"
	"misstep/app/station"
	"misstep/app/submission"
	"misstep/deploy/jdk"
	"misstep/internal/faults"
	"misstep/internal/testenv"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner"
	"misstep/workloads"
)

// deepProgram is a class of 300 methods that call one another, each one of three others, until the stack is so deep.
func deepProgram(depth int) string {
	const methods = 300
	var b strings.Builder
	b.WriteString("public class Deep {\n  static volatile int sink;\n")
	for i := range methods {
		fmt.Fprintf(&b, "  static int m%d(int d, int s) {\n    if (d == 0) return leaf(s);\n    switch ((s >>> 5) %% 3) {\n", i)
		for j, step := range []int{1, 7, 53} {
			fmt.Fprintf(&b, "      case %d: return 1 + m%d(d - 1, (s * 1103515245 + 12345) & 0x7fffffff);\n", j, (i+step)%methods)
		}
		b.WriteString("    }\n    return 0;\n  }\n")
	}
	fmt.Fprintf(&b, `  static int leaf(int s) {
    for (int i = 0; i < 2000; i++) s = s * 31 + sink;
    return s;
  }
  public static void main(String[] args) throws Exception {
    Thread t = new Thread(null, () -> {
      for (int n = 0; n < Integer.parseInt(args[0]); n++) sink = m0(%d, n * 97);
    }, "deep", 64 << 20);
    t.start();
    t.join();
  }
}
`, depth)
	return b.String()
}

// deepWorkload compiles the program and returns its folder.
func deepWorkload(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	source := filepath.Join(dir, "Deep.java")
	require.NoError(t, os.WriteFile(source, []byte(deepProgram(1000)), 0o644))
	out, err := exec.CommandContext(t.Context(), testenv.Javac(t), "-nowarn", "--release", "8", "-d",
		filepath.Join(dir, "classes"), source).CombinedOutput()
	require.NoError(t, err, string(out))
	require.NoError(t, os.Remove(source))
	require.NoError(t, os.WriteFile(filepath.Join(dir, workloads.ManifestFile), []byte(
		"name: deep\nmain: Deep\nclasspath: [classes]\narguments: [\"1500\"]\nharness: program\njvm_flags: [-Xss64m]\n"), 0o644))
	return dir
}

// A JVM whose walker is wrong at hundreds of places below deep stacks, without a profiler and under each: all that its agent and
// the judges record is in findings.
func TestFaultsAtHundredsOfPlacesAreFindings(t *testing.T) {
	library := filepath.Join(testenv.Root(), "build", "agent-injector", faults.LibraryName)
	if _, err := os.Stat(library); err != nil {
		t.Skipf("no injector, run `make agent`: %v", err)
	}
	plain := testenv.Catalogued(t, "jdk17")
	scratch, remove, err := executors.Scratch("misstep-deep-")
	require.NoError(t, err)
	t.Cleanup(remove)
	wrapped := filepath.Join(scratch, "wrapped")
	require.NoError(t, faults.Wrap(wrapped, plain.Path, library, faults.Plan{
		Classes: []string{faults.DropMiddle, faults.Swap, faults.Duplicate}, Rate: 1, Trials: 1, Where: "entry",
	}))
	settings := filepath.Join("lib", "jfr") // by which a JDK is known to have JFR
	require.NoError(t, os.CopyFS(filepath.Join(wrapped, settings), os.DirFS(filepath.Join(plain.Path, settings))))
	i := local.Installation{Home: filepath.Join(scratch, "home"), AgentDir: testenv.Agent(t)}
	_, err = i.JDKs().Add(t.Context(), "jdk17", wrapped, jdk.AddOptions{})
	require.NoError(t, err)
	_, err = i.Workloads().Add(t.Context(), deepWorkload(t), workloads.AddOptions{})
	require.NoError(t, err)

	file := filepath.Join(scratch, "deep.yaml")
	require.NoError(t, os.WriteFile(file, []byte(`name: deep
jdks: [jdk17]
workloads: [{name: deep}]
profiler: [{name: none}, {name: jfr, interval: 1ms}, {name: async-profiler, interval: 1ms, options: [cstack=no]}]
checks: [{name: gst-asgct, share: 0.0003}]
limits: {wall: 300s, stack_depth: 2048, memory_mib: 4096}
budget: {trials: 3}
`), 0o644))
	request, _, err := submission.Load(t.Context(), i, file)
	require.NoError(t, err)
	st, err := station.Embed(t.TempDir(), station.HuntTiming(slog.New(slog.DiscardHandler)))
	require.NoError(t, err)
	t.Cleanup(st.Close)
	submitted, err := st.SubmitCampaign(t.Context(), request)
	require.NoError(t, err)
	executor, err := executors.Host(i, st.Blobs, filepath.Join(scratch, "trials"))
	require.NoError(t, err)
	executor.Sandbox, err = faults.Unconfined()
	require.NoError(t, err)
	r, err := runner.New(runner.Config{
		Client: st.Leases, Executor: executor, Slots: 1, Host: "deep", AgentDigest: executor.Agent.Digest,
		Capabilities: executor.Capabilities(),
		Backoff:      func() backoff.BackOff { return backoff.NewConstantBackOff(20 * time.Millisecond) },
	})
	require.NoError(t, err)
	working, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(working) }()
	require.NoError(t, station.WatchCampaign(t.Context(), st, submitted.GetCampaignId(), func(*misstepv1.CampaignStatus) {}))
	stop()
	require.ErrorIs(t, <-done, context.Canceled)

	report, err := audit.Run(t.Context(), st)
	require.NoError(t, err)
	t.Logf("%d records, %d signatures, without a record: %v, left out: %d, damaged: %d", report.Records, report.Signatures,
		report.Unrecorded, report.LeftOut, report.Damaged)
	require.Empty(t, report.Missing)
	require.Zero(t, report.LeftOut)
	require.Zero(t, report.Damaged)
	require.Equal(t, 3, report.Trials)
	require.GreaterOrEqual(t, report.Signatures, 500)
}
