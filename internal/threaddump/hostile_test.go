package threaddump_test

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"misstep/internal/threaddump"
)

// A JVM that hangs may have written anything: a parser's memory follows the size of the text, and its time does.
func TestTheWorstDumps(t *testing.T) {
	const size = 1 << 20
	const title = "Full thread dump OpenJDK\n"
	thread := `"a" #1 prio=5 tid=0x1 nid=0x1 runnable` + "\n"
	for name, unit := range map[string]string{
		"a line without end":       title + strings.Repeat(`"`, size),
		"names that do not end":    title + `"` + strings.Repeat("a\n", size/2),
		"threads":                  title + strings.Repeat(thread, size/len(thread)),
		"locks":                    title + thread + strings.Repeat("\t- locked <0x0000000000000001> (a X)\n", size/38),
		"one dump after the other": strings.Repeat(title, size/len(title)),
		"deadlocks":                title + strings.Repeat("Found one Java-level deadlock:\n\"a\":\n", size/38),
		"cycles":                   title + "Found one Java-level deadlock:\n" + strings.Repeat("\"a\":\n  which is held by \"a\"\n", size/32),
		"deep JSON":                `{"threadDump":` + strings.Repeat(`{"a":`, size/5),
		"nested lists":             strings.Repeat(`{"threadDump":[`, size/15),
		"containers":               `{"threadDump":{"threadContainers":[` + strings.Repeat(`{},`, size/3) + `{}]}}`,
		"NUL":                      title + strings.Repeat("\x00", size),
		"no UTF-8":                 title + strings.Repeat("\"\xff\n", size/3),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := time.Now()
		_, _ = threaddump.Parse([]byte(unit)) // what it is does not matter
		runtime.ReadMemStats(&after)
		took, taken := time.Since(began), (after.TotalAlloc-before.TotalAlloc)/size
		assert.Less(t, taken, uint64(100), "%s: times the text", name)
		assert.Less(t, took, 30*time.Second, name)
		t.Logf("%s: %v, %d times the text", name, took.Round(time.Millisecond), taken)
	}
}
