package triage

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	misstepv1 "misstep/proto/misstep/v1"
)

// Crash returns the signature of a crash and a title.
func Crash(c *misstepv1.Crash) (*misstepv1.Signature, string) {
	kind, frame := crashError(c), blamed(c)
	chain := walkerChain(c)
	thread := threadKind(c.GetThread())
	op := vmOperation(c.GetVmOperation())
	parts := []string{kind, "frame: " + frame, "walker: " + chain, "thread: " + thread, "operation: " + op}
	title := fmt.Sprintf("%s in %s (%s)", kind, frame, thread)
	if c.GetInWalk() {
		title = fmt.Sprintf("%s in %s while a stack was walked (%s)", kind, frame, thread)
	}
	return signatureOf(KindCrash, parts...), clean(title)
}

var (
	signalNameRE = regexp.MustCompile(`^(SIG[A-Z0-9]+|EXCEPTION_[A-Z_]+)`)
	sourceRE     = regexp.MustCompile(`\(([^()]*/)?([A-Za-z0-9_.]+\.[ch]pp):\d+\)`)
	// assert(x) failed: text — the text may end in values of the run. What precedes it may itself be "Internal Error (file:line);".
	failedRE  = regexp.MustCompile(`\b((assert|guarantee)\(|(fatal error|Error):).*`)
	hexRE     = regexp.MustCompile(`0x[0-9a-fA-F]+`)
	longNumRE = regexp.MustCompile(`\b\d{3,}\b`)
)

// crashError is the signal's name, or for an internal error the source file (without its line, which moves with every
// update) and what was asserted.
func crashError(c *misstepv1.Crash) string {
	if m := signalNameRE.FindString(c.GetError()); m != "" {
		return m
	}
	text := c.GetError() + " " + c.GetDetail()
	out := "Internal Error"
	if strings.HasPrefix(c.GetError(), "Out of Memory Error") {
		out = "Out of Memory Error"
	}
	if m := sourceRE.FindStringSubmatch(text); m != nil {
		out += " " + m[2]
	}
	if m := failedRE.FindString(c.GetDetail()); m != "" {
		out += " " + plainText(m)
	} else if out == "Internal Error" {
		out = plainText(c.GetError())
	}
	return out
}

// plainText takes addresses and long numbers out of a message.
func plainText(s string) string {
	return strings.Join(strings.Fields(longNumRE.ReplaceAllString(hexRE.ReplaceAllString(s, "ADDR"), "NUM")), " ")
}

var (
	vmFrameRE    = regexp.MustCompile(`^([VC])\s+\[([^\]+]+)(?:\+0x[0-9a-fA-F]+)?\]\s*(.*)$`)
	javaFrameRE  = regexp.MustCompile(`^[Jj]\s+(?:\d+%?\s+)?(?:(c1|c2|jvmci|C1|C2)\s+)?([^\s(]+)\(`)
	stubFrameRE  = regexp.MustCompile(`^v\s+(~?[\w:]+)`)
	offsetRE     = regexp.MustCompile(`\+0x[0-9a-fA-F]+(\s.*)?$`)
	cloneRE      = regexp.MustCompile(`(\.(part|constprop|isra|cold|lto_priv|llvm)(\.\d+)*)+$|\s*\[clone [^\]]*\]`)
	anonymousNSE = regexp.MustCompile(`\(anonymous namespace\)::`)
	versionSO    = regexp.MustCompile(`(\.so)(\.\d+)+$|-\d+(\.\d+)+(\.so)$`)
)

// blamed is the frame to blame: the problematic one, unless that is only the means of dying. abort is called by whoever gave up, and Unsafe
// writes where it is told to; its functions in the VM have other names in each JDK.
func blamed(c *misstepv1.Crash) string {
	frame := nativeFrame(c.GetProblematicFrame())
	switch {
	case strings.HasPrefix(c.GetError(), "SIGABRT") && cLibrary(frame):
		for _, raw := range c.GetNativeFrames() {
			if f := nativeFrame(raw); !cLibrary(f) {
				return f
			}
		}
	case strings.HasPrefix(frame, "V Unsafe_"), frame == "V libjvm.so":
		unsafe := false
		for _, raw := range c.GetJavaFrames() {
			f := nativeFrame(raw)
			if strings.Contains(f, ".Unsafe.") {
				unsafe = true
			} else if !unsafe {
				break
			} else if !reflectionRE.MatchString(f) {
				_, method, _ := strings.Cut(strings.TrimPrefix(f, "J "), " ")
				return "V Unsafe for " + method
			}
		}
	}
	return frame
}

// reflectionRE knows the frames between a method that is called by reflection and its caller: stubs to 17, method handles from 18 on.
var reflectionRE = regexp.MustCompile(`^v |^J \w+ (java\.lang\.(reflect|invoke)|(jdk\.internal|sun)\.reflect)\.`)

var cLibraryRE = regexp.MustCompile(`^C (libc\.so|libc-|libpthread|unknown( (__)?(GI_)?(pthread_kill|raise|abort)|$))`)

// cLibrary says that a frame is of the C library, or of no library that is known.
func cLibrary(frame string) bool { return cLibraryRE.MatchString(frame) }

// nativeFrame normalises one frame as hs_err prints it: "V  [libjvm.so+0x9c8a5c]  frame::sender(RegisterMap*) const+0x4c" is
// "V frame::sender", "J 1234 c2 java.util.HashMap.get(…)… @ 0x…" is "J c2 java.util.HashMap.get".
func nativeFrame(s string) string {
	s = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(s), "#"))
	if m := vmFrameRE.FindStringSubmatch(s); m != nil {
		lib := versionSO.ReplaceAllString(m[2], "$1$3")
		if fn := function(m[3]); fn != "" {
			if m[1] == "C" {
				return "C " + lib + " " + fn
			}
			return "V " + fn
		}
		return m[1] + " " + lib
	}
	if m := javaFrameRE.FindStringSubmatch(s); m != nil {
		tier := strings.ToLower(m[1]) // JDK 8 writes C1
		switch {
		case tier != "":
		case s[0] == 'J':
			tier = "compiled"
		default:
			tier = "interpreted"
		}
		dot := max(strings.LastIndexByte(m[2], '.'), 0)
		return "J " + tier + " " + Class(m[2][:dot]) + Method(m[2][dot:])
	}
	if m := stubFrameRE.FindStringSubmatch(s); m != nil {
		return "v " + strings.TrimPrefix(m[1], "~")
	}
	if s == "" {
		return "(unknown)"
	}
	return plainText(s)
}

// function is the name in a demangled symbol: without offset, arguments, qualifiers and the suffixes of cloned functions.
func function(symbol string) string {
	s := strings.TrimSpace(offsetRE.ReplaceAllString(symbol, ""))
	s = anonymousNSE.ReplaceAllString(cloneRE.ReplaceAllString(s, ""), "")
	// Cut the argument list: the first parenthesis outside of template arguments, but not that of operator().
	depth := 0
	for i, r := range s {
		switch r {
		case '<':
			if !strings.HasSuffix(s[:i], "operator") && !strings.HasSuffix(s[:i], "operator<") {
				depth++
			}
		case '>':
			depth--
		case '(':
			if depth <= 0 && i > 0 && !strings.HasSuffix(s[:i], "operator") {
				return strings.TrimSpace(s[:i])
			}
		}
	}
	return strings.TrimSuffix(s, " const")
}

// walkerEnds are where the chain of a walk ends: the entry points of walkers, the handler and the kernel's trampoline.
var walkerEnds = []string{"AsyncGetCallTrace", "JvmtiEnv::GetStackTrace", "jvmti_GetStackTrace", "JfrStackTrace::record", "JfrThreadSampl"}

// maxChain frames tell the ways into one function apart without splitting on how deep the walk was.
const maxChain = 4

// walkerChain is how the walk got to the crash: the VM's own frames from the problematic one to the walker's entry, each
// function once, at most maxChain and the entry. "none" when no walker is on the stack. A walk from a word of the stack that was taken for a return
// address (sampling.guesses) says so: the registers were made up.
func walkerChain(c *misstepv1.Crash) string {
	var chain []string
	guess := ""
	if c.GetPhase() == "guess" || slices.ContainsFunc(c.GetNativeFrames(), func(f string) bool { return strings.Contains(f, "GuessCallers") }) {
		guess = " < guess"
	}
	for _, raw := range c.GetNativeFrames() {
		f := nativeFrame(raw)
		fn, vm := strings.CutPrefix(f, "V ")
		if !vm || strings.HasPrefix(fn, "lib") { // without symbols a name says nothing
			continue
		}
		for _, end := range walkerEnds {
			if strings.HasPrefix(fn, end) {
				return strings.Join(append(chain, fn), " < ") + guess
			}
		}
		if len(chain) < maxChain && (len(chain) == 0 || chain[len(chain)-1] != fn) && !errorReporter(fn) {
			chain = append(chain, fn)
		}
	}
	if c.GetInWalk() {
		phase := c.GetPhase()
		if phase == "" {
			phase = "walk"
		}
		return "in " + phase
	}
	return "none"
}

// errorReporter says that a function only reports the crash: release and fastdebug builds have different ones on top.
func errorReporter(fn string) bool {
	for _, p := range []string{"VMError::", "report_vm_error", "report_fatal", "report_java_out_of_memory", "JVM_handle_linux_signal", "PosixSignals::", "crash_handler", "javaSignalHandler"} {
		if strings.HasPrefix(fn, p) {
			return true
		}
	}
	return false
}

var compilerThreadRE = regexp.MustCompile(`C([12]) CompilerThread|JVMCI`)

// threadKind is what sort of thread it was, from hs_err's "Current thread" line.
func threadKind(line string) string {
	switch {
	case strings.TrimSpace(line) == "":
		return "unknown"
	case strings.Contains(line, "CompilerThread"):
		if m := compilerThreadRE.FindStringSubmatch(line); m != nil && m[1] != "" {
			return "compiler C" + m[1]
		}
		return "compiler"
	case strings.Contains(line, "VMThread"):
		return "VM thread"
	case strings.Contains(line, "ConcurrentGCThread"), strings.Contains(line, "GCTaskThread"), strings.Contains(line, "WorkerThread"),
		strings.Contains(line, "G1 "), strings.Contains(line, "ZWorker"), strings.Contains(line, "Shenandoah"), strings.Contains(line, "GC Thread"):
		return "GC"
	case strings.Contains(line, "WatcherThread"):
		return "watcher"
	case strings.Contains(line, "JfrThreadSampler"), strings.Contains(line, "JFR Thread Sampler"), strings.Contains(line, "JFR Sampler"):
		return "JFR sampler"
	case strings.Contains(line, "JavaThread"):
		return "Java"
	case strings.Contains(line, "native thread"), strings.Contains(line, "Thread"):
		return "other"
	}
	return "unknown"
}

var operationRE = regexp.MustCompile(`^(?:VM_Operation\s*\([^)]*\):\s*)?([A-Za-z_][A-Za-z0-9_]*)`)

func vmOperation(s string) string {
	if m := operationRE.FindStringSubmatch(strings.TrimSpace(s)); m != nil {
		return m[1]
	}
	return "none"
}
