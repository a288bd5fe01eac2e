package report_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/app/report"
	"misstep/known"
)

// lines returns the lines of a string from the one that begins with a word to the one before that which begins with another.
func lines(t *testing.T, text, from, to string) string {
	t.Helper()
	start := strings.Index(text, from)
	require.GreaterOrEqual(t, start, 0, from)
	text = text[start:]
	if end := strings.Index(text, to); to != "" && end >= 0 {
		text = text[:end]
	}
	return text
}

// parts are what people paste of an error file, by what is missing.
func parts(t *testing.T, text string) map[string]string {
	t.Helper()
	head := lines(t, text, "#", "\n-----")
	bare := regexp.MustCompile(`(?m)^# ?`).ReplaceAllString(head, "")
	return map[string]string{
		"thread section":            lines(t, text, "---------------  T H R E A D", "\nEND."),
		"from the current thread":   lines(t, text, "Current thread", "\nEND."),
		"native frames":             lines(t, text, "Native frames:", "\nJava frames:"),
		"frames only":               lines(t, strings.SplitN(text, "Native frames:", 2)[1], "C  [", "\n\n"),
		"frames in Markdown":        "It died:\n```\n" + lines(t, strings.SplitN(text, "Native frames:", 2)[1], "C  [", "\n\n") + "```\n",
		"without the opening line":  lines(t, head, "#  SIG", ""),
		"problematic frame":         lines(t, head, "# Problematic frame:", ""),
		"problematic frame, bare":   lines(t, bare, "Problematic frame:", ""),
		"error line, bare":          lines(t, bare, " SIGSEGV", ""),
		"last lines, as JMH shows":  "<stdout last='20 lines'>\n" + indented(lines(t, head, "#  SIG", ""), "    "),
		"behind a line, as in JMH":  "# Warmup Iteration   1: " + head,
		"indented without the sign": indented(bare, "      "),
		"indented unevenly":         strings.ReplaceAll(head, "\n#", "\n  #"),
		"head, then frames":         head + "\n" + lines(t, strings.SplitN(text, "Native frames:", 2)[1], "C  [", "\n\n"),
	}
}

func indented(text, by string) string { return regexp.MustCompile(`(?m)^`).ReplaceAllString(text, by) }

// A part of an error file is recognised by what is there, and belongs to the whole one's finding; by itself, what is missing is
// unknown.
func TestPartsOfErrorFiles(t *testing.T) {
	whole := one(t, "whole.log", []byte(crashed))
	for name, text := range parts(t, crashed) {
		t.Run(name, func(t *testing.T) {
			alone := one(t, "part", []byte(text))
			assert.Contains(t, alone.Signature, "frame: C libpeek.so Java_demo_Peek_at")
			dir := t.TempDir()
			a, b := filepath.Join(dir, "part"), filepath.Join(dir, "whole")
			require.NoError(t, os.WriteFile(a, []byte(text), 0o600))
			require.NoError(t, os.WriteFile(b, []byte(crashed), 0o600))
			answers, failed := report.Triage{Known: known.Default()}.Files([]string{a, b})
			require.Empty(t, failed)
			require.Len(t, answers, 2)
			assert.Equal(t, whole.ID, answers[0].ID, "%s", alone.Signature)
			other, failed := report.Triage{}.Files([]string{a, write(t, dir, strings.ReplaceAll(crashed, "Peek_at", "Peek_other"))})
			require.Empty(t, failed)
			require.Len(t, other, 2)
			assert.NotEqual(t, other[1].ID, other[0].ID, "another function")
		})
	}
	bare := one(t, "part", []byte(parts(t, crashed)["frames only"]))
	assert.Equal(t, []string{
		"crash", "unknown", "frame: C libpeek.so Java_demo_Peek_at", "walker: unknown", "thread: unknown", "operation: unknown",
	}, bare.Signature)
	section := one(t, "part", []byte(parts(t, crashed)["thread section"]))
	assert.Contains(t, section.Signature, "SIGSEGV", "its details name the signal")
	assert.Contains(t, section.Signature, "thread: Java")
}

func write(t *testing.T, dir, text string) string {
	t.Helper()
	path := filepath.Join(dir, "other")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// Words about frames and threads are no part.
func TestProseIsNoPart(t *testing.T) {
	for _, text := range []string{
		"Problematic frame: what does that mean?\n", "The current thread (main) was interrupted.\n", "Native frames: none\n",
		"# Current thread is main\n", "Where is T H R E A D in the log?\n", "JVM version is shown by java -version\n",
		"Attaching to process 1\n",
	} {
		_, err := answer(t, "notes.txt", []byte(text))
		require.Error(t, err, text)
	}
}

// Windows prints that it has no source line where Linux prints nothing: that is no function.
func TestFramesOfWindows(t *testing.T) {
	const oom = `#
# There is insufficient memory for the Java Runtime Environment to continue.
# Native memory allocation (malloc) failed to allocate 1048576 bytes. Error detail: AllocateHeap
# Possible reasons:
#   The system is out of physical RAM or swap space
# This output file may be truncated or incomplete.
#
#  Out of Memory Error (arena.cpp:168), pid=4242, tid=4243
#
# JRE version: OpenJDK Runtime Environment (21.0.4+7) (build 21.0.4+7-LTS)
# Java VM: OpenJDK 64-Bit Server VM (21.0.4+7-LTS, mixed mode, sharing, tiered, g1 gc, windows-amd64)
#

---------------  T H R E A D  ---------------

Current thread (0x000001f2c9a3b6b0):  JavaThread "C2 CompilerThread0" daemon [_thread_in_native, id=4243, stack(0x1,0x2) (1024K)]

Native frames: (J=compiled Java code, j=interpreted, Vv=VM code, C=native code)
V  [jvm.dll+0x6c74e9]  (no source info available)
V  [jvm.dll+0x85f3c1]  (no source info available)
C  [ntdll.dll+0x5aa58]  (no source info available)

END.
`
	a := one(t, "oom.log", []byte(oom))
	assert.Equal(t, "the VM got no memory, which may happen anywhere", a.Explanation.Assorted)
	assert.NotContains(t, strings.Join(a.Signature, " "), "available")
	assert.Contains(t, a.Explanation.Next, "No bug is looked for")
	elsewhere := strings.NewReplacer("0x6c74e9", "0x6c0001", "1048576", "32744", "arena.cpp:168", "allocation.cpp:44").Replace(oom)
	assert.Equal(t, a.ID, one(t, "oom.log", []byte(elsewhere)).ID, "where memory ran out is chance")
	other := strings.Replace(oom, "(malloc) failed to allocate 1048576 bytes. Error detail: AllocateHeap",
		"(mmap) failed to map 65536 bytes. Error detail: G1 virtual space", 1)
	assert.NotEqual(t, a.ID, one(t, "oom.log", []byte(other)).ID, "other memory was asked for")
	short := "There is insufficient memory for the Java Runtime Environment to continue.\n" +
		"Native memory allocation (mmap) failed to map 4294967296 bytes. Error detail: committing reserved memory.\n"
	assert.Equal(t, a.Explanation.Assorted, one(t, "o.txt", []byte(short)).Explanation.Assorted)
	bare := regexp.MustCompile(`(?m)^# *`).ReplaceAllString(oom, "")
	assert.Equal(t, a.ID, one(t, "pasted.md", []byte(bare)).ID, "Markdown took its signs for headings")

	crash := strings.NewReplacer("#  Out of Memory Error (arena.cpp:168)", "#  EXCEPTION_ACCESS_VIOLATION (0xc0000005) at pc=0x00007ffb",
		"# There is insufficient memory for the Java Runtime Environment to continue.",
		"# A fatal error has been detected by the Java Runtime Environment:").Replace(oom)
	a = one(t, "crash.log", []byte(crash))
	assert.Contains(t, a.Signature, "frame: V jvm.dll+0x6c74e9 of OpenJDK 64-Bit Server VM 21.0.4+7-LTS windows-amd64")
	assert.Empty(t, a.Explanation.Assorted)
}

const zombie = `# A fatal error has been detected by the Java Runtime Environment:
#
#  Internal Error (codeCache.cpp:653), pid=4242, tid=4243
#  guarantee(is_result_safe || is_in_asgct()) failed: unsafe access to zombie method
#
# JRE version: OpenJDK Runtime Environment (17.0.9+9) (build 17.0.9+9-LTS)
# Java VM: OpenJDK 64-Bit Server VM (17.0.9+9-LTS, mixed mode, sharing, tiered, compressed oops, g1 gc, linux-amd64)
# Problematic frame:
# V  [libjvm.so+0x5f5e30]  CodeCache::find_blob(void*)+0xb0
#
`

// What is no known bug says which ones it is like, and what to do next; a known one does not.
func TestNearKnownAndNext(t *testing.T) {
	a := one(t, "known.log", []byte(zombie))
	assert.Equal(t, "JDK-8352649", a.KnownAs)
	assert.Empty(t, a.Explanation.NearKnown)
	assert.Empty(t, a.Explanation.Next)
	assert.Equal(t, []string{"17 after 17.0.15"}, a.Explanation.Known[0].FixedIn)

	a = one(t, "near.log", []byte(strings.Replace(zombie, "codeCache.cpp", "codeBlob.cpp", 1)))
	assert.Empty(t, a.KnownAs)
	require.NotEmpty(t, a.Explanation.NearKnown)
	assert.Equal(t, "JDK-8352649", a.Explanation.NearKnown[0].ID)
	assert.Contains(t, a.Explanation.NearKnown[0].Reason, "same assertion")
	assert.Contains(t, a.Explanation.Next, "https://bugreport.java.com")
	far := strings.Replace(zombie, "guarantee(is_result_safe || is_in_asgct())", "guarantee(other)", 1)
	assert.Empty(t, one(t, "far.log", []byte(far)).Explanation.NearKnown)

	assert.Contains(t, one(t, "c.log", []byte(crashed)).Explanation.Next, "the maintainers of libpeek.so")
	hang := one(t, "h.txt", []byte(hung)).Explanation.Next
	assert.Contains(t, hang, "two more dumps")
	profiler := strings.NewReplacer("libpeek.so", "libasyncProfiler.so", "Java_demo_Peek_at+", "StackWalker::walkVM()+").
		Replace(crashed)
	assert.Contains(t, one(t, "p.log", []byte(profiler)).Explanation.Next, "async-profiler/issues")
}

// A bug that the text names is told with its fix, whatever the crash itself is.
func TestNamedBugs(t *testing.T) {
	a := one(t, "issue.txt", []byte("Is this JDK-8352649 or JDK-8000001?\n\n"+crashed))
	require.Len(t, a.Explanation.Named, 2)
	assert.Equal(t, "JDK-8352649", a.Explanation.Named[0].ID)
	assert.Equal(t, []string{"17 after 17.0.15"}, a.Explanation.Named[0].FixedIn)
	assert.Equal(t, report.Known{ID: "JDK-8000001", Link: "https://bugs.openjdk.org/browse/JDK-8000001"}, a.Explanation.Named[1])
	assert.Empty(t, one(t, "alone.txt", []byte(crashed)).Explanation.Named)
}

// A dump of Thread.print and one of Thread.dump_to_file of the same JVM are one hang, in any order; those of two JVMs are two.
func TestDumpsOfOneJVM(t *testing.T) {
	file := func(name string) string { return filepath.Join("../../internal/threaddump/testdata", name) }
	files := func(names ...string) []report.Answer {
		answers, failed := report.Triage{}.Files(names)
		require.Empty(t, failed)
		return answers
	}
	for _, pair := range [][2]string{
		{"carriers-25.txt", "carriers-25.json"},
		{"carriers-25.json", "carriers-25.txt"},
		{"carriers-25.txt", "carriersplain-25.txt"},
		{"busy-25.txt", "busy-25.json"},
	} {
		answers := files(file(pair[0]), file(pair[1]))
		require.Len(t, answers, 2)
		assert.Equal(t, answers[0].ID, answers[1].ID, pair)
		assert.Equal(t, file(pair[1]), answers[0].Explanation.With)
		assert.Equal(t, file(pair[0]), answers[1].Explanation.With)
		assert.Equal(t, "hang/starved-carriers", answers[0].Explanation.Rule, pair)
	}
	pinned := files(file("carriers-25.txt"), file("carriers-25.json"))[0]
	assert.Contains(t, pinned.Signature, "virtual thread at Carriers.hold calling java.util.concurrent.CountDownLatch.await pinned "+
		"by Carriers$Pin0.<clinit>")
	free := files(file("free-25.txt"), file("free-25.json"))
	assert.Equal(t, "hang/waiting-threads", free[0].Explanation.Rule, "a lost wake-up: the carriers are free")
	assert.Equal(t, free[0].ID, free[1].ID)
	assert.Equal(t, "hang/waiting-threads", files(file("one-25.txt"), file("one-25.json"))[0].Explanation.Rule, "a carrier is free")
	// The frames of a virtual thread that runs an initialiser are in one of them, who waits for it in the other.
	initialiser := files(file("initialiser-21.txt"), file("initialiser-21.json"))
	assert.Equal(t, "hang/class-initialiser", initialiser[0].Explanation.Rule)
	assert.Contains(t, strings.Join(initialiser[0].Signature, " "), "VT$CI.<clinit> calling java.util.concurrent.CountDownLatch")
	two := files(file("carriers-25.txt"), file("virtual-28.json"))
	assert.Empty(t, two[0].Explanation.With)
	// Two runs of one program have the same threads: their pids tell them apart.
	text, err := os.ReadFile(file("carriers-25.txt"))
	require.NoError(t, err)
	for pid, with := range map[string]string{"1818": file("carriers-25.json"), "1819": ""} {
		of := filepath.Join(t.TempDir(), "print.txt")
		require.NoError(t, os.WriteFile(of, append([]byte(pid+":\n"), text...), 0o600))
		assert.Equal(t, with, files(of, file("carriers-25.json"))[0].Explanation.With, pid)
	}
}

// Both dumps may be in one file, as one pastes them.
func TestDumpsOfOneJVMInOneFile(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join("../../internal/threaddump/testdata", name))
		require.NoError(t, err)
		return string(text)
	}
	printed, json, plain := read("carriers-25.txt"), read("carriers-25.json"), read("carriersplain-25.txt")
	var docker strings.Builder
	for line := range strings.Lines(plain + "\n" + printed) {
		docker.WriteString(`{"log":` + strconv.Quote(line) + `,"stream":"stdout","time":"2026-11-29T11:30:00.123456789Z"}` + "\n")
	}
	for name, text := range map[string]string{
		"print, JSON": printed + json, "JSON, print": json + printed, "print, text": printed + plain, "text, print": plain + "\n" + printed,
		"in prose": "Print:\n" + printed + "\nJSON:\n```\n" + json + "```\nThat is all.\n",
		"in a log": indented(printed+json, "app-1 | "), "quoted": indented(json+printed, "> "),
		"text in a log": indented(plain+"\n"+printed, "11:29:12 app-1 | "), "indented": indented(plain+"\n"+printed, "    "),
		"JSON in a log": indented(json+printed, "Nov 29 11:29:12 host app[17]: "), "Docker's log": docker.String(),
		"carriage returns": strings.ReplaceAll(printed+json, "\n", "\r"),
	} {
		a := one(t, "dumps.txt", []byte(text))
		assert.Equal(t, "hang/starved-carriers", a.Explanation.Rule, name)
		assert.Regexp(t, `dumps\.txt:\d+$`, a.Explanation.With, name)
		assert.False(t, a.Explanation.EndsEarly, name)
	}
	cut := one(t, "dumps.txt", []byte(json[:len(json)/2]+"\n1818:\n"+printed))
	assert.NotEmpty(t, cut.Explanation.With)
	assert.True(t, cut.Explanation.EndsEarly)
	assert.Equal(t, "dumps.txt:"+strconv.Itoa(2+strings.Count(printed, "\n")),
		filepath.Base(one(t, "dumps.txt", []byte(printed+json)).Explanation.With), "the line behind the brace")
}

// A dump that ends early says so, and does not claim what the missing threads could refute.
func TestDumpsThatEndEarly(t *testing.T) {
	for _, name := range []string{
		"carriers-25.txt", "carriers-25.json", "carriers-21.json", "deadlock-8.txt", "deadlock-28.txt", "agent-17.txt",
	} {
		whole, err := os.ReadFile(filepath.Join("../../internal/threaddump/testdata", name))
		require.NoError(t, err)
		assert.False(t, one(t, "whole", whole).Explanation.EndsEarly, name)
		for _, share := range []int{30, 50, 70} {
			a := one(t, "cut", whole[:len(whole)*share/100])
			assert.True(t, a.Explanation.EndsEarly, "%d %% of %s", share, name)
			assert.NotEqual(t, "hang/starved-carriers", a.Explanation.Rule, "%d %% of %s: the others may be free", share, name)
		}
	}
}

// A report without its JVM's version is one of several bugs if they differ by that only.
func TestOneOfSeveralBugs(t *testing.T) {
	text := regexp.MustCompile(`(?m)^# J(RE|ava VM).*\n`).ReplaceAllString(zombie, "")
	assert.Equal(t, "JDK-8352649", one(t, "whole.log", []byte(zombie)).KnownAs)
	a := one(t, "part.log", []byte(text))
	assert.Empty(t, a.KnownAs)
	assert.Empty(t, a.Explanation.NearKnown)
	assert.Contains(t, a.Explanation.Next, "the JVM's version")
	var here []string
	for _, k := range a.Explanation.Known {
		if k.Here {
			here = append(here, k.ID)
		}
	}
	assert.Equal(t, []string{"JDK-8352649", "JDK-8339133", "JDK-8283849"}, here)
}

// Nobody is asked about a signal that another process sent.
func TestSentSignals(t *testing.T) {
	for _, siginfo := range []string{
		"si_signo: 11 (SIGSEGV), si_code: 0 (SI_USER), si_pid: 4711, si_uid: 0",
		"si_signo: 11 (SIGSEGV), si_code: 0 (SI_USER), sent from pid: 4711 (uid: 0)", // 8
		"si_signo: 11 (SIGSEGV), si_code: -6 (SI_TKILL), si_pid: 4711, si_uid: 0",
	} {
		fault := regexp.MustCompile(`(?m)^siginfo: .*`)
		require.Regexp(t, fault, crashed)
		next := one(t, "s.log", []byte(fault.ReplaceAllString(crashed, "siginfo: "+siginfo))).Explanation.Next
		assert.Contains(t, next, "process 4711 sent the signal", siginfo)
		assert.NotContains(t, next, "maintainers")
	}
}
