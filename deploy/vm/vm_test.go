package vm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/deploy/vm/initramfs"
	"misstep/deploy/vm/kernel"
	"misstep/deploy/vm/wire"
)

func TestArgumentsOfADeterministicMachine(t *testing.T) {
	m := &machine{
		mode: ModeDeterministic, cpus: 1, memory: 512, seed: 18446744073709551615, scratch: "/s", kernel: "/k",
		initrd: "/i", replayFile: "/r",
	}
	line := strings.Join(m.arguments(3, ""), " ")
	for _, want := range []string{
		"-accel tcg,thread=single", "-icount shift=0,sleep=off,rr=record,rrfile=/r", "-seed 18446744073709551615", "-smp 1",
		"-nic none", "-sandbox on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny",
		"clock=vm", "ioeventfd=off", "-kernel /k -initrd /i", "nokaslr",
	} {
		assert.Contains(t, line, want)
	}
	assert.NotContains(t, line, "vhost-user-fs")
	m.replays = true
	assert.Contains(t, strings.Join(m.arguments(3, ""), " "), "rr=replay")
}

func TestArgumentsOfASharedMachine(t *testing.T) {
	m := &machine{mode: ModeShared, accel: AccelTCG, cpus: 2, memory: 512, scratch: "/s"}
	line := strings.Join(m.arguments(3, "/s/share.sock"), " ")
	for _, want := range []string{"-accel tcg,thread=single", "-smp 2", "path=/s/share.sock", "share=on", "-nic none"} {
		assert.Contains(t, line, want)
	}
	assert.NotContains(t, line, "icount")
	m.accel = AccelKVM
	assert.Contains(t, strings.Join(m.arguments(3, ""), " "), "-accel kvm -cpu host")
}

func TestPathsWithCommas(t *testing.T) {
	m := &machine{mode: ModeDeterministic, scratch: "/s", kernel: "/a,b/k", initrd: "/i", replayFile: "/a,b/r"}
	line := strings.Join(m.arguments(3, ""), " ")
	assert.Contains(t, line, "rr=record,rrfile=/a,,b/r ")
	assert.Contains(t, line, "-kernel /a,b/k ")
	m.replays = true
	assert.Contains(t, strings.Join(m.arguments(3, ""), " "), "rr=replay,rrfile=/a,,b/r ")
	shared := &machine{mode: ModeShared, scratch: "/s"}
	assert.Contains(t, strings.Join(shared.arguments(3, "/a,b/share.sock"), " "), "path=/a,,b/share.sock ")
}

func TestConfigRefusesContradictions(t *testing.T) {
	for problem, c := range map[string]Config{
		"no mode given":     {},
		"cannot use KVM":    {Mode: ModeDeterministic, Accel: AccelKVM},
		"deterministic":     {Mode: ModeShared, Record: "x"},
		"is not absolute":   {Mode: ModeShared, Dir: "relative"},
		"MiB of memory":     {Mode: ModeShared, Memory: 1},
		"trees are for the": {Mode: ModeShared, Trees: []Tree{{Host: "/"}}},
	} {
		_, err := Run(t.Context(), c, []string{"true"}, nil, nil)
		require.ErrorContains(t, err, problem)
	}
	_, err := Run(t.Context(), Config{Mode: ModeShared}, nil, nil, nil)
	require.ErrorContains(t, err, "no command")
}

func TestMissingProgramsAreNamedWithARemedy(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := Run(t.Context(), Config{Mode: ModeDeterministic, Home: t.TempDir()}, []string{"true"}, nil, nil)
	require.ErrorIs(t, err, ErrUnavailable)
	require.ErrorContains(t, err, "install the package qemu-system-x86")
	_, _, err = findBusybox()
	require.ErrorContains(t, err, "install the package busybox-static")

	checks := Doctor(t.Context(), t.TempDir())
	require.NotEmpty(t, checks)
	for _, c := range checks {
		if !c.OK {
			assert.NotEmpty(t, c.Remedy, c.Name)
			assert.NotEmpty(t, c.Detail, c.Name)
		}
	}
	assert.Equal(t, "qemu", checks[0].Name)
	assert.False(t, checks[0].OK)
}

func TestSuites(t *testing.T) {
	home := t.TempDir()
	c := Config{Home: home, Suite: kernel.Testing}
	assert.Equal(t, filepath.Join(home, "cache", "vm", "kernel"), c.kernels().Cache)
	assert.Equal(t, kernel.Testing, c.kernels().Suite)
	assert.NotEqual(t, probePath(Config{Home: home}), probePath(c), "KVM may boot the one kernel and not the other")

	detail := func() string {
		for _, check := range Doctor(t.Context(), home) {
			if check.Name == "kernel with sched_ext" {
				return check.Detail
			}
		}
		return ""
	}
	for folder, release := range map[string]string{"kernel-testing": "7.2.12", "kernel": "7.2.13"} {
		dir := filepath.Join(home, "cache", "vm", folder, "1")
		require.NoError(t, os.MkdirAll(dir, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "kernel.json"), []byte(`{"version": "1", "release": "`+release+`"}`),
			0o644))
	}
	assert.Equal(t, "7.2.13 (cached); testing: 7.2.12", detail())
	require.NoError(t, os.RemoveAll(filepath.Join(home, "cache", "vm", "kernel")))
	assert.NotContains(t, detail(), "7.2.12", "machines boot sid's by default")
}

// The next attempt may use the same name, and an existing folder is never taken over.
func TestFailedMachineLeavesNoRecording(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	c := Config{Mode: ModeDeterministic, Home: t.TempDir(), Record: filepath.Join(t.TempDir(), "recording")}
	_, err := Run(t.Context(), c, []string{"true"}, nil, nil)
	require.ErrorIs(t, err, ErrUnavailable)
	assert.NoDirExists(t, c.Record)

	require.NoError(t, os.MkdirAll(filepath.Join(c.Record, "mine"), 0o755))
	_, err = Run(t.Context(), c, []string{"true"}, nil, nil)
	require.ErrorIs(t, err, os.ErrExist)
	assert.DirExists(t, filepath.Join(c.Record, "mine"))
}

func TestEnvironmentLastSettingCounts(t *testing.T) {
	env := environment(Config{Mode: ModeDeterministic, Env: []string{"A=1", "A=2", "HOME=/h"}})
	assert.Contains(t, env, "A=2")
	assert.NotContains(t, env, "A=1")
	assert.Contains(t, env, "HOME=/h")
	assert.IsIncreasing(t, env)
}

func TestLibrariesOfAProgram(t *testing.T) {
	l := newLibraries()
	l.add("/bin/sh")
	found := strings.Join(l.closure(), " ")
	assert.Contains(t, found, "libc.so.6")
	assert.Contains(t, found, "ld-linux-x86-64.so.2")
	none := newLibraries()
	none.add(guestPath)
	assert.Empty(t, none.closure(), "a static program needs nothing")
}

func TestReadRecordingRefuses(t *testing.T) {
	dir := t.TempDir()
	for text, problem := range map[string]string{
		"{":                                  "unexpected end",
		`{"version": 9}`:                     "of version 9",
		`{"version": 1, "memory": 512}`:      "lists no vmlinuz",
		`{"version": 1, "memory": -1}`:       "-1 MiB of memory",
		`{"version": 1, "memory": 99999999}`: "99999999 MiB of memory",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, recordingMeta), []byte(text), 0o644))
		_, err := ReadRecording(dir)
		require.ErrorContains(t, err, problem)
	}
	data, err := json.Marshal(Recording{
		Version: 1, QEMU: "another", Memory: 512,
		Files: map[string]string{"vmlinuz": "x", "initrd.zst": "x", "replay.bin": "x"},
	})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, recordingMeta), data, 0o644))
	_, err = Replay(t.Context(), dir, ReplayConfig{}, nil, nil)
	require.ErrorIs(t, err, ErrUnavailable)
}

func TestReplayLimitFollowsTheRecordedTime(t *testing.T) {
	assert.Equal(t, 30*time.Minute, Recording{}.limit())
	assert.Equal(t, 30*time.Minute, Recording{Run: time.Second}.limit())
	// A JVM that hung for the default limit of a trial.
	assert.Equal(t, 10*time.Minute+120*2*time.Minute, Recording{Run: 2 * time.Minute}.limit())
}

func TestUnpackReversesPack(t *testing.T) {
	dir := t.TempDir()
	from, packed, to := filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "c")
	require.NoError(t, os.WriteFile(from, bytes.Repeat([]byte("text"), 1<<16), 0o644))
	digest, err := pack(packed, from)
	require.NoError(t, err)
	again, err := unpack(to, packed)
	require.NoError(t, err)
	assert.Equal(t, digest, again)
	info, err := os.Stat(packed)
	require.NoError(t, err)
	assert.Less(t, info.Size(), int64(1<<12))
}

// stream writes frames as a guest would.
func stream(t testing.TB, frames ...wire.Frame) []byte {
	t.Helper()
	var out []byte
	for _, f := range frames {
		var err error
		out, err = wire.Append(out, f)
		require.NoError(t, err)
	}
	return out
}

var hello = wire.Frame{Kind: wire.KindHello, Payload: []byte{wire.Version}}

func TestReceiverRefusesInvalidSequences(t *testing.T) {
	file := func(name string) wire.Frame {
		return wire.Frame{Kind: wire.KindFile, Payload: wire.Encode(wire.FileHeader{Name: name})}
	}
	exit := wire.Frame{Kind: wire.KindExit, Payload: wire.Encode(wire.Exit{Code: 1})}
	for name, frames := range map[string][]wire.Frame{
		"no greeting":     {exit},
		"two greetings":   {hello, hello},
		"after the exit":  {hello, exit, exit},
		"climbing":        {hello, file("../x")},
		"absolute":        {hello, file("/x")},
		"no name":         {hello, file("")},
		"itself":          {hello, file(".")},
		"data of no file": {hello, {Kind: wire.KindData, Payload: []byte("x")}},
		"end of no file":  {hello, {Kind: wire.KindFileEnd}},
		"file in file":    {hello, file("a"), file("b")},
		"too much evidence": {
			hello, file("a"),
			{Kind: wire.KindData, Payload: []byte("12345678")},
			{Kind: wire.KindFileEnd},
			file("b"),
			{Kind: wire.KindData, Payload: []byte("123")},
		},
		"bad exit": {hello, {Kind: wire.KindExit, Payload: []byte("{")}},
	} {
		r := receiver{dir: t.TempDir(), maxEvidence: 10}
		require.ErrorIs(t, r.receive(bytes.NewReader(stream(t, frames...))), wire.ErrCorrupt, name)
	}
	r := receiver{}
	err := r.receive(bytes.NewReader(stream(t, wire.Frame{Kind: wire.KindHello, Payload: []byte{wire.Version + 1}})))
	require.ErrorIs(t, err, wire.ErrVersion)
}

func TestReceiverFollowsNoLinkOut(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "link")))
	r := receiver{dir: dir, maxEvidence: 1 << 20}
	err := r.receive(bytes.NewReader(stream(t, hello, wire.Frame{
		Kind:    wire.KindFile,
		Payload: wire.Encode(wire.FileHeader{Name: "link/x"}),
	})))
	require.ErrorContains(t, err, "keeping evidence")
	entries, err := os.ReadDir(outside)
	require.NoError(t, err)
	assert.Empty(t, entries)
}

func FuzzReceiver(f *testing.F) {
	f.Add(stream(f, hello, wire.Frame{Kind: wire.KindStdout, Payload: []byte("x")},
		wire.Frame{Kind: wire.KindExit, Payload: wire.Encode(wire.Exit{})}))
	f.Add(stream(
		f, hello, wire.Frame{Kind: wire.KindFile, Payload: wire.Encode(wire.FileHeader{Name: "a/../../b"})},
		wire.Frame{Kind: wire.KindData, Payload: []byte("x")}, wire.Frame{Kind: wire.KindFileEnd},
	))
	f.Fuzz(func(t *testing.T, data []byte) {
		parent := t.TempDir()
		dir := filepath.Join(parent, "evidence")
		require.NoError(t, os.Mkdir(dir, 0o755))
		r := receiver{dir: dir, maxEvidence: 1 << 20}
		_ = r.receive(bytes.NewReader(data))
		entries, err := os.ReadDir(parent)
		require.NoError(t, err)
		require.Len(t, entries, 1, "something was written outside the folder")
	})
}

func TestLimitIsReportedAsSuch(t *testing.T) {
	// A program that replaces qemu and never prints anything.
	sleeper := filepath.Join(t.TempDir(), "qemu")
	require.NoError(t, os.WriteFile(sleeper, []byte("#!/bin/sh\nsleep 1000\n"), 0o755))
	m := &machine{qemu: sleeper, scratch: t.TempDir(), mode: ModeDeterministic, cpus: 1, memory: 512, pin: -1, log: t.Logf}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, ErrLimit)
	defer cancel()
	_, err := m.run(ctx, "", nil, nil)
	require.ErrorIs(t, err, ErrLimit)

	// And one that fails at once.
	require.NoError(t, os.WriteFile(sleeper, []byte("#!/bin/sh\necho no such accelerator >&2\nexit 1\n"), 0o755))
	_, err = m.run(t.Context(), "", nil, nil)
	require.ErrorIs(t, err, ErrDied)
	require.ErrorContains(t, err, "no such accelerator")
}

func TestConsoleEndBeginsAtThePanic(t *testing.T) {
	noise := strings.Repeat("noise\r\n", 30)
	assert.Equal(t, "Kernel panic: why\n  trace", consoleEnd(noise+"[ 1.0] Kernel panic: why\r\ntrace"))
	assert.True(t, strings.HasPrefix(consoleEnd(noise+"Kernel panic: why\n"+noise), "Kernel panic: why\n"))
	assert.Equal(t, "[ 4.6] BUG: unable to handle page fault\n  RIP: f+0x1\n  Kernel panic: why",
		consoleEnd(noise+"[ 4.6] BUG: unable to handle page fault\r\nRIP: f+0x1\r\nKernel panic: why"), "what it panicked of")
	assert.Equal(t, "a\n  b", consoleEnd("a\nb"))
}

// The same files must give the same machine, or virtual time would repeat nothing.
func TestUserlandIsWrittenInOneOrder(t *testing.T) {
	if _, _, err := findBusybox(); err != nil {
		t.Skip(err)
	}
	tree := t.TempDir()
	for _, name := range []string{"a", "b", "c"} {
		require.NoError(t, os.WriteFile(filepath.Join(tree, name), []byte(name), 0o644))
	}
	seen := map[string]bool{}
	for range 12 {
		h := sha256.New()
		w := initramfs.NewWriter(h)
		require.NoError(t, writeUserland(w, []Tree{{Host: tree}}))
		require.NoError(t, w.Close())
		seen[sum(h)] = true
	}
	assert.Len(t, seen, 1)
}

func TestModesHaveTheExecutorsNamesAndTheFormerOnes(t *testing.T) {
	for name, want := range map[string]Mode{
		"vm": ModeShared, "shared": ModeShared, "vm-deterministic": ModeDeterministic, "deterministic": ModeDeterministic,
	} {
		mode, err := ParseMode(name)
		require.NoError(t, err)
		assert.Equal(t, want, mode)
	}
	assert.Equal(t, "vm", ModeShared.String())
	assert.Equal(t, "vm-deterministic", ModeDeterministic.String())
	_, err := ParseMode("host")
	require.ErrorContains(t, err, `mode "host": expected vm or vm-deterministic`)
}

// A guest that writes to its console without an end is ended, as is one that has ended.
func TestAConsoleThatGrowsTooLong(t *testing.T) {
	path := filepath.Join(t.TempDir(), consoleName)
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.NoError(t, os.Truncate(path, maxConsole+1))
	running := &process{done: make(chan struct{})}
	ctx, end := context.WithCancelCause(t.Context())
	endLongConsole(running, path, end)
	require.ErrorIs(t, context.Cause(ctx), ErrDied)
	require.ErrorContains(t, context.Cause(ctx), "its console has more than 32 MiB")
	read, err := readConsole(path)
	require.NoError(t, err)
	assert.Len(t, read, maxConsole)

	require.NoError(t, os.Truncate(path, maxConsole))
	close(running.done)
	ctx, end = context.WithCancelCause(t.Context())
	defer end(nil)
	endLongConsole(running, path, end)
	require.NoError(t, ctx.Err())
}
