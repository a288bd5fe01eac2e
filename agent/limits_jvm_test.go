package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Running out of threads' slots, of stack or of disk costs checks or stops the start; it never makes a verdict wrong.

func TestMoreThreadsThanSlots(t *testing.T) {
	for _, j := range jvms(t) {
		t.Run(j.String(), func(t *testing.T) {
			out := t.TempDir()
			o := Options{Out: out, Seed: 1, Include: []string{"Crowd*"}, Checks: allChecks(0.01), Interval: time.Millisecond}
			r := run(t, j, o, []string{"-Xss256k", "-Xmx256m"}, "Crowd", "crowd", "2600")
			requireSound(t, r)
			require.Contains(t, r.output, "crowd: verified 2600")
			log, err := os.ReadFile(filepath.Join(out, "agent.log"))
			require.NoError(t, err)
			require.Contains(t, string(log), "2048 at a time have a slot")
			require.NotZero(t, r.check("gst-asgct").Void["no-slot"])
			require.NotZero(t, r.check("gst-asgct").Match)
			require.Zero(t, r.check("gst-asgct").Mismatch, "%+v", r.mismatches)
			require.Zero(t, r.check("shadow-gst").Mismatch, "%+v", r.mismatches)
		})
	}
}

func TestMoreVirtualThreadsThanShadows(t *testing.T) {
	for _, j := range jvms(t) {
		if j.feature < 21 {
			continue
		}
		out := t.TempDir()
		o := Options{Out: out, Seed: 1, Include: []string{"Virtual*"}, Checks: allChecks(0.01), Interval: time.Millisecond}
		r := run(t, j, o, nil, "Virtual", "0.1", "parked", "6000")
		requireSound(t, r)
		require.Contains(t, r.output, "virtual: verified 6000")
		log, err := os.ReadFile(filepath.Join(out, "agent.log"))
		require.NoError(t, err)
		require.Contains(t, string(log), "4096 at a time have a shadow")
		require.NotZero(t, r.check("shadow-gst").Void["no-slot"])
		require.NotZero(t, r.check("gst-asgct").Total)
		require.Zero(t, r.check("shadow-gst").Mismatch, "%+v", r.mismatches)
	}
}

func TestNoStackLeft(t *testing.T) {
	for _, j := range jvms(t) {
		t.Run(j.String(), func(t *testing.T) {
			// Slightly more than HotSpot's minimum: room for a few frames beyond its guard zones.
			r := run(t, j, Options{Seed: 1, Include: []string{"Crowd*"}, Checks: allChecks(0.01), Interval: 50 * time.Microsecond},
				[]string{"-Xss160k", "-Xmx64m"}, "Crowd", "overflow", "8")
			requireSound(t, r)
			require.Contains(t, r.output, "crowd: verified 8")
			require.NotZero(t, r.check("gst-asgct").Match)
			require.Zero(t, r.check("gst-asgct").Mismatch, "%+v", r.mismatches)
			require.Zero(t, r.check("shadow-gst").Mismatch, "%+v", r.mismatches)
			require.NotZero(t, r.status.Answered)
		})
	}
}

func TestFullDisk(t *testing.T) {
	out := t.TempDir()
	if err := unix.Mount("misstep-test", out, "tmpfs", 0, "size=512k"); err != nil {
		t.Skipf("cannot mount a small tmpfs: %v; run as root", err)
	}
	t.Cleanup(func() { require.NoError(t, unix.Unmount(out, unix.MNT_DETACH)) })
	fill := func(keep uint64) {
		var fs unix.Statfs_t
		require.NoError(t, unix.Statfs(out, &fs))
		require.NoError(t, os.WriteFile(filepath.Join(out, "ballast"), make([]byte, fs.Bavail*uint64(fs.Bsize)-keep), 0o600))
	}
	j := jvms(t)[0]
	o := Options{Out: out, Seed: 1, Include: []string{"Clinit*"}, Checks: map[string]float64{"gst-asgct": 1}}

	// Room for the flight record (144 kB) and what names the JVM, none for a mismatch.
	fill(statusFileSize&^4095 + 2*4096)
	r := run(t, j, o, compiled("Clinit*::*", "-XX:TieredStopAtLevel=1"), "Clinit")
	requireSound(t, r)
	require.NotZero(t, r.check("gst-asgct").Mismatch, "counted, though its record has no room")
	for _, m := range r.mismatches {
		require.Equal(t, "gst-asgct", m.Check, "records are whole or not there")
	}

	// No room for the flight record: the JVM does not start and prints why.
	for _, name := range []string{"ballast", "status.bin", "mismatches.jsonl", "methods.txt", "agent.log", FileAbout} {
		if err := os.Remove(filepath.Join(out, name)); err != nil {
			require.ErrorIs(t, err, os.ErrNotExist)
		}
	}
	fill(0)
	r = run(t, j, o, nil, "Clinit")
	require.Error(t, r.err)
	require.Contains(t, r.output, "status.bin: No space left on device")
	require.NotContains(t, strings.ToLower(r.output), "sigbus")
}

// Where the user has reached the limit of pending signals, the kernel refuses a real-time signal with a value; of any other signal
// it drops the value.
func TestSignalsThatTheKernelRefuses(t *testing.T) {
	for _, tt := range []struct {
		signal, reason string
	}{{"SIGRTMIN+5", "send-failed"}, {"SIGPROF", "lost"}} {
		t.Run(tt.signal, func(t *testing.T) {
			var before unix.Rlimit
			require.NoError(t, unix.Getrlimit(unix.RLIMIT_SIGPENDING, &before))
			require.NoError(t, unix.Setrlimit(unix.RLIMIT_SIGPENDING, &unix.Rlimit{Max: before.Max}))
			t.Cleanup(func() { require.NoError(t, unix.Setrlimit(unix.RLIMIT_SIGPENDING, &before)) })
			bySignal := []string{"asgct-shadow", "asgct-gst-bracket"}
			checks := map[string]float64{bySignal[0]: 1, bySignal[1]: 1, "gst-asgct": 0.01}
			o := Options{Seed: 1, Signal: tt.signal, Interval: time.Millisecond, Checks: checks}
			enough := func(r result) bool {
				void := func(check string) uint64 { return r.check(check).Void[tt.reason] }
				return void(bySignal[0]) > 0 && void(bySignal[1]) > 0 && r.check("gst-asgct").Match > 0
			}
			r := runUntil(t, built(t), jvms(t)[0], o, enough, nil, "Mixed", spent, "2")
			requireSound(t, r)
			for _, check := range bySignal {
				require.Zero(t, r.check(check).Match+r.check(check).Mismatch, "no signal was answered")
				require.NotZero(t, r.check(check).Void[tt.reason], "%+v", r.check(check))
			}
			require.NotZero(t, r.check("gst-asgct").Match, "entries need no signal")
		})
	}
}
