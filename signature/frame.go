package signature

import (
	"cmp"
	"regexp"
	"strings"
)

// FrameKind is the kind of code that a frame belongs to.
type FrameKind int

// Kinds of frames, with the letter at the start of their lines in HotSpot's error file (share/utilities/vmError.cpp).
const (
	OtherFrame FrameKind = iota // none of the kinds below: Function is the whole line
	VMFrame                     // V: the VM's own code
	CFrame                      // C: other native code
	JavaFrame                   // J: compiled, j: interpreted
	StubFrame                   // v: code that the VM generated
)

// Tiers of Java frames besides the compilers' names c1, c2 and jvmci.
const (
	Interpreted = "interpreted"
	Compiled    = "compiled" // by an unknown compiler
)

// LibJVM is the file name of the VM's library; it distinguishes VM frames from C frames in gdb's backtraces.
const LibJVM = "libjvm.so"

// Frame is one frame of a stack in an error file, a backtrace of gdb or a thread dump.
type Frame struct {
	Kind FrameKind
	// Library is the file name of a VM or C frame's library, empty if unknown; Offset is the offset in it, "0x9c8a5c".
	Library, Offset string
	// Function is that of a VM or C frame with its parameter types, or the name of a stub; empty if unknown.
	Function string
	// Class, Method and Descriptor of a Java frame: "java.util.HashMap", "get", "(Ljava/lang/Object;)Ljava/lang/Object;".
	// Thread dumps give no descriptor.
	Class, Method, Descriptor string
	// Tier of a Java frame in an error file: c1, c2, jvmci, Compiled or Interpreted.
	Tier string
}

var (
	nativeFrameRE = regexp.MustCompile(`^([VC])\s+\[([^\]+]*)(?:\+(0x[0-9a-fA-F]+))?\]\s*(.*)$`)
	javaFrameRE   = regexp.MustCompile(`^[Jj]\s+(?:\d+%?\s+)?(?:(c1|c2|jvmci|C1|C2)\s+)?([^\s(]+)\(([^)\s]*\)[^\s+(]+)?`)
	stubFrameRE   = regexp.MustCompile(`^v\s+(~?[\w:]+)`)
	// inFunctionRE matches the offset in a function, with the source line behind it; noSourceRE what Windows has in its place, also
	// where there is no function.
	inFunctionRE = regexp.MustCompile(`\+0x[0-9a-fA-F]+(\s.*)?$`)
	noSourceRE   = regexp.MustCompile(`\s*\((?:no source info available|[^()\s]+\.\w+:\d+)\)$`)
)

// unknownLibrary replaces the library in the text form of a frame without one.
const unknownLibrary = "unknown"

// ParseFrame reads a line of an error file, with or without the "# " of its head, or the result of String:
//
//	V  [libjvm.so+0x9c8a5c]  frame::sender(RegisterMap*) const+0x4c
//	C  [libc.so.6+0x85f14]
//	J 1234 c2 java.util.HashMap.get(Ljava/lang/Object;)Ljava/lang/Object; java.base@17 (23 bytes) @ 0x00007f32dd11162c […]
//	j  a.Foo.main([Ljava/lang/String;)V+5
//	v  ~StubRoutines::call_stub 0x00007f559c400fa6
func ParseFrame(line string) Frame {
	s := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "#"))
	if m := nativeFrameRE.FindStringSubmatch(s); m != nil {
		f := Frame{Kind: CFrame, Library: m[2], Offset: m[3], Function: functionIn(m[4])}
		if m[1] == "V" {
			f.Kind = VMFrame
		}
		if f.Library == unknownLibrary {
			f.Library = ""
		}
		return f
	}
	if m := javaFrameRE.FindStringSubmatch(s); m != nil {
		dot := strings.LastIndexByte(m[2], '.')
		f := Frame{Kind: JavaFrame, Class: m[2][:max(dot, 0)], Method: m[2][dot+1:], Tier: strings.ToLower(m[1])} // JDK 8 writes C1
		if m[3] != "" {
			f.Descriptor = "(" + m[3]
		}
		switch {
		case f.Tier != "":
		case s[0] == 'J':
			f.Tier = Compiled
		default:
			f.Tier = Interpreted
		}
		return f
	}
	if m := stubFrameRE.FindStringSubmatch(s); m != nil {
		return Frame{Kind: StubFrame, Function: m[1]}
	}
	return Frame{Function: s}
}

// functionIn returns the function in what follows the library of a native frame.
func functionIn(text string) string {
	return strings.TrimSpace(inFunctionRE.ReplaceAllString(noSourceRE.ReplaceAllString(text, ""), ""))
}

// String returns the frame as in an error file, without numbers that are specific to the run: the form of Crash.native_frames.
func (f Frame) String() string {
	switch f.Kind {
	case VMFrame, CFrame:
		line := map[FrameKind]string{VMFrame: "V", CFrame: "C"}[f.Kind] + "  [" + cmp.Or(f.Library, unknownLibrary)
		if f.Offset != "" {
			line += "+" + f.Offset
		}
		return strings.TrimSpace(line + "]  " + f.Function)
	case JavaFrame:
		tier := map[string]string{Compiled: "J ", Interpreted: "j ", "": "j "}[f.Tier]
		return cmp.Or(tier, "J "+f.Tier) + " " + f.qualified() + f.Descriptor
	case StubFrame:
		return "v  " + f.Function
	}
	return f.Function
}

var gdbHeadRE = regexp.MustCompile(`^(?:#\d+\s+)?(?:0x[0-9a-fA-F]+\s+)?(?:in\s+)?`)

// ParseGDBFrame reads a line of gdb's backtrace, or the result of GDB. Values of arguments differ from run to run and are left out:
//
//	#2  0x00007f14 in CodeHeap::find_start(void*) const () from /jdk/lib/server/libjvm.so
//	#0  f(int) (x=1) at a.c:3
func ParseGDBFrame(line string) Frame {
	s := strings.TrimSpace(line)
	s, library, _ := strings.Cut(s[len(gdbHeadRE.FindString(s)):], " from ")
	s, _, _ = strings.Cut(s, " at ")
	function, _, _ := strings.Cut(s, " (")
	f := Frame{Kind: CFrame, Function: strings.TrimSpace(inFunctionRE.ReplaceAllString(function, ""))}
	if f.Function == noFunction {
		f.Function = ""
	}
	f.Library = strings.TrimSpace(library[strings.LastIndexByte(library, '/')+1:])
	if f.Library == LibJVM {
		f.Kind = VMFrame
	}
	return f
}

// noFunction is gdb's name for an unknown function.
const noFunction = "??"

// GDB returns a native frame as gdb writes it, without addresses and values of arguments: the form of HungThread.native_frames.
func (f Frame) GDB() string {
	text := cmp.Or(f.Function, noFunction)
	if f.Library != "" {
		text += " from " + f.Library
	}
	return text
}

var dumpFrameRE = regexp.MustCompile(`^\s*(?:at\s+)?(?:[\w.]+(?:@[^/]*)?/)*([\w.$<>/+-]+)\.([\w$<>]+)\s*(?:\(.*)?$`)

// ParseJavaFrame reads a frame of a thread dump, "at java.base@17/java.lang.Object.wait(Native Method)"; ok is false for other
// lines.
func ParseJavaFrame(line string) (f Frame, ok bool) {
	m := dumpFrameRE.FindStringSubmatch(line)
	if m == nil {
		return Frame{}, false
	}
	return Frame{Kind: JavaFrame, Class: m[1], Method: m[2]}, true
}

func (f Frame) qualified() string { return strings.TrimPrefix(f.Class+"."+f.Method, ".") }

// MethodName returns a Java frame's class and method without what differs from run to run (see Class and Method); it is empty for
// other frames.
func (f Frame) MethodName() string {
	if f.Kind != JavaFrame {
		return ""
	}
	return strings.TrimPrefix(Class(f.Class)+"."+Method(f.Method), ".")
}

// Runtime reports whether a frame belongs to the C library, the dynamic linker or the C++ runtime.
func (f Frame) Runtime() bool {
	return f.Kind == CFrame && runtimeRE.MatchString(LibraryName(f.Library))
}

// Informative reports whether the frame names a function, a method or a library.
func (f Frame) Informative() bool {
	switch f.Kind {
	case VMFrame:
		return f.Function != "" || f.Offset != ""
	case CFrame:
		return f.Function != "" || f.Library != ""
	}
	return f.Kind != OtherFrame
}

// Normalised returns the part of the frame that belongs to the bug: "V frame::sender", "C libc.so raise", "J c2
// java.util.HashMap.get", "v StubRoutines::call_stub". Without a symbol, a function of the VM is told by its offset in the library,
// "V libjvm.so+0x9c8a5c".
func (f Frame) Normalised() string {
	switch f.Kind {
	case VMFrame, CFrame:
		library, name := unknownLibrary, f.FunctionName()
		if f.Library != "" {
			library = LibraryName(f.Library)
		}
		if f.Runtime() {
			name = PlainCName(name)
		}
		switch {
		case f.Kind == VMFrame && name == "" && f.Offset != "":
			return "V " + library + "+" + f.Offset
		case f.Kind == VMFrame:
			return "V " + cmp.Or(name, library)
		case name == "":
			return "C " + library
		}
		return "C " + library + " " + name
	case JavaFrame:
		return "J " + f.Tier + " " + f.MethodName()
	case StubFrame:
		return "v " + strings.TrimPrefix(f.Function, "~")
	}
	if f.Function == "" {
		return UnknownFrame
	}
	return WithoutNumbers(f.Function)
}

var assertionRE = regexp.MustCompile(`\((?:[^()]*/)?([A-Za-z0-9_.]+\.[ch]pp):\d+\)`)

// AssertionFile returns the source file in the message of an internal error, "codeCache.cpp" for
// "(/build/share/code/codeCache.cpp:653)", or "". The line is left out, as it changes with every update.
func AssertionFile(text string) string {
	if m := assertionRE.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}

var (
	hexRE     = regexp.MustCompile(`0x[0-9a-fA-F]+`)
	longNumRE = regexp.MustCompile(`\b\d{3,}\b`)
)

// WithoutNumbers replaces addresses with ADDR, numbers of three or more digits with NUM, and white space with single spaces.
func WithoutNumbers(s string) string {
	return strings.Join(strings.Fields(longNumRE.ReplaceAllString(hexRE.ReplaceAllString(s, "ADDR"), "NUM")), " ")
}
