package vm

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/deploy/vm/wire"
)

// clockReader replaces qemu: it records LD_PRELOAD and the time that gettimeofday returns to a program, and sends the frames of a
// guest whose command succeeded.
const clockReader = `#!/bin/bash
if [ "$1" = --version ]; then
  echo "no qemu"
  exit
fi
dir=${0%/*}
echo "$EPOCHREALTIME $LD_PRELOAD" >"$dir/read"
for argument; do
  case $argument in *rrfile=*) echo log >"${argument##*rrfile=}" ;; esac
done
cat "$dir/frames" >&3
`

// readClock replaces qemu by clockReader for the test and returns a function that runs run and returns what clockReader recorded.
func readClock(t *testing.T) func(run func() error) (now, preload string) {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	exit := wire.Frame{Kind: wire.KindExit, Payload: wire.Encode(wire.Exit{})}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "frames"), stream(t, hello, exit), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "qemu-system-x86_64"), []byte(clockReader), 0o755))
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Setenv("LC_ALL", "C")
	t.Setenv("LD_PRELOAD", "")
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "a: b")) // LD_PRELOAD cannot contain such a path
	require.NoError(t, os.Mkdir(os.Getenv("TMPDIR"), 0o755))
	return func(run func() error) (string, string) {
		t.Helper()
		require.NoError(t, run())
		read, err := os.ReadFile(filepath.Join(dir, "read"))
		require.NoError(t, err)
		now, preload, _ := strings.Cut(strings.TrimSpace(string(read)), " ")
		return now, preload
	}
}

// stopped is the time that the library always returns, which is when the guest's clock begins: 2026-01-01.
const stopped = "1767225600.000000"

func TestClockStandsStillInDeterministicMachinesOnly(t *testing.T) {
	config := machineConfig(t, ModeDeterministic)
	config.Record = filepath.Join(t.TempDir(), "recording")
	read := readClock(t)
	assertStopped := func(run func() error) {
		t.Helper()
		now, preload := read(run)
		assert.Equal(t, stopped, now)
		assert.Equal(t, "./"+clockName, preload)
	}
	assertRunning := func(run func() error) {
		t.Helper()
		now, preload := read(run)
		assert.NotEmpty(t, now)
		assert.NotEqual(t, stopped, now)
		assert.Empty(t, preload)
	}
	boot := func() error {
		_, err := Boot(t.Context(), config, []string{"true"}, nil, nil)
		return err
	}
	replay := func() error {
		_, err := Replay(t.Context(), config.Record, ReplayConfig{}, nil, nil)
		return err
	}
	assertStopped(boot)
	assertStopped(replay)

	kept, err := ReadRecording(config.Record)
	require.NoError(t, err)
	assert.True(t, kept.StoppedClock)
	text, err := json.Marshal(kept)
	require.NoError(t, err)
	// As written by version 1, which had no such field.
	text = bytes.Replace(text, []byte(`"stopped_clock":true,`), nil, 1)
	text = bytes.Replace(text, []byte(`"version":2`), []byte(`"version":1`), 1)
	require.NoError(t, os.WriteFile(filepath.Join(config.Record, recordingMeta), text, 0o644))
	assertRunning(replay)

	config.Record = ""
	assertStopped(boot)
	t.Run("shared", func(t *testing.T) {
		config = machineConfig(t, ModeShared)
		config.Accel, config.Dir = AccelTCG, "/"
		assertRunning(boot)
	})
}

func TestClockIsCompiledWhereNoneIsEmbedded(t *testing.T) {
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip(err)
	}
	path := filepath.Join(t.TempDir(), clockName)
	require.NoError(t, compileClock(t.Context(), path))
	cmd := exec.Command("bash", "-c", "echo $EPOCHREALTIME")
	cmd.Env = []string{"LC_ALL=C", "LD_PRELOAD=" + path}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err)
	assert.Equal(t, stopped+"\n", string(out))
	t.Setenv("PATH", t.TempDir())
	require.ErrorIs(t, compileClock(t.Context(), path), ErrUnavailable)
}

func TestAStaticQEMUIsRefused(t *testing.T) {
	m := &machine{qemu: guestPath, scratch: t.TempDir()}
	err := m.stopClock(t.Context())
	require.ErrorIs(t, err, ErrUnavailable)
	require.ErrorContains(t, err, "statically linked")
	assert.False(t, m.clock)
}

// The loader starts a program even if it cannot load the library, so the machine must check.
func TestAMachineWhoseClockCannotBeStoppedIsRefused(t *testing.T) {
	read := readClock(t)
	m := &machine{mode: ModeDeterministic, cpus: 1, memory: 512, pin: -1, scratch: t.TempDir(), log: t.Logf, clock: true}
	var err error
	m.qemu, err = findQEMU()
	require.NoError(t, err)
	now, _ := read(func() error {
		_, err = m.run(t.Context(), "", nil, nil)
		return nil
	})
	assert.NotEqual(t, stopped, now)
	require.ErrorIs(t, err, ErrUnavailable)
	require.ErrorContains(t, err, "set TMPDIR")
}
