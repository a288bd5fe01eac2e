package reports

import (
	"slices"
	"strings"

	"misstep/triage/triagetest"
)

// cause is one planted bug.
type cause struct {
	// name is the argument of the program that plants it; causes at once are joined by plus signs.
	name string
	// bug names the cause where several arguments plant one; empty: name does.
	bug  string
	kind string
	// flags of the JVM.
	flags []string
	// oldest and newest feature versions on which it is planted; 0 means no bound.
	oldest, newest int
	// inVM: the VM's code crashes, in functions that have other names in other builds and none without symbols. Otherwise the
	// program's own code is to blame, whatever the JVM.
	inVM bool
	// byVersion: versions of the JVM say different things about it.
	byVersion bool
	// compiled: the compiler decides what a report shows, so each mode of execution is one way to show the cause.
	compiled bool
	// unnamed: the program's library has no symbols.
	unnamed bool
	// jsonOnly: JSON is the only dump that shows it.
	jsonOnly bool
	// byAgent: the serviceability agent prints one of its dumps, where it knows names.
	byAgent bool
	// deadlock: HotSpot finds it.
	deadlock bool
	// shows are patterns that a report of the cause contains, all of them. A cut report counts if they are in what is left.
	shows []string
	// held back from whoever improves triage.
	held bool
}

// modes of execution of a program's own methods.
var modes = []struct {
	name  string
	flags []string
}{
	{"interpreted", []string{"-Xint"}},
	{"C1", append([]string{"-XX:TieredStopAtLevel=1", "-Xbatch"}, apart...)},
	{"C2", append([]string{"-XX:-TieredCompilation", "-Xbatch"}, apart...)},
}

// apart keeps the methods to blame out of their callers.
var apart = []string{
	"-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,Ledger.*", "-XX:CompileCommand=dontinline,Index.*",
	"-XX:CompileCommand=dontinline,Pages.*",
}

// currentThread is the line of an error file with the thread's kind.
const currentThread = `(?m)^Current thread.*\n`

func crashes() []cause {
	var all []cause
	add := func(c cause) {
		c.kind = triagetest.KindCrash
		c.shows = append(c.shows, currentThread)
		c.held = len(all)%2 == 1
		all = append(all, c)
	}
	for name, method := range sorted(map[string]string{
		"post": "Ledger.post", "settle": "Ledger.settle", "probe": "Index.probe", "copy": "Pages.copy", "wipe": "Pages.wipe",
		"swap": "Index.swap", "plugin": "Ledger.apply", "drain": `Pages.lambda\$drain`, "grow": "Index.grow",
		"pooled": "Pages.flush",
	}) {
		add(cause{name: name, compiled: true, shows: []string{method}})
	}
	add(cause{name: "virtual", oldest: 21, shows: []string{"Index.spill"}})
	for name, function := range sorted(map[string]string{
		"tablePut": "table_put", "indexFind": "index_find", "average": "average_of", "detachedSum": "worker_sum",
		"attachedSum": "attached_sum", "decodeOp": "decode_op",
		"sortRows": "compare_rows", "scanMap": "scan_map", "pushRing": "Ring<.*>::push", "finalize": "free_handle",
		"exit": "say_goodbye",
		// A walk by frame pointers skips the caller of a function that does not keep one, as memcpy does.
		"copyRows": "Java_Vault_copyRows", "packKeys": "Java_Vault_packKeys", "wipePages": "Java_Vault_wipePages",
		"parseName": "Java_Vault_parseName",
	}) {
		add(cause{name: name, shows: []string{function}})
	}
	// Older versions do not find the caller of a function at a wild address, and how far a walk gets through the C library depends
	// on its build, which comes with some JDKs: the report ends at our function, at the JNI one, or begins with the Java method.
	for _, name := range []string{
		"callHook", "dispatchEvent", "selfSignal", "closeFile", "formatLine", "listFolder", "freeNode",
	} {
		add(cause{name: name, byVersion: true, shows: []string{"Vault." + name}})
	}
	for _, name := range []string{"unnamedFirst", "unnamedSecond"} {
		add(cause{name: name, unnamed: true, shows: []string{"Vault." + name}})
	}
	for name, shows := range sorted(map[string]string{
		"staleClass": "Vault.staleClass", "staleLength": "Vault.staleLength", "staleText": "Vault.staleText",
		"staleGlobal": "Vault.staleGlobal", "staleMethod": "Vault.staleMethod",
		"walkAsync": "Vault.walkAsync",
	}) {
		add(cause{name: name, inVM: true, shows: []string{shows}})
	}
	add(cause{name: "walkStale", inVM: true})
	// One bug, an address that GetStackTrace writes to, on two ways to the same function.
	add(cause{name: "walk-other", bug: "bad buffer of GetStackTrace", inVM: true})
	add(cause{name: "walkSelf", bug: "bad buffer of GetStackTrace", inVM: true, shows: []string{"Vault.walkSelf"}})
	add(cause{name: "walk-broken", inVM: true, flags: []string{"-Xint"}})
	serial := []string{"-XX:+UseSerialGC"}
	compact := "-XX:-UseCompactObjectHeaders"
	add(cause{name: "klass", inVM: true, flags: append(slices.Clone(serial), compact)})
	add(cause{name: "reference", inVM: true, flags: serial})
	add(cause{name: "memory", inVM: true, oldest: 11, flags: []string{"-XX:+CrashOnOutOfMemoryError", "-XX:+UseSerialGC"}})
	for _, class := range []string{"Ledger$Rejected", "Index$Damaged"} {
		owner, _, _ := strings.Cut(class, "$")
		add(cause{
			name: "saw-" + strings.ToLower(owner), inVM: true, oldest: 11,
			flags: []string{"-XX:+UnlockDiagnosticVMOptions", "-XX:AbortVMOnException=" + class},
			shows: []string{"Saw " + owner},
		})
	}
	for _, k := range []struct {
		comm, shows string
		flags       []string
		oldest      int
	}{
		{"C1 Comp", "C1 CompilerThread", nil, 11},
		{"C2 Comp", "C2 CompilerThread", nil, 11},
		{"VM Thread", "VMThread", serial, 11},
		{"GC Thread", "GC Thread", []string{"-XX:+UseParallelGC"}, 11},
		{"VM Periodic", "WatcherThread", nil, 11},
		{"Reference Handl", "Reference Handler", nil, 11},
		{"JFR Thread S|JFR Sampler", "JFR", []string{"-XX:StartFlightRecording"}, 11},
	} {
		c := cause{name: "kill:" + k.comm, inVM: true, flags: k.flags, oldest: k.oldest}
		c.shows = append(c.shows, k.shows)
		add(c)
	}
	return all
}

func hangs() []cause {
	var all []cause
	add := func(name string, shows ...string) *cause {
		c := cause{name: name, kind: triagetest.KindHang, shows: shows, held: len(all)%2 == 1}
		all = append(all, c)
		return &all[len(all)-1]
	}
	for name, methods := range sorted(map[string][]string{
		"monitors": {"Account.transfer", "Account.balance"}, "caches": {"Cache.load", "Cache.evict"}, "three": {"Fork.eat"},
		"locks": {"Segment.merge", "Segment.flush"}, "locks-three": {"Segment.cross"},
		"read-write": {"Segment.replicate", "Segment.commit"}, "mixed": {"Cache.write", "Cache.read"},
		"jni": {"Native.enter", "Native.leave"}, "pool": {"Cache.reserve", "Cache.release"},
	}) {
		add(name, methods...).deadlock = true
	}
	for name, methods := range sorted(map[string][]string{
		"notify": {"Mailbox.take"}, "future": {"Mailbox.confirm"}, "task": {"Mailbox.report"}, "latch": {"Gates.awaitStartup"},
		"semaphore": {"Gates.acquirePermit"}, "barrier": {"Gates.meet"}, "phaser": {"Gates.advance"}, "exchanger": {"Gates.trade"},
		"synchronous": {"Queues.deliver"}, "full": {"Queues.produce"}, "feed": {`Queues.poll\b`}, "condition": {"Gates.open"},
		"join": {"Gates.shutDown", "Waits.nap"}, "park": {"Gates.pass"}, "backoff": {"Loops.backOff"}, "stamped": {"Gates.stamp"},
		"leaked": {"Gates.inherit"}, "starved-pool": {"Loops.stage"}, "fork-join": {`Loops\$Knot.compute`},
		"parse": {"Loops.parse"}, "probe": {"Loops.probe"}, "held-by-loop": {"Loops.refresh", "Loops.lookUp"},
		"read": {"Channels.readLine"}, "child": {"Channels.runChild"}, "stall": {"Native.stall"},
		"native-loop": {"Native.poll"}, "finalizer": {`Gates\$Leaky.finalize`}, "exit": {"Gates.neverFlush"},
	}) {
		add(name, methods...)
	}
	add("initialisers", "Left.start", "Right.begin")
	add("virtual-pinned", "Gates.pinned").oldest = 21
	add("virtual-loop", "Loops.spin").oldest = 21
	for name, method := range sorted(map[string]string{
		"virtual-latch": "Gates.awaitVirtual", "virtual-queue": "Queues.pollVirtual",
	}) {
		c := add(name, method)
		c.oldest, c.jsonOnly = 21, true
	}
	// Deadlocks at once: each is a finding of its own.
	add("monitors+locks", "Account.transfer", "Account.balance", "Segment.merge", "Segment.flush").deadlock = true
	add("caches+three", "Cache.load", "Cache.evict", "Fork.eat").deadlock = true
	return append(all, kinds()...)
}

// kinds are hangs in generated classes, in initialisers and of virtual threads without a carrier. Which are held back was decided
// before any of them was tried.
func kinds() []cause {
	var all []cause
	add := func(held bool, name string, shows ...string) *cause {
		all = append(all, cause{name: name, kind: triagetest.KindHang, shows: shows, byAgent: true, held: held})
		return &all[len(all)-1]
	}
	add(false, "generated-number", `shop\.gen\.Class\d+`)
	add(false, "generated-cglib", `shop\.Till\$\$Enh`)
	add(false, "generated-rule", `shop\.Rule_Discount`)
	add(true, "generated-buddy", `shop\.Order\$`)
	add(true, "generated-javassist", `shop\.Customer_`)
	add(true, "generated-hash", `shop\.Query_`)
	add(true, "generated-inner", `shop\.Plan\d+\$Step`)
	add(false, "class-sleep", `Settings.<clinit>`)
	// Up to 16 the JVM does not say who of three waits for which class.
	add(false, "class-three", `Ring1.<clinit>`, `Ring2.<clinit>`, `Ring3.<clinit>`).byVersion = true
	add(true, "class-latch", `Registry.<clinit>`)
	add(true, "class-loop", `Tables.<clinit>`)
	add(true, "class-super", `Shape.<clinit>`)
	add(true, "class-lock", `Audit.<clinit>`)
	for name, held := range sorted(map[string]bool{
		"carriers-pinned": false, "carriers-busy": false, "carriers-free": false, "carriers-native": true, "carriers-mixed": true,
	}) {
		c := add(held, name)
		c.oldest, c.jsonOnly, c.byAgent = 25, true, false // up to 24 its dump does not say which virtual threads run
		c.flags = []string{
			"-Djdk.virtualThreadScheduler.parallelism=2", "-Djdk.virtualThreadScheduler.maxPoolSize=2",
			"-Djdk.reflect.useNativeAccessorOnly=true",
		}
	}
	return all
}
