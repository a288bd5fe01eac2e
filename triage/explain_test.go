package triage_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/triage"
)

func factsOf(t *testing.T, e triage.Explanation) map[string]any {
	t.Helper()
	facts := map[string]any{}
	for _, f := range e.Facts {
		require.NotEmpty(t, f.Name)
		require.NotContains(t, facts, f.Name, "two facts of one name")
		require.Contains(t, []string{"string", "int", "bool"}, typeName(f.Value), f.Name)
		facts[f.Name] = f.Value
	}
	return facts
}

func typeName(v any) string {
	switch v.(type) {
	case string:
		return "string"
	case int:
		return "int"
	case bool:
		return "bool"
	}
	return "another"
}

func TestExplainAMismatch(t *testing.T) {
	o := &misstepv1.Outcome{Mismatches: []*misstepv1.Mismatch{clinit(10), clinit(3)}}
	s, _ := triage.Mismatch(o.GetMismatches()[0])
	e, err := triage.Explain(o, s)
	require.NoError(t, err)
	assert.Equal(t, "entry/cut-at-upcall", e.Rule)
	assert.NotEmpty(t, e.Reason)
	facts := factsOf(t, e)
	assert.Equal(t, "upcall <clinit>", facts["edge where the stacks part"])
	assert.Equal(t, 4, facts["frames of the reference"], "of the smallest example")
	assert.Equal(t, false, facts["taken in a signal handler"])

	_, err = triage.Explain(&misstepv1.Outcome{}, s)
	assert.ErrorContains(t, err, "no mismatch of the outcome has the signature")
}

func TestExplainACrashAndAHang(t *testing.T) {
	o := &misstepv1.Outcome{
		Crash: &misstepv1.Crash{
			Error: "SIGSEGV (0xb)", ProblematicFrame: "V  [libjvm.so+0x1]  frame::sender(RegisterMap*)+0x1", InWalk: true,
		},
		Hang: &misstepv1.Hang{
			Cause: "deadlock", Threads: []*misstepv1.HungThread{{Name: "main", WaitsFor: "a.B", HeldBy: "other"}},
		},
	}
	crash, _ := triage.Crash(o.GetCrash())
	e, err := triage.Explain(o, crash)
	require.NoError(t, err)
	assert.Equal(t, "crash/problematic-frame", e.Rule)
	facts := factsOf(t, e)
	assert.Equal(t, true, facts["in a stack walk"])
	assert.Equal(t, "SIGSEGV", facts["part 1 of the signature"])

	hang := triage.Hangs(o.GetHang())[0].Signature
	e, err = triage.Explain(o, hang)
	require.NoError(t, err)
	assert.Equal(t, "hang/no-thread", e.Rule)
	assert.Contains(t, factsOf(t, e)["thread main"], "waits for a.B held by other")

	_, err = triage.Explain(&misstepv1.Outcome{}, crash)
	assert.ErrorContains(t, err, "the outcome has no crash")
}

// Each rule decides in one row.
func TestRulesOfCrashesAndHangs(t *testing.T) {
	const vm, libc = "V  [libjvm.so+0x1]  frame::sender(RegisterMap*)+0x1", "C  [libc.so.6+0x1]  __strlen_avx2+0x1"
	const reporting, bare = "V  [libjvm.so+0x2]  VMError::report_and_die()+0x1", "C  0x0000000000003b36"
	crashes := map[string]*misstepv1.Crash{
		"crash/problematic-frame": {Error: "SIGSEGV (0xb)", ProblematicFrame: vm, NativeFrames: []string{vm}},
		"crash/unknown-frame":     {Error: "SIGSEGV (0xb)"},
		"crash/unsafe-caller": {
			Error: "SIGSEGV (0xb)", ProblematicFrame: "V  [libjvm.so+0x1]  Unsafe_GetLong+0x1",
			NativeFrames: []string{"V  [libjvm.so+0x1]  Unsafe_GetLong+0x1"},
			JavaFrames:   []string{"j  sun.misc.Unsafe.getLong(J)J+4", "j  demo.Peek.at(J)J+1"},
		},
		"crash/called-by": {Error: "SIGSEGV (0xb)", ProblematicFrame: libc, NativeFrames: []string{libc, vm}},
		"crash/aborted":   {Error: "SIGABRT (0x6)", ProblematicFrame: libc, NativeFrames: []string{libc, vm}},
		"crash/build-offset": {
			Error: "SIGSEGV (0xb)", ProblematicFrame: "V  [jvm.dll+0x1234]", NativeFrames: []string{"V  [jvm.dll+0x1234]"},
			VmBuild: "OpenJDK 64-Bit Server VM 15.0.2+7-27 windows-amd64",
		},
		"crash/behind-the-report": {Error: "Internal Error", NativeFrames: []string{reporting, vm}},
		"crash/first-known-frame": {Error: "SIGSEGV (0xb)", ProblematicFrame: bare, NativeFrames: []string{bare, vm}},
	}
	hangs := map[string]*misstepv1.Hang{
		"hang/starved":   {Cause: "starved"},
		"hang/no-thread": {Cause: "limit", Threads: []*misstepv1.HungThread{{Name: "Finalizer"}}},
		"hang/in-walk": {Cause: "in-walk", Threads: []*misstepv1.HungThread{
			{Name: "main", NativeFrames: []string{"frame::sender(RegisterMap*) from libjvm.so", "AsyncGetCallTrace from libjvm.so"}},
		}},
		"hang/safepoint": {Cause: "safepoint", Threads: []*misstepv1.HungThread{{Name: "main", Running: 1}}},
		"hang/deadlock": {Cause: "deadlock", Threads: []*misstepv1.HungThread{
			{Name: "left", JavaFrames: []string{"demo.A.f(A.java)"}, WaitsFor: "demo.Lock", HeldBy: "right"},
			{Name: "right", JavaFrames: []string{"demo.A.h(A.java)"}, WaitsFor: "demo.Lock", HeldBy: "left"},
			{Name: "third", JavaFrames: []string{"demo.A.g(A.java)"}, WaitsFor: "demo.Lock", HeldBy: "left"},
		}},
		"hang/initialiser-deadlock": {Cause: "deadlock", Threads: []*misstepv1.HungThread{
			{Name: "left", JavaFrames: []string{"demo.A.<clinit>(A.java)"}, WaitsFor: "java.lang.Class", HeldBy: "right"},
			{Name: "right", JavaFrames: []string{"demo.B.<clinit>(B.java)"}, WaitsFor: "java.lang.Class", HeldBy: "left"},
		}},
		"hang/class-initialiser": {Cause: "initialisation", Threads: []*misstepv1.HungThread{
			{Name: "owner", JavaFrames: []string{"demo.A.load(A.java)", "demo.A.<clinit>(A.java)", "demo.Main.main(Main.java)"}},
			{Name: "needs", JavaFrames: []string{"demo.Main.use(Main.java)"}, WaitsFor: "java.lang.Class", HeldBy: "owner"},
		}},
		"hang/starved-carriers": {Cause: "starved-carriers", Threads: []*misstepv1.HungThread{
			{Name: "ForkJoinPool-1-worker-1", Tid: 7, Virtual: true, JavaFrames: []string{
				"java.lang.VirtualThread.parkOnCarrierThread(VirtualThread.java)", "demo.A.hold(A.java)", "demo.A.<clinit>(A.java)",
			}},
			{Virtual: true},
		}},
		"hang/idle": {Cause: "limit", Threads: []*misstepv1.HungThread{
			{Name: "pool", JavaFrames: []string{
				"jdk.internal.misc.Unsafe.park(Native Method)", "java.util.concurrent.ThreadPoolExecutor.getTask(ThreadPoolExecutor.java)",
			}},
		}},
		"hang/waiting-threads": {Cause: "limit", Threads: []*misstepv1.HungThread{
			{Name: "worker", JavaFrames: []string{"demo.A.f(A.java)"}},
			{Name: "worker", JavaFrames: []string{"demo.A.g(A.java)"}},
			{Name: "Finalizer", JavaFrames: []string{"java.lang.Object.wait(Native Method)"}},
			{Name: "native"},
			{Name: "JFR Thread Samp", NativeFrames: []string{"JfrStackTrace::record_thread from libjvm.so"}},
			{Name: "sleeper", JavaFrames: []string{"java.lang.Thread.sleep(Native Method)", "demo.A.nap(A.java)"}},
			{Name: "third", JavaFrames: []string{"demo.A.g(A.java)"}, WaitsFor: "demo.Lock", HeldBy: "worker"},
		}},
	}
	seen := map[string]bool{}
	for rule, c := range crashes {
		s, _ := triage.Crash(c)
		e, err := triage.Explain(&misstepv1.Outcome{Crash: c}, s)
		require.NoError(t, err)
		assert.Equal(t, rule, e.Rule)
		assert.NotEmpty(t, e.Reason)
		facts := factsOf(t, e)
		if len(c.GetNativeFrames()) == 2 {
			assert.Equal(t, "2 of 2: "+vm, facts["blamed native frame"], rule)
		}
		seen[rule] = true
	}
	for rule, h := range hangs {
		s := triage.Hangs(h)[0].Signature
		e, err := triage.Explain(&misstepv1.Outcome{Hang: h}, s)
		require.NoError(t, err)
		assert.Equal(t, rule, e.Rule)
		factsOf(t, e)
		seen[rule] = true
	}
	for _, rule := range triage.OutcomeRules() {
		assert.True(t, seen[rule], "no row has the rule %s", rule)
	}
	s := triage.Hangs(hangs["hang/waiting-threads"])[0].Signature
	e, err := triage.Explain(&misstepv1.Outcome{Hang: hangs["hang/waiting-threads"]}, s)
	require.NoError(t, err)
	facts := factsOf(t, e)
	assert.Equal(t, "0 native and 1 Java frames; blamed: worker at demo.A.f", facts["thread worker"])
	assert.Equal(t, "0 native and 1 Java frames; blamed: worker at demo.A.g", facts["thread worker (2)"])
	for name, why := range map[string]string{
		"Finalizer": "of the JVM's own", "native": "no frames that say where it is",
		"third": "waits for a lock that another thread holds", "JFR Thread Samp": "only samples the others",
	} {
		assert.Contains(t, facts["thread "+name], "; left out: "+why)
		assert.Equal(t, 1, facts["left out: "+why])
	}
	s = triage.Hangs(hangs["hang/deadlock"])[0].Signature
	e, err = triage.Explain(&misstepv1.Outcome{Hang: hangs["hang/deadlock"]}, s)
	require.NoError(t, err)
	assert.Contains(t, factsOf(t, e)["thread third"], "; left out: not in the deadlock")
	assert.Contains(t, factsOf(t, e)["thread left"], "; blamed: left at demo.A.f waits for demo.Lock held by right")
}
