package report_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/text/encoding/unicode"

	"misstep/app/report"
	"misstep/known"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/signature"
)

// crashed is an error file, shortened, of a program that reads through an address that it made up.
const crashed = `#
# A fatal error has been detected by the Java Runtime Environment:
#
#  SIGSEGV (0xb) at pc=0x00007f30d2ab9124, pid=4242, tid=4243
#
# JRE version: OpenJDK Runtime Environment (17.0.15+6) (build 17.0.15+6-Debian-1deb12u1)
# Java VM: OpenJDK 64-Bit Server VM (17.0.15+6-Debian-1deb12u1, mixed mode, sharing, tiered, compressed oops, g1 gc, linux-amd64)
# Problematic frame:
# C  [libpeek.so+0x1124]  Java_demo_Peek_at+0x14
#

---------------  T H R E A D  ---------------

Current thread (0x00007f30e802a890):  JavaThread "main" [_thread_in_native, id=4243, stack(0x00007f30ec41e000,0x00007f30ec51e000)]

Native frames: (J=compiled Java code, A=aot compiled Java code, j=interpreted, Vv=VM code, C=native code)
C  [libpeek.so+0x1124]  Java_demo_Peek_at+0x14
j  demo.Peek.at(J)J+0
j  demo.Peek.main([Ljava/lang/String;)V+4
v  ~StubRoutines::call_stub
V  [libjvm.so+0x82d5c2]  JavaCalls::call_helper(JavaValue*, methodHandle const&, JavaCallArguments*, JavaThread*)+0x392

Java frames: (J=compiled Java code, j=interpreted, Vv=VM code)
j  demo.Peek.at(J)J+0
j  demo.Peek.main([Ljava/lang/String;)V+4
v  ~StubRoutines::call_stub

siginfo: si_signo: 11 (SIGSEGV), si_code: 1 (SEGV_MAPERR), si_addr: 0x0000000000000010

END.
`

// hung is a thread dump, shortened, of two threads that wait for each other.
const hung = `2026-11-25 18:01:37
Full thread dump OpenJDK 64-Bit Server VM (17.0.15+6-Debian-1deb12u1 mixed mode, sharing):

"left" #12 prio=5 os_prio=0 cpu=0.21ms elapsed=1.50s tid=0x00007f17d40ab720 nid=0x14b0 waiting for monitor entry
   java.lang.Thread.State: BLOCKED (on object monitor)
	at demo.Cross.left(Cross.java:3)
	- waiting to lock <0x00000000fc0dd0f0> (a java.lang.Object)
	- locked <0x00000000fc0dd0e0> (a java.lang.Object)
	at java.lang.Thread.run(java.base@17.0.15/Thread.java:840)

"right" #13 prio=5 os_prio=0 cpu=0.16ms elapsed=1.50s tid=0x00007f17d40ac6b0 nid=0x14b1 waiting for monitor entry
   java.lang.Thread.State: BLOCKED (on object monitor)
	at demo.Cross.right(Cross.java:4)
	- waiting to lock <0x00000000fc0dd0e0> (a java.lang.Object)
	- locked <0x00000000fc0dd0f0> (a java.lang.Object)
	at java.lang.Thread.run(java.base@17.0.15/Thread.java:840)

"VM Thread" os_prio=0 cpu=0.84ms elapsed=1.56s tid=0x00007f17d404d380 nid=0x14a4 runnable

JNI global refs: 4, weak refs: 0


Found one Java-level deadlock:
=============================
"left":
  waiting to lock monitor 0x00007f17400016e0 (object 0x00000000fc0dd0f0, a java.lang.Object),
  which is held by "right"

"right":
  waiting to lock monitor 0x00007f17440016e0 (object 0x00000000fc0dd0e0, a java.lang.Object),
  which is held by "left"

Java stack information for the threads listed above:
===================================================
"left":
	at demo.Cross.left(Cross.java:3)
	- waiting to lock <0x00000000fc0dd0f0> (a java.lang.Object)
	- locked <0x00000000fc0dd0e0> (a java.lang.Object)
	at java.lang.Thread.run(java.base@17.0.15/Thread.java:840)
"right":
	at demo.Cross.right(Cross.java:4)
	- waiting to lock <0x00000000fc0dd0e0> (a java.lang.Object)
	- locked <0x00000000fc0dd0f0> (a java.lang.Object)
	at java.lang.Thread.run(java.base@17.0.15/Thread.java:840)

Found 1 deadlock.

`

// waiting is another thread dump of the same kind, of a program in which one thread waits for what never comes.
const waiting = `2026-11-25 18:02:40
Full thread dump OpenJDK 64-Bit Server VM (25.442-b06 mixed mode):

"reader" #12 prio=5 os_prio=0 tid=0x00007f0000001000 nid=0x1001 waiting on condition [0x00007f0000100000]
   java.lang.Thread.State: WAITING (parking)
	at sun.misc.Unsafe.park(Native Method)
	- parking to wait for  <0x0000000700000000> (a java.util.concurrent.CountDownLatch$Sync)
	at java.util.concurrent.locks.LockSupport.park(LockSupport.java:175)
	at java.util.concurrent.CountDownLatch.await(CountDownLatch.java:231)
	at demo.Pipe.take(Pipe.java:10)
	at java.lang.Thread.run(Thread.java:750)

JNI global references: 15

`

func answer(t *testing.T, name string, content []byte) ([]report.Answer, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, content, 0o600))
	answers, failed := report.Triage{Known: known.Default()}.Files([]string{path})
	for _, a := range answers {
		require.Equal(t, path, a.File)
	}
	return answers, errors.Join(failed...)
}

// one wants exactly one answer.
func one(t *testing.T, name string, content []byte) report.Answer {
	t.Helper()
	answers, err := answer(t, name, content)
	require.NoError(t, err)
	require.Len(t, answers, 1)
	return answers[0]
}

func compressed(t *testing.T, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(text)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

// A report is the same whatever it was carried in.
func TestCarriers(t *testing.T) {
	prefixed := func(prefix func(line int) string) func(string) []byte {
		return func(s string) []byte {
			var b strings.Builder
			line := 0
			for l := range strings.Lines(s) {
				line++
				b.WriteString(strings.TrimRight(prefix(line)+strings.TrimSuffix(l, "\n"), " ") + "\n")
			}
			return []byte(b.String())
		}
	}
	encoded := func(order unicode.Endianness) func(string) []byte {
		return func(s string) []byte {
			out, err := unicode.UTF16(order, unicode.UseBOM).NewEncoder().String(s)
			require.NoError(t, err)
			return []byte(out)
		}
	}
	carriers := map[string]func(string) []byte{
		"compressed":            func(s string) []byte { return compressed(t, []byte(s)) },
		"CRLF":                  func(s string) []byte { return []byte(strings.ReplaceAll(s, "\n", "\r\n")) },
		"UTF-16, little-endian": encoded(unicode.LittleEndian),
		"UTF-16, big-endian":    encoded(unicode.BigEndian),
		"UTF-8 with a mark":     func(s string) []byte { return []byte("\ufeff" + s) },
		"in a log": func(s string) []byte {
			return []byte("12:00:00 INFO started\n\"quoted\" text\n" + s + "12:00:01 INFO \"main\" ended\n")
		},
		"in a container's log": prefixed(func(int) string { return "app-1  | " }),
		"in a log with times": prefixed(func(n int) string {
			return "2026-11-25T10:00:00." + strings.Repeat("7", 1+n%6) + "Z stdout F "
		}),
		"indented": prefixed(func(int) string { return "    " }),
		"quoted":   prefixed(func(int) string { return "> " }),
		"twice":    func(s string) []byte { return []byte(s + "\n" + s) },
	}
	for what, text := range map[string]string{"crash": crashed, "deadlock": hung, "wait": waiting} {
		plain := one(t, "plain", []byte(text))
		for carrier, carry := range carriers {
			t.Run(what+" "+carrier, func(t *testing.T) {
				got := one(t, "carried", carry(text))
				assert.Equal(t, plain.Signature, got.Signature)
				assert.Equal(t, plain.ID, got.ID)
				assert.Equal(t, plain.Explanation.JVM, got.Explanation.JVM)
			})
		}
	}
}

func TestAnswer(t *testing.T) {
	a := one(t, "hs_err_pid4242.log", []byte(crashed))
	assert.Equal(t, "crash", a.Kind)
	assert.Equal(t, "crash", a.Signature[0])
	assert.Contains(t, a.Signature, "frame: C libpeek.so Java_demo_Peek_at")
	assert.Empty(t, a.KnownAs)
	assert.Contains(t, a.Explanation.JVM, "17.0.15+6")
	assert.NotEmpty(t, a.Explanation.Rule)
	assert.NotEmpty(t, a.Explanation.Reason)
	assert.Equal(t, 2, a.Explanation.Line)

	a = one(t, "threads.txt", []byte(hung))
	assert.Equal(t, "hang", a.Kind)
	assert.Equal(t, "deadlock", a.Signature[1])
	assert.Equal(t, "OpenJDK 64-Bit Server VM 17.0.15+6-Debian-1deb12u1", a.Explanation.JVM)

	assert.Equal(t, "OpenJDK 64-Bit Server VM 8u442", one(t, "threads.txt", []byte(waiting)).Explanation.JVM)
}

// The files of Thread.dump_to_file have no head that names the VM.
func TestDumpToFile(t *testing.T) {
	for file, version := range map[string]string{
		"plain-21.txt": "21.0.13+9-1-deb13u2-Debian", "plain-25.txt": "25.0.3+9-LTS", "plain-28.txt": "28-ea+18-1-Debian",
		"virtual-21.json": "21.0.13+9-1-deb13u2-Debian", "virtual-25.json": "25.0.5+8-1-deb13u1-Debian",
		"virtual-28.json": "28-ea+18-1-Debian",
	} {
		t.Run(file, func(t *testing.T) {
			content, err := os.ReadFile(filepath.Join("../../internal/threaddump/testdata", file))
			require.NoError(t, err)
			for _, content := range [][]byte{content, compressed(t, content), []byte("\ufeff" + string(content))} {
				answers, err := answer(t, file, content)
				require.NoError(t, err)
				require.NotEmpty(t, answers)
				assert.Equal(t, "hang", answers[0].Kind)
				assert.Equal(t, version, answers[0].Explanation.JVM)
				assert.Greater(t, len(answers[0].Signature), 2)
			}
		})
	}
}

// One deadlock is one finding, whichever JDK and tool dumped it; two deadlocks in a dump are two.
func TestDeadlocksOfDumps(t *testing.T) {
	of := func(file string) []report.Answer {
		content, err := os.ReadFile(filepath.Join("../../internal/threaddump/testdata", file))
		require.NoError(t, err)
		answers, err := answer(t, file, content)
		require.NoError(t, err)
		return answers
	}
	assert.Equal(t, of("plain-25.txt")[0].ID, of("plain-28.txt")[0].ID)
	var ids [][]string
	for _, file := range []string{"two-8.txt", "two-17.txt", "two-28.txt"} {
		answers := of(file)
		require.Len(t, answers, 2)
		for _, a := range answers {
			assert.Equal(t, "hang/deadlock", a.Explanation.Rule)
		}
		ids = append(ids, []string{answers[0].ID, answers[1].ID})
	}
	assert.Equal(t, ids[0], ids[1])
	assert.Equal(t, ids[0], ids[2])
}

// A crash without any symbol is not one bug.
func TestAssorted(t *testing.T) {
	head, _, _ := strings.Cut(crashed, "---------------  T H R E A D")
	bare := strings.Replace(head, "C  [libpeek.so+0x1124]  Java_demo_Peek_at+0x14", "C  0x0000000000001124", 1)
	a := one(t, "report", []byte(bare))
	assert.Equal(t, "no frame of the crash has a symbol", a.Explanation.Assorted)
	assert.Empty(t, one(t, "report", []byte(crashed)).Explanation.Assorted)
}

// A log may have several reports, each an answer.
func TestSeveralReportsInAFile(t *testing.T) {
	answers, err := answer(t, "log", []byte(waiting+hung+"12:00:01 INFO restarted\n"+crashed+waiting))
	require.NoError(t, err)
	require.Len(t, answers, 3)
	for i, text := range []string{waiting, hung, crashed} {
		assert.Equal(t, one(t, "alone", []byte(text)).ID, answers[i].ID)
	}
	assert.Equal(t, 1+strings.Count(waiting, "\n")+1, answers[1].Explanation.Line, "the line of its head")
}

// What cannot be answered is an error that names the file and says what was expected; the other files are answered.
func TestInputsThatAreNoReports(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, content, 0o600))
		return path
	}
	good := write("good", []byte(crashed))
	late := compressed(t, []byte(strings.Repeat("nothing here\n", 100_000)+crashed))
	for what, test := range map[string]struct{ path, want string }{
		"missing":      {filepath.Join(dir, "none"), "no such file"},
		"folder":       {dir, "is a directory: give the files in it"},
		"empty":        {write("empty", nil), "empty"},
		"empty gzip":   {write("empty.gz", compressed(t, nil)), "empty"},
		"text":         {write("text", []byte("main started\nall is well\n")), "neither an error file of HotSpot"},
		"binary":       {write("binary", []byte{0, 1, 2, 3, 0xff, 0xfe, 0}), "neither an error file of HotSpot"},
		"no threads":   {write("head", []byte("Full thread dump OpenJDK 64-Bit Server VM (17 mixed mode):\n\n")), "line 1: no threads"},
		"zip":          {write("zip", []byte("PK\x03\x04rest")), "a zip archive: unpack it"},
		"core":         {write("core", []byte("\x7fELF\x02\x01\x01")), "a core file"},
		"cut gzip":     {write("cut.gz", late[:len(late)/2]), "unexpected EOF"},
		"damaged gzip": {write("damaged.gz", []byte("\x1f\x8b\x08\x00garbage")), "decompress"},
	} {
		t.Run(what, func(t *testing.T) {
			answers, failed := report.Triage{}.Files([]string{test.path, good})
			require.Len(t, answers, 1)
			assert.Equal(t, good, answers[0].File)
			require.Len(t, failed, 1)
			require.ErrorContains(t, failed[0], test.want)
			assert.True(t, strings.HasPrefix(failed[0].Error(), test.path+": "), failed[0].Error())
		})
	}
	t.Run("no permission", func(t *testing.T) {
		if os.Getuid() == 0 {
			t.Skip("root may read everything")
		}
		require.NoError(t, os.Chmod(good, 0))
		_, failed := report.Triage{}.Files([]string{good})
		require.Len(t, failed, 1)
		require.ErrorIs(t, failed[0], fs.ErrPermission)
	})
	_, failed := report.Triage{}.Files([]string{dir})
	require.ErrorIs(t, failed[0], syscall.EISDIR)
}

// A compressed file that ends early may have the report, or its beginning, all the same.
func TestCutGzip(t *testing.T) {
	whole := compressed(t, []byte(crashed+strings.Repeat("nothing here\n", 100_000)))
	assert.Equal(t, one(t, "plain", []byte(crashed)).ID, one(t, "cut.gz", whole[:len(whole)/2]).ID)
}

// Early updates of JDK 6 have another first line.
func TestOldHead(t *testing.T) {
	old := strings.Replace(crashed, "A fatal error has been detected by the Java Runtime Environment",
		"An unexpected error has been detected by Java Runtime Environment", 1)
	assert.Equal(t, one(t, "new", []byte(crashed)).ID, one(t, "old", []byte(old)).ID)
}

func TestStdin(t *testing.T) {
	answers, failed := report.Triage{Stdin: strings.NewReader(hung)}.Files([]string{report.Stdin})
	require.Empty(t, failed)
	require.Len(t, answers, 1)
	assert.Equal(t, "-", answers[0].File)
}

// A report of which the end is missing is the finding of the one report that completes it, in the same file, in another one or in a
// store, in any order.
func TestCutReports(t *testing.T) {
	whole := one(t, "whole", []byte(crashed))
	head, _, _ := strings.Cut(crashed, "#\n\n---------------  T H R E A D")
	cut := one(t, "cut", []byte(head))
	require.NotEqual(t, whole.ID, cut.ID, "by itself it is a finding that knows less")
	dir := t.TempDir()
	a, b := filepath.Join(dir, "whole"), filepath.Join(dir, "cut")
	require.NoError(t, os.WriteFile(a, []byte(crashed), 0o600))
	require.NoError(t, os.WriteFile(b, []byte(head), 0o600))
	for _, order := range [][]string{{a, b}, {b, a}} {
		answers, failed := report.Triage{}.Files(order)
		require.Empty(t, failed)
		require.Len(t, answers, 2)
		for i, got := range answers {
			assert.Equal(t, order[i], got.File)
			assert.Equal(t, whole.ID, got.ID)
			assert.Equal(t, whole.Signature, got.Signature)
			if got.File == b {
				assert.Equal(t, cut.ID, got.Explanation.CutID)
			}
		}
	}
	for _, text := range []string{head + "restarted\n" + crashed, crashed + head} {
		got := one(t, "log", []byte(text))
		assert.Equal(t, whole.ID, got.ID)
		assert.Empty(t, got.Explanation.CutID, "the whole one explains more")
	}
	stored := &misstepv1.Finding{
		Id: whole.ID, Title: "stored", Hits: 3,
		Signature: &misstepv1.Signature{Kind: "crash", Parts: whole.Signature[1:], Version: signature.Version},
	}
	answers, failed := report.Triage{Findings: []*misstepv1.Finding{stored}}.Files([]string{b})
	require.Empty(t, failed)
	assert.Equal(t, whole.ID, answers[0].ID)
	assert.Equal(t, &report.Finding{ID: whole.ID, Title: "stored", Hits: 3}, answers[0].Explanation.Finding)
	assert.Empty(t, answers[0].Explanation.Nearest, "it is not near itself")
}

// The store's finding may have another id now, and one that is near is offered.
func TestWithAStore(t *testing.T) {
	a := one(t, "report", []byte(crashed))
	signed := func(frame string) *misstepv1.Signature {
		return signature.Proto(signature.Crash{Error: "SIGSEGV", Frame: frame, Thread: "Java", Operation: "none"})
	}
	merged := &misstepv1.Finding{Id: "F00000000000a", Title: "head", Aliases: []string{a.ID}, Signature: signed("V other")}
	near := &misstepv1.Finding{Id: "F00000000000b", Title: "near", Signature: signed("C libpeek.so other")}
	far := &misstepv1.Finding{Id: "F00000000000c", Title: "far", Signature: signed("V Far::away")}
	path := filepath.Join(t.TempDir(), "report")
	require.NoError(t, os.WriteFile(path, []byte(crashed), 0o600))
	answers, failed := report.Triage{Findings: []*misstepv1.Finding{far, merged, near}}.Files([]string{path})
	require.Empty(t, failed)
	x := answers[0].Explanation
	assert.Equal(t, a.ID, answers[0].ID)
	assert.Equal(t, &report.Finding{ID: "F00000000000a", Title: "head"}, x.Finding)
	require.Len(t, x.Nearest, 1)
	assert.Equal(t, "F00000000000b", x.Nearest[0].ID)
	assert.Equal(t, "near", x.Nearest[0].Title)
	assert.Positive(t, x.Nearest[0].Score)
	assert.NotEmpty(t, x.Nearest[0].Reason)
}
