package jfrcheck

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"misstep/runner/recording"
)

// The names are those that recordings of one program have, by JDK and recorder.
func TestNamesOfClassesMadeAsTheProgramRuns(t *testing.T) {
	for class, want := range map[string]string{
		"Shop$$Lambda$56.1857334149":                             "Shop$$Lambda", // JFR 8, 11
		"Shop$$Lambda$94+0x00007faa14008670.1457410641":          "Shop$$Lambda", // JFR 17
		"Shop$$Lambda.0x0000000049082000":                        "Shop$$Lambda", // JFR 25
		"Shop$$Lambda$9.0x00007f9250002220":                      "Shop$$Lambda", // async-profiler
		"Shop$$Lambda/0x800000045":                               "Shop$$Lambda",
		"java.lang.invoke.LambdaForm$MH+0x00007fe46c008450.1453": "java.lang.invoke.LambdaForm$MH",
		"java.lang.invoke.LambdaForm$DMH.0x000000004904a000":     "java.lang.invoke.LambdaForm$DMH",
		"jdk.proxy2.$Proxy17":                                    "jdk.proxy2.$Proxy",
		"jdk.internal.reflect.GeneratedMethodAccessor12":         "jdk.internal.reflect.GeneratedMethodAccessor",
		"p.Main$1":      "p.Main$1", // an anonymous class of the program
		"p.Main$Inner2": "p.Main$Inner2",
		"p.Lambda4":     "p.Lambda4",
		"libc.so.6":     "libc.so.6",
		"p.x0":          "p.x0",
	} {
		assert.Equal(t, want+".run", lastingName(method(class, "run", 1)))
	}
	assert.Equal(t, unknown, lastingName(nil))
	assert.Equal(t, "_start", lastingName(&recording.Method{Name: "_start"}), "a native frame")
}

// Two runs of a program with a lambda, whose class has another name in each, do not differ.
func TestLambdasOfTwoRunsDoNotDiffer(t *testing.T) {
	run := func(class string) []recording.Record {
		records, lambda := []recording.Record{chunk(0)}, method(class, "run", 9)
		for i := range 500 {
			records = append(records, event(time.Duration(i)*10*time.Millisecond, stack(work, lambda, mainMethod)))
		}
		return records
	}
	d := diff(t, run("p.Main$$Lambda$94+0x00007faa14008670.1457410641"), run("p.Main$$Lambda$93+0x00007fe46c008450.1453774246"))
	assert.True(t, d.Equal(), "%+v", d.Changes)
	assert.Positive(t, d.Compared)
}
