package threaddump

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The first lines of threads by version and platform, as Thread::print_on and its like write them.
func TestHeaders(t *testing.T) {
	for line, want := range map[string]Thread{
		`"a" #1 prio=5 os_prio=0 tid=0x00007f0c nid=0x1a2b runnable [0x7f2d]`:                      {Name: "a", ID: 1, TID: 0x1a2b},
		`"a" #9 daemon prio=5 os_prio=31 tid=0x00007fb1a2 nid=0x5d03 sleeping [0x0000]`:            {Name: "a", ID: 9, TID: 0x5d03},
		`"a" #9 prio=5 os_prio=0 tid=0x1 nid=NA waiting on condition  [0x0]`:                       {Name: "a", ID: 9},
		`"a" #3 [6699] prio=5 os_prio=0 cpu=3.7ms elapsed=1.6s tid=0x7f nid=6699 runnable  [0x7f]`: {Name: "a", ID: 3, TID: 6699},
		`"a" #3 [101379] daemon prio=5 os_prio=31 cpu=0.83ms elapsed=19.02s tid=0x12  [0x2a]`:      {Name: "a", ID: 3, TID: 101379},
		`"a" #3 prio=5 os_prio=0 cpu=3.7ms elapsed=1.6s allocated=12K defined_classes=3 tid=0x7f nid=7 runnable`: {
			Name: "a", ID: 3, TID: 7,
		},
		`"VM Thread" os_prio=0 cpu=0.77ms elapsed=1.54s tid=0x7f nid=5239 runnable  `: {Name: "VM Thread", TID: 5239},
		`"" #4 prio=5 os_prio=0 tid=0x7f nid=0x1 runnable`:                            {ID: 4, TID: 1},
		`"thread 77" nid=77`: {Name: "thread 77", TID: 77},
		`"say "hi" nid=5" #16 daemon prio=5 os_prio=0 tid=0x7f nid=0x14b4 sleeping`: {Name: `say "hi" nid=5`, ID: 16, TID: 0x14b4},
		"\"two\nlines \" #5\" #16 prio=5 tid=0x7f nid=0x14b4 sleeping": {
			Name: "two\nlines \" #5", ID: 16, TID: 0x14b4,
		},
		"\"a\r\n\r\nb\" #16 prio=5 os_prio=0 tid=0x7f nid=0x14b4 sleeping": {Name: "a\n\nb", ID: 16, TID: 0x14b4},
	} {
		d, err := Parse([]byte("Full thread dump X:\n\n" + line + "\n\tat a.B.c(B.java:1)\n"))
		require.NoError(t, err, line)
		require.Len(t, d.Threads, 1, line)
		got := d.Threads[0]
		require.Equal(t, []any{want.Name, want.ID, want.TID}, []any{got.Name, got.ID, got.TID}, line)
		require.Equal(t, []string{"a.B.c(B.java:1)"}, got.Frames, line)
	}
}

func TestNoDump(t *testing.T) {
	for _, text := range []string{
		"", "{}", `{"threadDump":null}`, "{", "hello\n", "# A fatal error has been detected\n",
		"\"quoted\"\n\"and\nmore\"\n", "\x00\xff",
	} {
		_, err := Parse([]byte(text))
		require.ErrorIs(t, err, ErrNotDump, text)
	}
	_, err := Parse(make([]byte, maxBytes+1))
	require.ErrorContains(t, err, "at most")
}

// Where a log has several dumps, the last one with threads counts.
func TestLastDump(t *testing.T) {
	first := "Full thread dump\n\n\"a\" #1 prio=5 tid=0x1 nid=0x1 runnable\n\nJNI global refs: 1\n\n"
	d, err := Parse([]byte("log\n" + first + "log\n" + strings.ReplaceAll(first, `"a"`, `"b"`) + "log\n" + dumpTitle + "\n"))
	require.NoError(t, err)
	require.Len(t, d.Threads, 1)
	require.Equal(t, "b", d.Threads[0].Name)
}

// jstack -l lists the locks of java.util.concurrent that a thread holds, from which who waits for whom follows.
func TestOwnableSynchronizers(t *testing.T) {
	thread := func(id, holds, wants string) string {
		return "\"t\" #" + id + " prio=5 tid=0x" + id + " nid=0x" + id + " waiting on condition [0x0]\n" +
			"   java.lang.Thread.State: WAITING (parking)\n\tat sun.misc.Unsafe.park(Native Method)\n" +
			"\t- parking to wait for  <" + wants + "> (a java.util.concurrent.locks.ReentrantLock$NonfairSync)\n\n" +
			"   Locked ownable synchronizers:\n\t- <" + holds + "> (a java.util.concurrent.locks.ReentrantLock$NonfairSync)\n\n"
	}
	d, err := Parse([]byte(dumpTitle + "\n\n" + thread("1", "0xa", "0xb") + thread("2", "0xb", "0xa")))
	require.NoError(t, err)
	require.True(t, d.Deadlock)
	require.Equal(t, 1, d.Threads[0].HeldBy)
	require.Equal(t, 0, d.Threads[1].HeldBy)
	require.Equal(t, "java.util.concurrent.locks.ReentrantLock$NonfairSync", d.Threads[0].WaitsFor)
}

// A thread in Object.wait() does not hold the monitor that its dump calls locked; one that was notified waits for it again.
func TestObjectWait(t *testing.T) {
	const text = dumpTitle + `

"waits" #1 prio=5 tid=0x1 nid=0x1 in Object.wait() [0x0]
	at java.lang.Object.wait(Native Method)
	- waiting on <0xa> (a java.lang.Object)
	at a.B.c(B.java:1)
	- locked <0xa> (a java.lang.Object)

"eliminated" #2 prio=5 tid=0x2 nid=0x2 in Object.wait() [0x0]
	at java.lang.Object.wait0(Native Method)
	- waiting on <no object reference available>
	at a.B.c(B.java:1)
	- locked <0xa> (a java.lang.Object)

"notified" #3 prio=5 tid=0x3 nid=0x3 waiting for monitor entry [0x0]
	at java.lang.Object.wait(Native Method)
	- waiting to re-lock in wait() <0xa> (a java.lang.Object)
	at a.B.c(B.java:1)
	- locked <0xa> (a java.lang.Object)

"holds" #4 prio=5 tid=0x4 nid=0x4 runnable [0x0]
	at a.B.d(B.java:2)
	- locked <0xa> (a java.lang.Object)

`
	d, err := Parse([]byte(text))
	require.NoError(t, err)
	require.False(t, d.Deadlock)
	holders := []int{}
	for _, th := range d.Threads {
		holders = append(holders, th.HeldBy)
	}
	require.Equal(t, []int{-1, -1, 3, -1}, holders)
}

// TestTruncated covers that the output of a JVM may end anywhere: deadlocks follow from the locks as long as all stacks are there.
func TestTruncated(t *testing.T) {
	for _, file := range []string{"testdata/deadlock-8.txt", "testdata/two-28.txt"} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		whole := read(t, file)
		stacksEnd := bytes.Index(text, []byte(deadlockTitle))
		for at := len(dumpTitle); at < len(text); at += 7 {
			d, err := Parse(text[:at])
			require.NoError(t, err)
			for i := range d.Threads[:max(0, len(d.Threads)-1)] { // the last one's first line may be cut
				require.Equal(t, whole.Threads[i].Name, d.Threads[i].Name)
				if at >= stacksEnd {
					require.Equal(t, whole.Threads[i].HeldBy, d.Threads[i].HeldBy, "%s cut at %d, thread %d", file, at, i)
				}
			}
		}
	}
}

// TestNoise covers that time is linear in what is read.
func TestNoise(t *testing.T) {
	const size = 4 << 20
	for name, line := range map[string]string{
		"zeros": "\x00", "quotes": "\"\n", "long names": `"` + strings.Repeat("n", 400) + "\n", "ids": "\" tid=\n",
		"one thread": "\"a\" #1 tid=0x1 nid=0x1\n\tat a.B.c(B.java)\n\t- locked <0x1> (a B)\n",
		"deadlocks":  deadlockTitle + ":\n\"a\":\n  waiting to lock monitor 0x1 (object 0x1, a b),\n  which is held by \"a\"\n",
		"objects":    "[{},", "strings": `{"threadDump":{"threadContainers":[{"threads":[{},{},{},{},`,
	} {
		text := append([]byte("Full thread dump\n"), bytes.Repeat([]byte(line), size/len(line))...)
		if strings.HasPrefix(line, "{") || strings.HasPrefix(line, "[") {
			text = append([]byte(line), bytes.Repeat([]byte("{},"), size/3)...)
		}
		began := time.Now()
		_, _ = Parse(text)
		require.Less(t, time.Since(began), 20*time.Second, name) // about 100 ms on an idle machine
		t.Logf("%s: %v for 4 MiB", name, time.Since(began))
	}
}

func FuzzParse(f *testing.F) {
	for _, file := range samples(f) {
		data, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := Parse(text)
		if err != nil {
			return
		}
		if len(d.Threads) > MaxThreads {
			t.Fatalf("%d threads", len(d.Threads))
		}
		for i, th := range d.Threads {
			if len(th.Frames) > MaxFrames || len(th.Name) > maxName+len("…") || th.HeldBy >= len(d.Threads) || th.HeldBy == i {
				t.Fatalf("thread %d: %d frames, name of %d bytes, held by %d", i, len(th.Frames), len(th.Name), th.HeldBy)
			}
		}
		d.Hang()
		d.Merge(d)
	})
}
