package triage_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/internal/threaddump"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/triage"
)

const dumps = "../internal/threaddump/testdata"

// dumpText returns a thread dump of a JVM, which internal/threaddump has as a sample.
func dumpText(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dumps, name))
	require.NoError(t, err)
	return string(text)
}

// ids returns the findings of a dump, sorted.
func ids(t testing.TB, text string) []string {
	t.Helper()
	d, err := threaddump.Parse([]byte(text))
	require.NoError(t, err)
	var out []string
	for _, h := range triage.Triage(outcomeOf(d)) {
		out = append(out, h.ID+" "+strings.Join(h.Signature.GetParts(), "; "))
	}
	return out
}

// without removes the report of deadlocks and the threads that match.
func without(text, pattern string) string {
	text, _, _ = strings.Cut(text, "\nFound one Java-level deadlock")
	re := regexp.MustCompile(pattern)
	blocks := strings.Split(text, "\n\n")
	return strings.Join(slices.DeleteFunc(blocks, re.MatchString), "\n\n")
}

// One hang has one id on every JDK, and each deadlock keeps its own beside others.
func TestHangsOfEveryJDK(t *testing.T) {
	deadlock := ids(t, dumpText(t, "deadlock-17.txt"))
	require.Len(t, deadlock, 1)
	assert.Contains(t, deadlock[0], "deadlock; worker at Dump.take < Dump.first waits for java.lang.Object held by worker; "+
		"worker at Dump.take < Dump.second waits")
	jni := ids(t, dumpText(t, "jni-17.txt"))
	require.Len(t, jni, 1)
	assert.NotContains(t, jni[0], "main", "it waits for nobody")
	latch := ids(t, without(dumpText(t, "deadlock-17.txt"), `Dump\.(take|main)`))
	assert.Equal(t, []string{"F389b6aefe325 limit; job at Dump.waitForLatch calling java.util.concurrent.CountDownLatch.await; " +
		"line break at Dump.waitForLatch calling java.util.concurrent.CountDownLatch.await; " +
		"worker at Dump.waitForLatch calling java.util.concurrent.CountDownLatch.await"}, latch)
	for _, jdk := range []string{"8", "11", "17", "21", "25", "28"} {
		text := dumpText(t, "deadlock-"+jdk+".txt")
		assert.Equal(t, deadlock, ids(t, text), jdk)
		assert.Equal(t, deadlock, ids(t, without(text, "^$")), "%s without the JVM's report: the locks say the same", jdk)
		assert.Equal(t, latch, ids(t, without(text, `Dump\.(take|main)`)), jdk)
		if jdk != "21" {
			assert.Equal(t, jni, ids(t, dumpText(t, "jni-"+jdk+".txt")), jdk)
		}
	}
	for _, jdk := range []string{"8", "17", "28"} {
		two := ids(t, dumpText(t, "two-"+jdk+".txt"))
		require.Len(t, two, 2, jdk)
		assert.Contains(t, two, deadlock[0], jdk)
	}
}

// Threads that wait for work do not take the places of those that hang, and do not make a hang of an idle program.
func TestIdleAndHungDiffer(t *testing.T) {
	for _, jdk := range []string{"8", "17", "28"} {
		text := dumpText(t, "deadlock-"+jdk+".txt")
		hung, idle := without(text, `Dump\.(take|main)`), without(text, `Dump\.`)
		require.Contains(t, idle, "pool-1-thread-1")
		assert.NotEqual(t, ids(t, hung), ids(t, idle))
		assert.NotContains(t, ids(t, hung)[0], "pool")
		assert.Equal(t, ids(t, hung), ids(t, without(hung, `"pool-|"timer|ForkJoinPool`)), "idle threads do not matter")
	}
}

// A virtual thread is found where it waits, mounted or not.
func TestVirtualThreads(t *testing.T) {
	for _, jdk := range []string{"25", "28"} {
		text := ids(t, dumpText(t, "virtual-"+jdk+".txt"))
		require.Len(t, text, 1)
		assert.Contains(t, text[0], "virtual thread at Virtual.spin", "the frames of the carried thread")
		deadlocks := strings.Join(ids(t, dumpText(t, "virtual-"+jdk+".json")), "\n")
		assert.Contains(t, deadlocks, "virtual thread at Virtual.lockBoth < Virtual.lambda$main$# waits for "+
			"java.util.concurrent.locks.ReentrantLock$NonfairSync held by virtual thread")
		assert.Contains(t, deadlocks, "virtual thread at Virtual.enterBoth < Virtual.lambda$main$# waits for java.lang.Object held")
	}
	assert.Contains(t, ids(t, dumpText(t, "virtual-21.txt"))[0], "virtual thread at jdk.internal.vm.Continuation.run",
		"21 does not print them")
	assert.Contains(t, parts(t, "virtual-21.txt", "virtual-21.json"), "virtual thread at Virtual.spin")
	assert.NotContains(t, parts(t, "virtual-21.txt", "virtual-21.json"), "virtual thread at jdk.internal.vm.Continuation.run")
	assert.NotContains(t, ids(t, dumpText(t, "park-21.txt"))[0], "Park.park")
	assert.Contains(t, parts(t, "park-21.txt", "park-21.json"),
		"virtual thread at Park.park calling java.util.concurrent.CountDownLatch.await", "unmounted")
}

// parts returns the signature of a hang of which there is a dump as text and one in JSON.
func parts(t *testing.T, text, json string) []string {
	t.Helper()
	both, err := threaddump.Parse([]byte(dumpText(t, text)))
	require.NoError(t, err)
	more, err := threaddump.Parse([]byte(dumpText(t, json)))
	require.NoError(t, err)
	both.Merge(more)
	return triage.Hangs(both.Hang())[0].Signature.GetParts()
}

// Two classes whose initialisers wait for each other: the JVM reports no deadlock. From 17 on it says who waits for which class,
// before only that a thread waits.
func TestInitialisersWaitForEachOther(t *testing.T) {
	want := ids(t, dumpText(t, "init-17.txt"))
	require.Len(t, want, 1)
	assert.Contains(t, want[0], "deadlock; init at Init$A.<clinit>")
	for _, jdk := range []string{"8", "11", "28"} {
		assert.Equal(t, want, ids(t, dumpText(t, "init-"+jdk+".txt")), jdk)
	}
}

// What the serviceability agent prints is the same hang as what the JVM prints.
func TestDumpsOfTheAgent(t *testing.T) {
	assert.Equal(t, ids(t, dumpText(t, "cross-17.txt")), ids(t, dumpText(t, "agent-17.txt")))
	assert.Contains(t, ids(t, dumpText(t, "agent-17.txt"))[0], "deadlock; left at Dead.left < Dead.lambda$main$# waits for "+
		"java.lang.Object held by right; right at")
	assert.Contains(t, ids(t, dumpText(t, "agent-25.txt"))[0], "deadlock; down at")
	assert.Contains(t, ids(t, dumpText(t, "agent-init-17.txt"))[0], "deadlock; one at Init$A.<clinit> < Init.lambda$main$# waits for "+
		"java.lang.Class held by two")
	assert.Equal(t, ids(t, dumpText(t, "class-virtual-25.txt")), ids(t, dumpText(t, "agent-virtual-25.txt")))
	assert.Contains(t, ids(t, dumpText(t, "agent-8.txt"))[0],
		"limit; thread at demo.Pipe.take calling java.util.concurrent.CountDownLatch.await", "without names")
}

// A class that a thread initialises for ever is the cause of its own, whoever waits for it; the id of before leads to it.
func TestClassesThatAreInitialised(t *testing.T) {
	const want = "initialisation; owner at Init.sleep calling java.lang.Thread.sleep initialises Init$Slow"
	for _, file := range []string{"class-17.txt", "class-25.txt"} {
		got := ids(t, dumpText(t, file))
		require.Len(t, got, 1)
		assert.Contains(t, got[0], want)
		one := strings.Replace(dumpText(t, file), `"waiter-2"`, `"other"`, 1)
		assert.Equal(t, got, ids(t, one), "which threads wait does not matter")
		alone := without(dumpText(t, file), `"waiter-`)
		assert.NotEqual(t, got, ids(t, alone), "a slow initialiser that nobody waits for")
		unnamed := regexp.MustCompile(`\t- waiting on the Class init.*\n`).ReplaceAllString(dumpText(t, file), "")
		assert.Equal(t, got, ids(t, unnamed), "as up to JDK 16, which do not name the class")
		unowned := ids(t, without(dumpText(t, file), `"owner"`))
		assert.Contains(t, unowned[0], "initialisation; waiter at Init.lambda$main$# waits for java.lang.Class",
			"by whom is unknown")
		d, err := threaddump.Parse([]byte(dumpText(t, file)))
		require.NoError(t, err)
		assert.Equal(t, "F0ff3cc0f6005", triage.Triage(outcomeOf(d))[0].FormerID)
	}
	assert.Contains(t, ids(t, dumpText(t, "class-virtual-25.txt"))[0],
		"initialisation; virtual thread at Init.sleep calling java.lang.Thread.sleep initialises Init$Slow", "one, not two")
	super := ids(t, dumpText(t, "superclass-17.txt"))
	assert.Contains(t, super[0], "deadlock; base at Super$P.<clinit> < Super.lambda$main$# waits for java.lang.Class held by derived; "+
		"derived at")
	assert.Equal(t, super, ids(t, dumpText(t, "superclass-25.txt")))
}

// All carriers that are taken are one cause, a thread that nobody wakes while a carrier is free another one.
func TestCarriers(t *testing.T) {
	const held = "virtual thread at Carriers.hold calling java.util.concurrent.CountDownLatch.await pinned by Carriers$Pin"
	const pinned = "starved-carriers; " + held + "0.<clinit>; " + held + "1.<clinit>"
	for _, file := range []string{"carriers-25.txt", "carriers-25.json", "carriersplain-25.txt"} {
		assert.Contains(t, ids(t, dumpText(t, file))[0], pinned, file)
	}
	assert.Contains(t, ids(t, dumpText(t, "busy-25.json"))[0], "starved-carriers; virtual thread at Carriers.spin")
	assert.Contains(t, ids(t, dumpText(t, "busy-25.txt"))[0], " limit; virtual thread at Carriers.spin", "nobody is seen to wait")
	for _, file := range []string{"free-25.json", "one-25.json", "one-25.txt"} {
		assert.Contains(t, ids(t, dumpText(t, file))[0], " limit; virtual thread at Carriers.", file)
	}
}

// What is left of the threads that every program has is not what hangs.
func TestHousekeepingOfCutDumps(t *testing.T) {
	const head = "Full thread dump OpenJDK 64-Bit Server VM (17.0.15+6 mixed mode):\n\n"
	const reference = `"Reference Handler" #2 daemon prio=10 os_prio=0 tid=0x00007f0c nid=0x1 waiting on condition  [0x00007f2d]
   java.lang.Thread.State: RUNNABLE
	at java.lang.ref.Reference.waitForReferencePendingList(java.base@17.0.15/Native Method)
	at java.lang.ref.Reference.processPendingReferences(java.base@17.0.15/Reference.java:253)
	at java.lang.ref.Reference$ReferenceHandler.run(java.base@17.0.15/Reference.java:215)

`
	const timer = `"metrics" #12 daemon prio=5 os_prio=0 tid=0x00007f0d nid=0x2 in Object.wait()  [0x00007f2e]
   java.lang.Thread.State: TIMED_WAITING (on object monitor)
	at java.lang.Object.wait(java.base@17.0.15/Native Method)
	- waiting on <0x00000000fc0dd0f0> (a java.util.TaskQueue)
`
	const loop = "\tat java.util.TimerThread.mainLoop(java.base@17.0.15/Timer.java:563)\n" +
		"\tat java.util.TimerThread.run(java.base@17.0.15/Timer.java:516)\n\n"
	const worker = `"worker" #13 prio=5 os_prio=0 tid=0x00007f0e nid=0x3 waiting on condition  [0x00007f2f]
   java.lang.Thread.State: WAITING (parking)
	at jdk.internal.misc.Unsafe.park(java.base@17.0.15/Native Method)
	at java.util.concurrent.locks.LockSupport.park(java.base@17.0.15/LockSupport.java:341)
	at demo.Gate.pass(Gate.java:7)
`
	for name, text := range map[string]string{
		"the first thread": head + reference, "a timer": head + timer + loop, "a timer that is cut": head + reference + timer,
		"both": head + reference + timer + loop,
	} {
		got := ids(t, text)
		require.Len(t, got, 1)
		assert.Equal(t, "F65aec7b64fa7 limit", got[0], name)
	}
	assert.Contains(t, ids(t, head+reference+timer+loop+worker)[0], "limit; worker at demo.Gate.pass", "cut in the program")
	whole := ids(t, head+reference+timer+loop+"JNI global refs: 4, weak refs: 0\n")
	assert.Contains(t, whole[0], "limit; metrics at java.util.TimerThread.mainLoop", "an idle program is told by what it has")
}

// Whatever a run changes by itself never changes an id: addresses, ids and order of threads, times, priorities, numbers in names.
func TestMutatedDumps(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	files, err := filepath.Glob(dumps + "/*-*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text := dumpText(t, filepath.Base(file))
		if strings.HasSuffix(file, "agent-8.txt") { // without addresses, ids and names
			continue
		}
		want := ids(t, text)
		for range 10 {
			changed := mutate(random, text)
			require.NotEqual(t, text, changed)
			require.Equalf(t, want, ids(t, changed), "%s\n%s", file, changed)
		}
	}
}

func mutate(random *rand.Rand, text string) string {
	stacks, report, found := strings.Cut(text, "\nFound one Java-level deadlock")
	blocks := strings.Split(stacks, "\n\n")
	// A name with a line break is in one block, since it has no empty line. The title is the first block.
	random.Shuffle(len(blocks)-1, func(i, j int) { blocks[i+1], blocks[j+1] = blocks[j+1], blocks[i+1] })
	text = strings.Join(blocks, "\n\n")
	if found {
		text += "\n\nFound one Java-level deadlock" + report
	}
	consistently := func(pattern, form string) {
		seen, used := map[string]string{}, map[string]bool{}
		re := regexp.MustCompile(pattern)
		text = re.ReplaceAllStringFunc(text, func(old string) string {
			m := re.FindStringSubmatch(old)
			for seen[m[2]] == "" {
				if to := fmt.Sprintf(form, 100+random.IntN(1<<30)); !used[to] {
					seen[m[2]], used[to] = to, true
				}
			}
			return m[1] + seen[m[2]]
		})
	}
	consistently(`()\b(0x[0-9a-f]+)`, "0x%016x")
	consistently(`( #|thread #)(\d+)`, "%d")
	consistently(`( nid=| \[)(\d+)\b`, "%d")
	for _, re := range []string{`(prio=|cpu=|elapsed=|os_prio=)[\d.]+`, `(pool-|thread-|worker-|other-|CompilerThread)\d+`} {
		text = regexp.MustCompile(re).ReplaceAllStringFunc(text, func(old string) string {
			return strings.TrimRight(old, "0123456789.") + fmt.Sprint(1+random.IntN(100))
		})
	}
	uuid := fmt.Sprintf("%08x-%04x-4%03x-a%03x-%012x", random.Uint32(), random.IntN(1<<16), random.IntN(1<<12), random.IntN(1<<12),
		random.Int64N(1<<48))
	return regexp.MustCompile(`[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}`).ReplaceAllString(text, uuid)
}

// Whatever a dump holds, its findings are bounded, printable text, the same each time.
func FuzzDump(f *testing.F) {
	files, err := filepath.Glob(dumps + "/*-*.*[tn]")
	require.NoError(f, err)
	for _, file := range files {
		f.Add(dumpText(f, filepath.Base(file)))
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := threaddump.Parse([]byte(text))
		if err != nil {
			return
		}
		hits := triage.Triage(outcomeOf(d))
		if len(hits) == 0 || !slices.Equal(ids(t, text), ids(t, text)) {
			t.Fatalf("%d findings", len(hits))
		}
		for _, h := range hits {
			for _, p := range append(h.Signature.GetParts(), h.Title) {
				if len(h.Signature.GetParts()) > 9 || len(p) > 310 || strings.ContainsAny(p, "\n\r\x00") {
					t.Fatalf("part %q", p)
				}
			}
		}
	})
}

func outcomeOf(d *threaddump.Dump) *misstepv1.Outcome {
	return &misstepv1.Outcome{Kind: misstepv1.OutcomeKind_OUTCOME_KIND_HANG, Hang: d.Hang()}
}
