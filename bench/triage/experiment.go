package main

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"misstep/internal/faults"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/triage/triagetest"
)

// experiment plants one cause. Each of its trials is one JVM.
type experiment struct {
	// label names the cause, kind is how it appears; variant distinguishes experiments of one label.
	label, kind, variant string
	// held back: not used to improve triage, so triage can be evaluated with it.
	held bool
	// programs are used in turn; their arguments are part of the experiment.
	programs []program
	// flags of the JVM, after the common ones.
	flags []string
	// oldest and newest feature versions on which it is planted; 0 means no bound.
	oldest, newest int
	// checks by share, and the sampler's interval.
	checks   map[string]float64
	interval time.Duration
	// include are the patterns of instrumented methods.
	include []string
	// wall is the time after which the watchdog considers the JVM hung; 0 means a minute.
	wall time.Duration
	// limits of the trial besides wall.
	memoryMiB, outputMiB, diskMiB uint32
	// faults to inject; only mismatches of walks that were altered belong to the label.
	faults *faults.Plan
	// keep reports whether a mismatch belongs to the label, if no fault is injected.
	keep func(*misstepv1.Mismatch) bool
	// refine distinguishes the causes that one experiment plants: its result is appended to the label.
	refine func(*faults.Fault) string
	// shell is a line that runs before the JVM starts, in its process. It may use $DIR, the folder of the compiled programs.
	shell string
	// home replaces the JDK's home.
	home string
}

// program is a workload of the catalogue, or one of the benchmark's own by its main class.
type program struct {
	name      string
	arguments []string
}

// own marks a program of the benchmark; its main class follows.
const own = "own:"

// library stands for the path of the planted native library among a program's arguments.
const library = "LIBRARY"

var (
	mix        = program{"mix", []string{"300", "7"}}
	forkjoin   = program{"forkjoin", []string{"20000", "7"}}
	exceptions = program{"exceptions", []string{"600", "7"}}
	stubs      = program{"stubs", []string{"2"}}
	epilogue   = program{"epilogue", []string{"1500"}}
	churn      = program{"churn", []string{"15"}}
	deopt      = program{"deopt", []string{"8"}}
)

// Methods through which walks are altered, each called in more than one way or at more than one depth.
const (
	throughJSON = "misstep.workloads.mix.Main.throughJson"
	readValue   = "com.fasterxml.jackson.databind.ObjectMapper.readValue"
	evaluate    = "java.util.stream.AbstractPipeline.evaluate"
	doExec      = "java.util.concurrent.ForkJoinTask.doExec"
	mergeSort   = "misstep.workloads.forkjoin.Main$MergeSort.compute"
	applyAsInt  = "misstep.workloads.exceptions.Main$Calls.applyAsInt"
	thrown      = "misstep.workloads.exceptions.Main.thrown"
	copies      = "misstep.workloads.stubs.Copies.run"
	harness     = "misstep.workloads.Harness.run"
	repeat      = "misstep.workloads.Harness.repeat"
	collect     = "java.util.stream.ReferencePipeline.collect"
	writeValue  = "com.fasterxml.jackson.databind.ObjectMapper.writeValueAsString"
	group       = "java.util.regex.Pattern$GroupHead.match"
	calls       = "misstep.workloads.stubs.Main.calls"
	narrow      = "misstep.workloads.epilogue.Main.narrow"
	fibonacci   = "misstep.workloads.churn.Main.fibonacci"
	threadRun   = "java.lang.Thread.run"
	churned     = "misstep.workloads.deopt.Main.churn"
)

// through returns the programs that call a method.
func through(method string) []program {
	switch method {
	case throughJSON, readValue:
		return []program{mix}
	case evaluate:
		return []program{mix, forkjoin}
	case doExec, mergeSort:
		return []program{forkjoin}
	case applyAsInt, thrown:
		return []program{exceptions}
	case collect, writeValue:
		return []program{mix}
	case group:
		return []program{mix, epilogue}
	case copies, calls:
		return []program{stubs}
	case narrow:
		return []program{epilogue}
	case fibonacci:
		return []program{churn}
	case churned:
		return []program{deopt}
	case threadRun:
		return []program{churn, deopt}
	case repeat:
		return []program{epilogue, stubs, deopt}
	default:
		return []program{mix, forkjoin, exceptions}
	}
}

// corruption is a class of faults with the methods whose walks are altered, at entries and in signal handlers; an empty method
// stands for all walks.
type corruption struct {
	class         string
	entry, signal []string
}

// tuned are the corruptions that were used to improve triage.
var tuned = []corruption{
	{faults.DropMiddle, []string{throughJSON, evaluate, applyAsInt, harness}, []string{throughJSON, mergeSort}},
	{faults.Truncate, []string{readValue, doExec, thrown, harness}, []string{readValue, mergeSort}},
	{faults.Duplicate, []string{throughJSON, evaluate, doExec, copies}, []string{throughJSON, applyAsInt}},
	{faults.Swap, []string{readValue, evaluate, applyAsInt}, []string{evaluate}},
	{faults.Replace, []string{throughJSON, mergeSort, harness}, []string{throughJSON, thrown}},
	{faults.WrongBci, []string{throughJSON, evaluate, thrown, harness}, nil},
	{faults.DropTop, []string{""}, []string{""}},
	{faults.DropBottom, []string{""}, []string{""}},
	{faults.Stale, []string{""}, []string{""}},
	{faults.Foreign, []string{""}, []string{""}},
	{faults.WrongCode, []string{""}, nil},
	{faults.InvalidCode, []string{""}, []string{""}},
}

// judged are corruptions at other places, most of them in other programs, that were specified before triage had been run on any of
// them.
var judged = []corruption{
	{faults.DropMiddle, []string{writeValue, group, narrow, repeat, churned}, []string{narrow, group}},
	{faults.Truncate, []string{collect, fibonacci}, []string{collect, fibonacci, narrow}},
	{faults.Duplicate, []string{collect, fibonacci, repeat}, []string{calls, narrow}},
	{faults.Swap, []string{writeValue, calls, repeat}, []string{group}},
	{faults.Replace, []string{group, calls, fibonacci, threadRun}, []string{collect}},
	{faults.WrongBci, []string{writeValue, narrow, churned, repeat, group}, nil},
}

// injected returns the experiments of the given corruptions.
func injected(all []corruption, held bool) (out []experiment) {
	add := func(where, class, method string) {
		e := experiment{
			label: where + ": " + class, kind: triagetest.KindMismatch, programs: through(method), held: held,
			checks: map[string]float64{recipe.GstAsgct: 0.02},
			flags:  []string{"-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"},
			include: []string{
				"misstep.workloads.*", "com.fasterxml.jackson.databind.Obj*", "java.util.stream.*",
				"java.util.concurrent.F*", "java.util.regex.*",
			},
			faults: &faults.Plan{Classes: []string{class}, Rate: 1, Where: where, Method: method},
		}
		if method != "" {
			e.label += " at " + method
			if method == copies || method == calls {
				e.oldest = 11
			}
		} else {
			e.faults.Rate = 0.05
		}
		if where == "signal" {
			e.checks[recipe.AsgctShadow], e.interval = 1, 250*time.Microsecond
		}
		if class == faults.WrongCode { // a different code is a different bug
			e.refine = func(f *faults.Fault) string { return " " + strconv.Itoa(int(f.After)) }
		}
		out = append(out, e)
	}
	for _, c := range all {
		for _, m := range c.entry {
			add("entry", c.class, m)
		}
		for _, m := range c.signal {
			add("signal", c.class, m)
		}
	}
	return out
}

// passes returns a function that reports whether the reference contains a method for which f returns true.
func passes(f func(class, method string) bool) func(*misstepv1.Mismatch) bool {
	return func(m *misstepv1.Mismatch) bool {
		return slices.ContainsFunc(m.GetReference().GetFrames(),
			func(fr *misstepv1.Frame) bool { return f(fr.GetClassName(), fr.GetMethod()) })
	}
}

// calibration returns experiments on the JDKs' own bugs, each in a program that is designed to trigger it and, as far as is known,
// triggers no other bug that this check sees. The program's behaviour determines what belongs to the label; for the last one, the
// state of the top frame and the instruction at the signal do, which define that bug and are also part of the signature.
func calibration() []experiment {
	deoptimised := []string{
		"-XX:-BackgroundCompilation", "-XX:-UseOnStackReplacement", "-XX:CompileCommand=quiet",
		"-XX:CompileCommand=dontinline,Deoptimised.*",
	}
	var all []experiment
	for _, compiler := range []string{"-XX:TieredStopAtLevel=1", "-XX:-TieredCompilation"} {
		all = append(all, experiment{
			label: "MISSTEP-deoptimised-caller", variant: compiler, kind: triagetest.KindMismatch,
			programs: []program{{own + "Deoptimised", []string{"deoptimised"}}}, oldest: 17,
			flags:  append(slices.Clone(deoptimised), compiler),
			checks: map[string]float64{recipe.GstAsgct: 1}, include: []string{"Deoptimised*"},
			keep: passes(func(class, method string) bool { return class == "Deoptimised" && method == "outer" }),
		})
	}
	return append(all,
		experiment{
			label: "JDK-8303444", kind: triagetest.KindMismatch, programs: []program{{"clinit", []string{"2"}}}, oldest: 17,
			flags: []string{
				"-XX:TieredStopAtLevel=1", "-Xcomp", "-XX:CompileCommand=quiet",
				"-XX:CompileCommand=compileonly,misstep/workloads/clinit/*.*",
			},
			checks: map[string]float64{recipe.GstAsgct: 1}, include: []string{"misstep.workloads.clinit.*"},
			keep: passes(func(class, method string) bool {
				return strings.HasPrefix(class, "misstep.workloads.clinit.") && method == "<clinit>"
			}),
		},
		experiment{
			label: "MISSTEP-virtual-thread-thaw", kind: triagetest.KindMismatch,
			programs: []program{{"vthread-yield", []string{"16", "300"}}}, oldest: 21,
			checks: map[string]float64{recipe.GstAsgct: 0.02}, include: []string{"misstep.workloads.vthread.*"},
			keep: passes(func(class, method string) bool { return class == "java.lang.VirtualThread" && method == "run" }),
		},
		experiment{
			label: "MISSTEP-epilogue-fabrication", kind: triagetest.KindMismatch,
			programs: []program{{"epilogue", []string{"60000"}}},
			checks:   map[string]float64{recipe.AsgctShadow: 1}, interval: 150 * time.Microsecond,
			include: []string{"misstep.workloads.epilogue.*", "java.util.regex.*"},
			keep: func(m *misstepv1.Mismatch) bool {
				return m.GetTopState() == "compiled" && len(m.GetCode()) > 0 && m.GetCode()[0] == 0x5d
			},
		},
	)
}

// small are the flags of short-lived JVMs.
var small = []string{"-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"}

func planted(arguments ...string) []program { return []program{{own + "Planted", arguments}} }

func crashes() []experiment {
	var all []experiment
	add := func(label string, flags []string, arguments ...string) {
		all = append(all, experiment{
			label: label, kind: triagetest.KindCrash, programs: planted(arguments...),
			flags: append(slices.Clone(small), flags...),
		})
	}
	add("unsafe write in storeCounter", nil, "unsafe-write")
	add("unsafe write in flushBuffer", nil, "unsafe-write-elsewhere")
	add("unsafe read in main", nil, "unsafe-read")
	add("null write in native code", nil, "jni-write", library)
	add("wild read in native code", nil, "jni-read", library)
	add("endless recursion in native code", nil, "jni-stack", library)
	add("null write in a thread of the library's", nil, "jni-thread", library)
	add("abort in cleanup_pool", nil, "jni-abort-cleanup", library)
	add("abort in flush_journal", nil, "jni-abort-flush", library)
	add("SIGSEGV sent to the compiler", nil, "signal", library, "C1 Comp")
	add("SIGSEGV sent to the VM thread", nil, "signal", library, "VM Thread")
	known := len(all)
	add("unsafe write in growTable", nil, "unsafe-write-table")
	add("division by zero in native code", nil, "jni-divide", library)
	add("abort in parse_header", nil, "jni-abort-parse", library)
	add("SIGSEGV sent to a collector thread", []string{"-XX:-UseSerialGC", "-XX:+UseParallelGC"}, "signal", library, "GC")
	for i := range all[known:] {
		all[known+i].held = true
	}
	for _, where := range []string{"entry", "signal"} {
		e := experiment{
			label: "crash in AsyncGetCallTrace, " + where, kind: triagetest.KindCrash,
			programs: []program{mix, exceptions, forkjoin},
			checks:   map[string]float64{recipe.GstAsgct: 0.005}, include: []string{"misstep.workloads.*", "java.util.*"},
			faults: &faults.Plan{Classes: []string{faults.Crash}, Rate: 0.01, Where: where},
		}
		if where == "signal" {
			e.checks, e.interval = map[string]float64{recipe.AsgctShadow: 1}, 250*time.Microsecond
		}
		all = append(all, e)
	}
	return all
}

func hangs() []experiment {
	var all []experiment
	for label, mode := range map[string]string{
		"deadlock of two monitors":      "deadlock-monitors",
		"deadlock of two locks":         "deadlock-locks",
		"deadlock of three monitors":    "deadlock-three",
		"lost notify":                   "lost-notify",
		"latch that nobody counts down": "latch",
		"endless loop in spinParser":    "spin-parser",
		"endless loop in spinQueue":     "spin-queue",
	} {
		all = append(all, experiment{
			label: label, kind: triagetest.KindHang, programs: planted(mode), flags: small,
			wall: 2 * time.Second,
		})
	}
	for label, mode := range map[string]string{
		"deadlock of a pool's workers": "deadlock-pool", "permit that nobody gives back": "permit",
		"join of a thread that sleeps": "join",
		"endless loop in spinIndex":    "spin-index",
	} {
		all = append(all, experiment{
			label: label, kind: triagetest.KindHang, programs: planted(mode), flags: small,
			wall: 2 * time.Second, held: true,
		})
	}
	for label, mode := range map[string]string{
		"loop without a safepoint poll in digest": "safepoint-digest",
		"loop without a safepoint poll in search": "safepoint-search",
	} {
		all = append(all, experiment{
			label: label, kind: triagetest.KindHang, programs: planted(mode), wall: 4 * time.Second,
			flags: []string{"-Xmx64m", "-XX:+UseSerialGC", "-XX:-UseCountedLoopSafepoints", "-XX:-BackgroundCompilation"},
		})
	}
	all = append(all, experiment{
		label: "starved by the scheduler", kind: triagetest.KindHang, programs: planted("sleep"), flags: small,
		wall:  5 * time.Second,
		shell: "(sleep 2; echo $$ >" + throttled + "/cgroup.procs) &",
	})
	for _, where := range []string{"entry", "signal", "handler"} {
		e := experiment{
			label: "hang in AsyncGetCallTrace, " + where, kind: triagetest.KindHang, programs: []program{mix, exceptions, forkjoin},
			checks: map[string]float64{recipe.GstAsgct: 0.005}, include: []string{"misstep.workloads.*", "java.util.*"},
			faults: &faults.Plan{Classes: []string{faults.Hang}, Rate: 0.01, Where: where},
		}
		if where != "entry" {
			e.checks, e.interval = map[string]float64{recipe.AsgctShadow: 1}, 250*time.Microsecond
		}
		if where == "handler" {
			e.label, e.faults, e.shell = "spin in the agent's handler", nil, "export LD_PRELOAD=$DIR/libspin.so"
		}
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b experiment) int { return strings.Compare(a.label, b.label) })
	return all
}

// nothings returns experiments with failures of the machine, of limits and of the workload itself. None of them may become a
// finding.
func nothings() []experiment {
	var all []experiment
	add := func(label string, e experiment) {
		e.label, e.kind = label, triagetest.KindNothing
		if e.programs == nil {
			e.programs = fixture("verified")
		}
		e.flags = append(slices.Clone(small), e.flags...)
		all = append(all, e)
	}
	add("killed from outside", experiment{programs: fixture("kill", "KILL")})
	add("asked from outside to end", experiment{programs: fixture("kill", "TERM")})
	add("beyond its memory limit", experiment{programs: fixture("eat"), flags: []string{"-Xmx8g"}, memoryMiB: 150})
	add("Java heap full", experiment{programs: fixture("eat")})
	add("Java heap full, with an error file", experiment{
		programs: fixture("eat"), flags: []string{"-XX:+CrashOnOutOfMemoryError"},
		oldest: 11,
	})
	add("no native memory for the heap", experiment{flags: []string{"-Xms40000g", "-Xmx40000g"}})
	add("beyond its output limit", experiment{programs: fixture("print"), outputMiB: 1})
	add("beyond its disk limit", experiment{programs: fixture("fill"), diskMiB: 8})
	add("unknown flag", experiment{flags: []string{"-XX:+NoSuchFlag"}})
	add("no main class", experiment{programs: []program{{own + "NoSuchClass", nil}}})
	add("no JDK", experiment{home: "/nonexistent"})
	add("library that cannot be loaded", experiment{programs: planted("jni-write", "/nonexistent/libplanted.so")})
	add("exit code 1", experiment{programs: fixture("exit", "1")})
	add("wrong result", experiment{programs: fixture("invalid")})
	add("exception in main", experiment{programs: fixture("throw")})
	for _, race := range []string{"CheckThenAct", "LostUpdate", "Shutdown"} {
		add("race of the application: "+race, experiment{programs: []program{{own + race, []string{"2000", "1"}}}})
	}
	return all
}

func fixture(arguments ...string) []program { return []program{{own + "Fixture", arguments}} }

func experiments() []experiment {
	return slices.Concat(injected(tuned, false), injected(judged, true), calibration(), crashes(), hangs(), nothings())
}
