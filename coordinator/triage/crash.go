package triage

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/signature"
)

// Crash returns the signature of a crash and a title.
func Crash(c *misstepv1.Crash) (*misstepv1.Signature, string) {
	s := signature.Crash{
		Error: crashError(c), Frame: blamed(c), Walker: walkerChain(c),
		Thread: threadKind(c.GetThread()), Operation: vmOperation(c.GetVmOperation()),
	}
	title := fmt.Sprintf("%s in %s (%s)", s.Error, s.Frame, s.Thread)
	if c.GetInWalk() {
		title = fmt.Sprintf("%s in %s while a stack was walked (%s)", s.Error, s.Frame, s.Thread)
	}
	return signature.Proto(s), signature.Clean(title)
}

var (
	signalNameRE = regexp.MustCompile(`^(SIG[A-Z0-9]+|EXCEPTION_[A-Z_]+)`)
	// assert(x) failed: message — the message may end in values of the run. It may be preceded by "Internal Error (file:line);".
	failedRE = regexp.MustCompile(`\b((assert|guarantee)\(|(fatal error|Error):).*`)
)

// crashError returns the signal's name, or for an internal error the source file (without its line, which changes with every
// update) and the assertion.
func crashError(c *misstepv1.Crash) string {
	if m := signalNameRE.FindString(c.GetError()); m != "" {
		return m
	}
	out := "Internal Error"
	if strings.HasPrefix(c.GetError(), "Out of Memory Error") {
		out = "Out of Memory Error"
	}
	if file := signature.AssertionFile(c.GetError() + " " + c.GetDetail()); file != "" {
		out += " " + file
	}
	if m := failedRE.FindString(c.GetDetail()); m != "" {
		out += " " + signature.WithoutNumbers(m)
	} else if out == "Internal Error" {
		out = signature.WithoutNumbers(c.GetError())
	}
	return out
}

// blamed returns the frame to blame: the problematic frame, unless it merely carries out the crash. abort is called by the function
// that gave up, and Unsafe accesses the address that it gets; its functions in the VM have different names in each JDK.
func blamed(c *misstepv1.Crash) string {
	frame := signature.ParseFrame(c.GetProblematicFrame())
	switch {
	case strings.HasPrefix(c.GetError(), "SIGABRT") && cLibrary(frame):
		for _, raw := range c.GetNativeFrames() {
			if f := signature.ParseFrame(raw); !cLibrary(f) {
				return f.Normalised()
			}
		}
	case frame.Kind == signature.VMFrame && strings.HasPrefix(frame.FunctionName(), "Unsafe_"),
		frame.Normalised() == "V "+signature.LibJVM:
		if method := unsafeCaller(c.GetJavaFrames()); method != "" {
			return signature.UnsafeCaller + method
		}
	}
	return frame.Normalised()
}

// unsafeCaller returns the first method below those of Unsafe on top of a Java stack, ignoring frames of reflection; "" when Unsafe
// is not on top.
func unsafeCaller(frames []string) string {
	unsafe := false
	for _, raw := range frames {
		f := signature.ParseFrame(raw)
		switch {
		case strings.Contains(f.MethodName(), ".Unsafe."):
			unsafe = true
		case !unsafe:
			return ""
		case f.Kind == signature.JavaFrame && !reflectionRE.MatchString(f.MethodName()):
			return f.MethodName()
		}
	}
	return ""
}

// reflectionRE matches the methods between one that is called by reflection and its caller: generated ones up to JDK 17, method
// handles from JDK 18 on.
var reflectionRE = regexp.MustCompile(`^(java\.lang\.(reflect|invoke)|(jdk\.internal|sun)\.reflect)\.`)

var (
	cLibraryRE = regexp.MustCompile(`^(libc\.so|libc-|libpthread)`)
	// abortRE matches the C library's functions where gdb does not name the library.
	abortRE = regexp.MustCompile(`^(__)?(GI_)?(pthread_kill|raise|abort)|^$`)
)

// cLibrary reports whether a frame belongs to the C library, or to no known library.
func cLibrary(f signature.Frame) bool {
	return f.Kind == signature.CFrame &&
		(cLibraryRE.MatchString(f.Library) || f.Library == "" && abortRE.MatchString(f.FunctionName()))
}

// walkerEnds are where the chain of a walk ends: the entry points of walkers, the handler and the kernel's trampoline.
var walkerEnds = []string{
	"AsyncGetCallTrace", "JvmtiEnv::GetStackTrace", "jvmti_GetStackTrace", "JfrStackTrace::record", "JfrThreadSampl",
}

// maxChain frames distinguish the paths to one function without splitting findings by the depth of the walk.
const maxChain = 4

// walkerChain returns the path of the walk to the crash: the VM's own frames from the problematic one to the walker's entry, each
// function once, at most maxChain and the entry. It is empty when no walker is on the stack. A walk that stack scanning began, at a
// word that looked like a return address (sampling.guesses), is marked, since its registers were bogus.
func walkerChain(c *misstepv1.Crash) []string {
	var chain []string
	for _, raw := range c.GetNativeFrames() {
		f := signature.ParseFrame(raw)
		fn := f.FunctionName()
		if f.Kind != signature.VMFrame || fn == "" {
			continue
		}
		for _, end := range walkerEnds {
			if strings.HasPrefix(fn, end) {
				chain = append(chain, fn)
				if scanned(c) {
					chain = append(chain, signature.StackScanning)
				}
				return chain
			}
		}
		if len(chain) < maxChain && (len(chain) == 0 || chain[len(chain)-1] != fn) && !errorReporter(fn) {
			chain = append(chain, fn)
		}
	}
	switch {
	case !c.GetInWalk():
		return nil
	case c.GetPhase() == phaseGuess:
		return []string{"in " + signature.StackScanning}
	}
	return []string{"in " + cmp.Or(c.GetPhase(), "walk")}
}

// phaseGuess is the agent's name of the phase of such a walk (agent/status.go).
const phaseGuess = "guess"

func scanned(c *misstepv1.Crash) bool {
	return c.GetPhase() == phaseGuess ||
		slices.ContainsFunc(c.GetNativeFrames(), func(f string) bool { return strings.Contains(f, "GuessCallers") })
}

// errorReporter reports whether a function merely reports the crash: release and fastdebug builds have different ones on top.
func errorReporter(fn string) bool {
	for _, p := range []string{
		"VMError::", "report_vm_error", "report_fatal", "report_java_out_of_memory", "JVM_handle_linux_signal", "PosixSignals::",
		"crash_handler", "javaSignalHandler",
	} {
		if strings.HasPrefix(fn, p) {
			return true
		}
	}
	return false
}

var compilerThreadRE = regexp.MustCompile(`C([12]) CompilerThread|JVMCI`)

// threadKind returns the kind of the crashed thread, from hs_err's "Current thread" line.
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
	case strings.Contains(line, "ConcurrentGCThread"), strings.Contains(line, "GCTaskThread"),
		strings.Contains(line, "WorkerThread"), strings.Contains(line, "G1 "), strings.Contains(line, "ZWorker"),
		strings.Contains(line, "Shenandoah"), strings.Contains(line, "GC Thread"):
		return "GC"
	case strings.Contains(line, "WatcherThread"):
		return "watcher"
	case strings.Contains(line, "JfrThreadSampler"), strings.Contains(line, "JFR Thread Sampler"),
		strings.Contains(line, "JFR Sampler"):
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
