package triage

import (
	"regexp"
	"strings"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/signature"
)

// Methods of Unsafe, and those of the JDK that only pass on the address with which they were called.
var (
	// unsafeRE matches the methods that access an address.
	unsafeRE = regexp.MustCompile(`^(?:sun\.misc|jdk\.internal\.misc)\.(?:Unsafe|ScopedMemoryAccess)\b`)
	// accessorRE matches those between them and the program: buffers, memory segments, variable handles, and calls by reflection:
	// generated methods up to JDK 17, method handles from JDK 18 on.
	accessorRE = regexp.MustCompile(`^(?:(?:sun|jdk\.internal)\.misc\.|java\.nio\.|java\.lang\.foreign\.|jdk\.internal\.foreign\.|` +
		`java\.lang\.(?:reflect|invoke)\.|(?:jdk\.internal|sun)\.reflect\.)`)
	// directRE matches compiled code that has an access of Unsafe inlined and is the JDK's.
	directRE = regexp.MustCompile(`^java\.nio\.(?:Direct|Mapped)\w*Buffer\w*\.|^java\.nio\.Bits\.`)
	// copyRE matches the functions of the VM with which Unsafe's functions copy and fill (utilities/copy.hpp).
	copyRE = regexp.MustCompile(`^(?:Copy::|_Copy_|acl_Copy|pd_(?:conjoint|disjoint|fill))`)
	// copyStubRE matches the stubs with which compiled code does (stubRoutines.cpp).
	copyStubRE = regexp.MustCompile(`copy|set_?memory|fill`)
)

// unsafeCall reports whether a crash is an access of Unsafe, by the VM's function, compiled code or a stub, given the native
// frames from the fault on. method is the program's that called Unsafe, "" if it is not known.
func unsafeCall(c *misstepv1.Crash, native frames, fault []signature.Frame) (method string, unsafe bool) {
	if c.GetError() != "" && !accessFault(c.GetError()) { // a part may have the stack alone
		return "", false
	}
	calls := parseFrames(c.GetJavaFrames()).list
	if len(calls) == 0 {
		calls = javaFrames(native.list)
	}
	onTop := len(calls) > 0 && unsafeRE.MatchString(calls[0].MethodName())
	if len(fault) == 0 {
		return unsafeCaller(calls), false
	}
	switch f := fault[0]; f.Kind {
	case signature.VMFrame:
		fn := f.FunctionName()
		rest := from(fault, func(f signature.Frame) bool {
			return f.Kind != signature.VMFrame || !copyRE.MatchString(f.FunctionName())
		})
		unsafe = len(rest) > 0 && rest[0].Kind == signature.VMFrame && strings.HasPrefix(rest[0].FunctionName(), "Unsafe_") ||
			fn == "" && onTop
	case signature.StubFrame:
		unsafe = onTop && copyStubRE.MatchString(f.Function)
	case signature.JavaFrame:
		name := f.MethodName()
		unsafe = unsafeRE.MatchString(name) || f.Tier != signature.Interpreted && directRE.MatchString(name)
		if unsafe {
			calls = append([]signature.Frame{f}, calls...)
		}
	}
	return unsafeCaller(calls), unsafe
}

// accessFault reports whether an error is what an access of a wrong address causes.
func accessFault(err string) bool {
	for _, name := range []string{"SIGSEGV", "SIGBUS", "EXCEPTION_ACCESS_VIOLATION", "EXCEPTION_IN_PAGE_ERROR"} {
		if strings.HasPrefix(err, name) {
			return true
		}
	}
	return false
}

func javaFrames(stack []signature.Frame) (java []signature.Frame) {
	for _, f := range stack {
		if isJava(f) {
			java = append(java, f)
		}
	}
	return java
}

// unsafeCaller returns the first method of a Java stack that does not only pass on an address; "" if there is none.
func unsafeCaller(stack []signature.Frame) string {
	for _, f := range stack {
		if name := f.MethodName(); name != "" && !accessorRE.MatchString(name) {
			return name
		}
	}
	return ""
}

// cutJava reports whether the Java frames of a crash are not known to their end.
func cutJava(c *misstepv1.Crash, native frames) bool {
	return native.cut || len(c.GetJavaFrames()) > 0 && parseFrames(c.GetJavaFrames()).cut
}
