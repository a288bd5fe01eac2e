package bundle

import (
	"fmt"
	"io"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/corpus"
	misstepv1 "misstep/proto/misstep/v1"
)

func TestRecordingTravelsAlong(t *testing.T) {
	c := sample(t)
	c.Recording = t.TempDir()
	writeFile(t, filepath.Join(c.Recording, "recording.json"), "{}", 0o644)
	writeFile(t, filepath.Join(c.Recording, "replay.bin"), "events", 0o644)
	c.Reproducer.Recipe.Perturbation = &misstepv1.Perturbation{Strategy: "chaos", Seed: 5}
	c.Reproducer.RecordingQemu = "QEMU emulator version 7.2"
	b, err := read(build(t, c))
	require.NoError(t, err)
	assert.Empty(t, c.Reproducer.GetRecording(), "the caller's own stays as it is")
	require.Len(t, b.Reproducer().GetRecording(), 2)
	assert.Equal(t, "replay.bin", b.Reproducer().GetRecording()[1].GetName())
	assert.Equal(t, corpus.DigestBytes([]byte("events")).String(), b.Reproducer().GetRecording()[1].GetDigest())
	text, err := b.ReadFile("recording/replay.bin")
	require.NoError(t, err)
	assert.Equal(t, "events", string(text))
	readme, err := b.ReadFile("README.md")
	require.NoError(t, err)
	assert.Contains(t, string(readme), "misstep replay --recording")
	assert.Contains(t, string(readme), "strategy chaos, seed 5")
}

func TestReadmeTellsWhatPerturbs(t *testing.T) {
	for name, test := range map[string]struct {
		change    func(c *Contents)
		says, not []string
	}{
		"nothing": {func(c *Contents) { c.Reproducer.Recipe.Perturbation = nil }, nil, []string{"erturb"}},
		"the kernel's scheduler": {
			func(c *Contents) { c.Command.Plan = []byte("plan") },
			[]string{"a scheduler in the kernel perturbed", "strategy delay, seed 77", "`run.sh` also perturbs", "--executor vm-deterministic"},
			nil,
		},
		"the agent": {
			func(c *Contents) {
				c.Command.Plan, c.Reproducer.Recipe.Perturbation.Mechanism = []byte("plan"), "agent"
			},
			[]string{"while the agent perturbed", "`run.sh` also perturbs"},
			[]string{"vm-deterministic"},
		},
		"a few decisions": {
			func(c *Contents) {
				c.Reproducer.Recipe.Perturbation.Parameters = map[string]float64{
					"from": 16, "until": 64, "spare_vm": 1, "spare_gc": 1, "spare_compiler": 0,
				}
			},
			[]string{"Only the decisions from 16 to 63 of each thread matter.", "not perturbed: gc, vm."},
			nil,
		},
		"no agent in the script's JVM": {
			func(c *Contents) {
				c.Reproducer.Finding.Signature = &misstepv1.Signature{Kind: "crash"}
				c.Command.AgentOptions, c.Command.Plan = "", []byte("plan")
			},
			[]string{"`run.sh` does not perturb", "--executor vm-deterministic"},
			[]string{"perturb.bin"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := sample(t)
			c.Reproducer.Recipe.Seed = 77
			c.Reproducer.Recipe.Perturbation = &misstepv1.Perturbation{Strategy: "delay"}
			test.change(&c)
			b, err := read(build(t, c))
			require.NoError(t, err)
			readme, err := b.ReadFile("README.md")
			require.NoError(t, err)
			for _, words := range test.says {
				assert.Contains(t, string(readme), words)
			}
			for _, words := range test.not {
				assert.NotContains(t, string(readme), words)
			}
		})
	}
}

func TestRecordingsThatCannotGoIn(t *testing.T) {
	for want, change := range map[string]func(c *Contents){
		"no such file":     func(c *Contents) { c.Recording = filepath.Join(c.Recording, "gone") },
		"it has 0 files":   func(*Contents) {},
		`the folder "sub"`: func(c *Contents) { writeFile(t, filepath.Join(c.Recording, "sub", "x"), "x", 0o644) },
		"it has 17 files": func(c *Contents) {
			for i := range 17 {
				writeFile(t, filepath.Join(c.Recording, fmt.Sprint(i)), "x", 0o644)
			}
		},
		"none was given": func(c *Contents) {
			c.Recording = ""
			c.Reproducer.Recording = []*misstepv1.Evidence{{Name: "x"}}
		},
	} {
		c := sample(t)
		c.Recording = t.TempDir()
		change(&c)
		require.ErrorContains(t, Write(t.Context(), io.Discard, c), want)
	}
}

func TestForgedRecordings(t *testing.T) {
	reproducer := func(recording string) []entry {
		entries := whole(entry{name: "recording/a", text: "bytes"})
		for i := range entries {
			if entries[i].name == nameReproducer {
				entries[i].text = `{"finding":{"id":"F1"},"recipe":{"seed":"1"},"recording":[` + recording + `]}`
			}
		}
		return entries
	}
	digest := corpus.DigestBytes([]byte("bytes")).String()
	_, err := read(forge(t, reproducer(`{"name":"a","digest":"`+digest+`","size":"5"}`)...))
	require.NoError(t, err)
	for recording, want := range map[string]string{
		``: `"recording/a": reproducer.json lists no such part`,
		`{"name":"b","digest":"` + digest + `","size":"5"}`:                                                   `recording's "b" is missing`,
		`{"name":"a","digest":"` + digest + `","size":"6"}`:                                                   `recording's "a" is missing or differs`,
		`{"name":"a","digest":"sha256:00","size":"5"}`:                                                        `recording's "a" is missing or differs`,
		`{"name":"../run.sh","digest":"` + corpus.DigestBytes([]byte("x")).String() + `","size":"1"}`:         `recording's "../run.sh" is missing or differs`,
		`{"name":"a","digest":"` + digest + `","size":"5"},{"name":"a","digest":"` + digest + `","size":"5"}`: `recording's "a" is missing or differs`,
	} {
		_, err := read(forge(t, reproducer(recording)...))
		require.ErrorContains(t, err, want)
	}
}
