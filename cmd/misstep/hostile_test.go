package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"misstep/bundle"
	"misstep/corpus"
	"misstep/corpus/memory"
	misstepv1 "misstep/proto/misstep/v1"
)

// evil moves the cursor, rings, sets the title of a window in C1, and turns text round.
const evil = "x\x1b[2J\x1b]0;owned\x07\u009b31my\u202egnp.exe\u2066z\r"

// A bundle of somebody else has no say over the terminal of its reader, in any command that shows it.
func TestABundleThatSpeaksToTheTerminal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "evil.zip")
	writeEvil(t, path)
	for _, args := range [][]string{
		{"bundle", "show", path},
		{"bundle", "show", path, "list"},
		{"bundle", "show", path, "no" + evil},
		{"bundle", "verify", path},
		{"bundle", "diff", path, path},
		{"bundle", "diff", path, path, "--json"},
		{"replay", path},
		{"bundle", "show", evil},
	} {
		var stdout, stderr bytes.Buffer
		run(t.Context(), args, &stdout, &stderr)
		for name, text := range map[string]string{"stdout": stdout.String(), "stderr": stderr.String()} {
			at := strings.IndexFunc(text, obeyed)
			assert.Negative(t, at, "%v: %s: %.40q", args, name, text[max(0, at):])
		}
		if args[0] == "bundle" && args[1] == "show" && len(args) == 3 && args[2] == path {
			assert.Contains(t, stdout.String(), `x\u001b[2J`, "it can be seen what is there")
		}
	}
	var raw, stderr bytes.Buffer
	show := []string{"bundle", "show", path, "evidence/evil.txt"}
	require.Equal(t, exitOK, run(t.Context(), show, &raw, &stderr), stderr.String())
	assert.Equal(t, evil+"\n", raw.String(), "a file's bytes are what they are for another program")
}

// To a terminal the bytes of a file are shown, not sent.
func TestAFileOfABundleOnATerminal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "evil.zip")
	writeEvil(t, path)
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	defer master.Close()
	require.NoError(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	defer terminal.Close()
	var stderr bytes.Buffer
	show := []string{"bundle", "show", path, "evidence/evil.txt"}
	require.Equal(t, exitOK, run(t.Context(), show, terminal, &stderr), stderr.String())
	text := make([]byte, 4096)
	n, err := master.Read(text)
	require.NoError(t, err)
	assert.Equal(t, `x\u001b[2J\u001b]0;owned\u0007\u009b31my\u202egnp.exe\u2066z\u000d`+"\r\n", string(text[:n]))
}

func writeEvil(t *testing.T, path string) {
	workload := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(workload, "workload.yaml"), []byte("name: w\n"), 0o644))
	store := memory.New()
	evidence, size, err := store.Put(t.Context(), strings.NewReader(evil+"\n"), corpus.Digest{})
	require.NoError(t, err)
	file, err := os.Create(path)
	require.NoError(t, err)
	defer file.Close()
	frames := []*misstepv1.Frame{{ClassName: "a." + evil, Method: evil, Descriptor_: "()V"}}
	require.NoError(t, bundle.Write(t.Context(), file, bundle.Contents{
		Workload: workload, Agent: t.TempDir(), Evidence: store,
		Reproducer: &misstepv1.Reproducer{
			Finding: &misstepv1.Finding{
				Id: "F0123456789ab", Title: "gst-asgct: " + evil, Hits: 1,
				Signature: &misstepv1.Signature{Kind: "mismatch", Parts: []string{"gst-asgct", "truncated", evil}},
				Example: &misstepv1.Outcome{
					Kind: misstepv1.OutcomeKind_OUTCOME_KIND_MISMATCHES,
					Mismatches: []*misstepv1.Mismatch{{
						Check: "gst-asgct", Kind: "truncated", Thread: evil,
						Reference: &misstepv1.Trace{Source: "gst", Frames: frames, NumFrames: 1},
						Suspect:   &misstepv1.Trace{Source: "asgct"},
					}},
				},
				Rates: []*misstepv1.FindingRate{{Jdk: evil, Workload: "w", Hits: 1, Trials: 1}},
			},
			Recipe: &misstepv1.Recipe{
				Jdk:      &misstepv1.Jdk{Name: "17", Digest: corpus.DigestBytes([]byte("17")).String(), Version: evil},
				Workload: &misstepv1.Workload{Name: "w"},
			},
			Evidence: []*misstepv1.Evidence{{Name: "evil.txt", Digest: evidence.String(), Size: uint64(size)}},
		},
		Command: bundle.Command{
			AgentOptions: "seed=42,gst-asgct=1", Wall: time.Minute, MinFeature: 17, Invocation: []string{"Main"},
		},
	}))
}

// What is made visible in JSON means what it meant, and characters that come in pieces stay whole.
func TestVisibleOutput(t *testing.T) {
	var b bytes.Buffer
	o := &output{Writer: &b}
	text, err := json.Marshal(evil + "é\u00a0ü")
	require.NoError(t, err)
	for i := range text {
		n, err := o.Write(text[i : i+1])
		require.NoError(t, err)
		assert.Equal(t, 1, n)
	}
	o.end()
	assert.Negative(t, strings.IndexFunc(b.String(), obeyed))
	var back string
	require.NoError(t, json.Unmarshal(b.Bytes(), &back))
	assert.Equal(t, evil+"é\u00a0ü", back)
	b.Reset()
	_, _ = o.Write([]byte("\x9b\xe2\x80"))
	o.end()
	assert.Equal(t, "\ufffd\ufffd", strings.ReplaceAll(b.String(), "\ufffd\ufffd\ufffd", "\ufffd\ufffd"))
}
