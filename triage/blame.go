package triage

import (
	"regexp"
	"slices"
	"strings"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/signature"
)

// blamed returns the frame to blame: the problematic frame, unless it merely carries out the crash or says nothing.
//
//   - The VM's own reporting of an internal error only reports it. A frame without library, symbol and method says nothing:
//     the program counter was wrong. The first one behind them is to blame, native or Java.
//   - The C library does what it is told, and so do the dynamic linker and the C++ runtime. abort is called by the function
//     that gave up; of another fault, what was called belongs to the bug too: "C memcpy called by C libzip.so ZIP_GetEntry2".
//   - Functions of a library without symbols are told apart by their callers: "C libfoo.so called by J a.B.c".
//   - Unsafe accesses the address that it gets. Its functions in the VM have different names in each JDK, or compiled code
//     makes the access itself: "V Unsafe called by a.B.c".
func blamed(c *misstepv1.Crash, native frames) string {
	top := signature.ParseFrame(c.GetProblematicFrame())
	stack := native.list
	if top.Informative() && (len(stack) == 0 || stack[0].Normalised() != top.Normalised()) {
		stack = append([]signature.Frame{top}, stack...)
	}
	stack = from(stack, func(f signature.Frame) bool { return f.Informative() && !reports(f) })
	outside := from(stack, func(f signature.Frame) bool { return f.Informative() && !f.Runtime() && !reports(f) })
	if method, unsafe := unsafeCall(c, native, outside); unsafe && method != "" {
		return signature.UnsafeCaller + method
	} else if unsafe && cutJava(c, native) {
		return signature.UnsafeCaller + signature.UnknownFrame
	}
	blame := ""
	switch {
	case len(outside) > 0:
		fault := c.GetProblematicFrame() == "" || outside[0].Normalised() == top.Normalised() // a part may have the stack alone
		blame = frameText(c, outside[0], len(outside) == len(stack) && fault)
		if f := outside[0]; f.Kind == signature.CFrame && f.FunctionName() == "" {
			blame += callerOfNameless(c, native, outside)
		}
	case !native.cut: // all that is native says nothing
		java := from(parseFrames(c.GetJavaFrames()).list, isJava)
		if len(java) > 0 {
			blame = frameText(c, java[0], false)
		}
	}
	switch {
	case len(outside) == len(stack) || strings.HasPrefix(c.GetError(), "SIGABRT") && blame != "":
		if blame == "" {
			return signature.UnknownFrame
		}
		return blame
	case blame != "":
		return "C " + runtimeName(stack[0]) + signature.CalledBy + blame
	case native.cut:
		return "C " + runtimeName(stack[0]) + signature.CalledBy + signature.UnknownFrame
	}
	return "C " + runtimeName(stack[0])
}

// callerOfNameless returns the part of a signature that tells functions of a library without symbols apart: the first frame below
// with a name, native or Java; "" without one.
func callerOfNameless(c *misstepv1.Crash, native frames, stack []signature.Frame) string {
	named := from(stack, func(f signature.Frame) bool { return f.FunctionName() != "" || isJava(f) })
	if len(named) == 0 && native.cut {
		return signature.CalledBy + signature.UnknownFrame
	}
	if len(named) == 0 {
		named = from(parseFrames(c.GetJavaFrames()).list, isJava)
	}
	if len(named) == 0 {
		return ""
	}
	return signature.CalledBy + frameText(c, named[0], false)
}

// from returns the stack from the first frame on that suits.
func from(stack []signature.Frame, suits func(signature.Frame) bool) []signature.Frame {
	if i := slices.IndexFunc(stack, suits); i >= 0 {
		return stack[i:]
	}
	return nil
}

func isJava(f signature.Frame) bool { return f.Kind == signature.JavaFrame }

// frameText returns a frame as signatures have it. The compiler of a Java method belongs to the bug only if the fault was in its
// code (top); a function of the VM that has no symbol is one of the VM's build.
func frameText(c *misstepv1.Crash, f signature.Frame, top bool) string {
	text := f.Normalised()
	switch {
	case f.Kind == signature.JavaFrame && !top:
		return "J " + f.MethodName()
	case f.Kind == signature.VMFrame && f.FunctionName() == "" && c.GetVmBuild() != "":
		return text + " of " + c.GetVmBuild()
	}
	return text
}

// runtimeName returns the function of the C library that was called, without its variant for a kind of CPU, or its library if it is
// not known.
func runtimeName(f signature.Frame) string {
	if name := signature.PlainCName(f.FunctionName()); name != "" {
		return name
	}
	return signature.LibraryName(f.Library)
}

// reporters begin the names of functions of the VM that merely report a crash, or pass on what they are asked for: builds have
// different ones on top. They end in VMError::report_and_die (utilities/debug.cpp), or are the handlers of signals.
var reporters = []string{
	"VMError::", "report_vm_error", "report_fatal", "report_java_out_of_memory", "report_should_not_", "report_unimplemented",
	"report_untested", "report_vm_out_of_memory", "report_insufficient_metaspace", "vm_exit_out_of_memory", "os::abort",
	"JVM_handle_", "PosixSignals::", "crash_handler", "javaSignalHandler", "signalHandler", "topLevelExceptionFilter",
	"Handle_FLT_Exception", "handle_assert_poison_fault",
	// The VM's allocation of native memory, where a damaged heap is noticed.
	"os::malloc", "os::realloc", "os::free", "AllocateHeap", "FreeHeap", "ReallocateHeap",
	// The collectors' access barriers, which read what their caller asks for (oops/accessBackend.hpp).
	"AccessInternal::",
}

// errorReporter reports whether a function of the VM is one of the reporters.
func errorReporter(fn string) bool { return begins(fn, reporters) }

func reports(f signature.Frame) bool {
	switch f.Kind {
	case signature.VMFrame:
		return errorReporter(f.FunctionName())
	case signature.CFrame: // where gdb does not name the library of the C library's functions
		return f.Library == "" && abortRE.MatchString(f.FunctionName())
	}
	return false
}

// abortRE matches the C library's functions on the way to SIGABRT.
var abortRE = regexp.MustCompile(`^(__)?(GI_)?(pthread_kill|raise|abort)|^$`)
