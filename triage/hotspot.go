package triage

import (
	"strings"

	misstepv1 "misstep/proto/misstep/v1"
)

// What HotSpot does with certain methods, which are recognised by name.

// upcalls are methods that the VM calls by itself, through JavaCalls, while Java code is on the stack; HotSpot names
// them in classfile/vmSymbols.hpp. Class initialisers and loadClass, which any class may have, are in upcall.
var upcalls = map[string]bool{
	"java.lang.ClassLoader.checkPackageAccess":                      true,
	"java.lang.ClassLoader.loadClassInternal":                       true, // 8
	"java.lang.Thread.dispatchUncaughtException":                    true,
	"java.lang.Thread.exit":                                         true,
	"java.lang.invoke.MethodHandleNatives.findMethodHandleType":     true,
	"java.lang.invoke.MethodHandleNatives.linkCallSite":             true,
	"java.lang.invoke.MethodHandleNatives.linkDynamicConstant":      true, // 11+
	"java.lang.invoke.MethodHandleNatives.linkMethod":               true,
	"java.lang.invoke.MethodHandleNatives.linkMethodHandleConstant": true,
	"java.lang.ref.Finalizer.register":                              true,
	"java.lang.runtime.ValueObjectMethods.isSubstitutable":          true, // 28, with its preview
	"jdk.internal.module.Modules.transformedByAgent":                true, // 9+
	"sun.instrument.InstrumentationImpl.transform":                  true,
}

// upcall returns the short name of the upcall if the frame is one by the VM, else "".
func (f *frame) upcall() string {
	switch {
	case f == nil:
		return ""
	case f.GetMethod() == "<clinit>":
		return "<clinit>"
	case f.GetMethod() == "loadClass" && f.loadsForVM():
		return "loadClass"
	case upcalls[f.class+"."+f.GetMethod()]:
		return f.GetMethod()
	}
	return ""
}

// loadsForVM reports whether a loadClass is the overload that the VM calls, whatever the loader's class: the one with one argument.
// The overload with two is called by Java code only.
func (f *frame) loadsForVM() bool {
	return f.GetDescriptor_() == "(Ljava/lang/String;)Ljava/lang/Class;" ||
		f.GetDescriptor_() == "" && strings.HasSuffix(f.GetClassName(), "ClassLoader")
}

const continuationClass = "jdk.internal.vm.Continuation"

// continuation reports whether the frame belongs to the transition between a virtual thread and its carrier.
func (f *frame) continuation() bool {
	switch f.raw().GetClassName() {
	case continuationClass, "jdk.internal.vm.ThreadContainers",
		"java.lang.VirtualThread", "java.lang.BaseVirtualThread":
		return true
	}
	return false
}

// linker reports whether the frame is of a lambda form, or of a VarHandle's guard, that calls a handle's method by
// linkToStatic and its like (HotSpot: cpu/x86/methodHandles_x86.cpp, generate_method_handle_interpreter_entry). The
// name of the form follows from the method's arguments.
func (f *frame) linker() bool {
	if f == nil {
		return false
	}
	switch f.class {
	case "java.lang.invoke.LambdaForm$DMH", "java.lang.invoke.DirectMethodHandle$Holder", "java.lang.invoke.VarHandleGuards":
		return true
	}
	return false
}

// nativeIndex is the value that AsyncGetCallTrace reports in place of a bytecode index for a frame of a native method, noIndex the
// one that GetStackTrace reports. HotSpot's InvocationEntryBci equals noIndex, so AsyncGetCallTrace reports it for entries of
// compiled code.
const (
	nativeIndex = -3
	noIndex     = -1
)

// native reports whether the frame is of a native method. This is reliable only for a reference's frame.
func (f *frame) native() bool {
	return f != nil && (f.GetBci() == noIndex || f.GetBci() == nativeIndex)
}

// anchor reports whether a walk that has this frame on top begins at the thread's anchor, since it is of a native
// method. A method handle's linker looks like one.
func (f *frame) anchor() bool {
	return f.raw().GetBci() == nativeIndex &&
		(f.GetClassName() != "java.lang.invoke.MethodHandle" || !strings.HasPrefix(f.GetMethod(), "linkTo"))
}

// constructsThrowable reports whether the frame may be a constructor that the VM calls to throw an exception.
func (f *frame) constructsThrowable() bool {
	class := f.raw().GetClassName()
	return f.raw().GetMethod() == "<init>" &&
		(strings.HasSuffix(class, "Exception") || strings.HasSuffix(class, "Error") || class == "java.lang.Throwable")
}

// constructsForVM reports whether the frame is the constructor of an exception that the VM throws by itself.
func (f *frame) constructsForVM() bool {
	return f.raw().GetMethod() == "<init>" && thrownByVM[f.raw().GetClassName()]
}

// thrownByVM are exceptions that the VM throws where compiled code fails implicitly (HotSpot: c1_Runtime1.cpp,
// sharedRuntime.cpp), and where what it refers to cannot be resolved (linkResolver.cpp, systemDictionary.cpp, instanceKlass.cpp),
// which C1's patching stubs find out.
var thrownByVM = map[string]bool{
	"java.lang.ArithmeticException": true, "java.lang.ArrayIndexOutOfBoundsException": true, "java.lang.ArrayStoreException": true,
	"java.lang.ClassCastException": true, "java.lang.NegativeArraySizeException": true, "java.lang.NullPointerException": true,
	"java.lang.AbstractMethodError": true, "java.lang.BootstrapMethodError": true, "java.lang.ClassCircularityError": true,
	"java.lang.ClassFormatError": true, "java.lang.ExceptionInInitializerError": true, "java.lang.IllegalAccessError": true,
	"java.lang.IncompatibleClassChangeError": true, "java.lang.InstantiationError": true, "java.lang.LinkageError": true,
	"java.lang.NoClassDefFoundError": true, "java.lang.NoSuchFieldError": true, "java.lang.NoSuchMethodError": true,
	"java.lang.UnsatisfiedLinkError": true, "java.lang.VerifyError": true,
}

// enteredFromVM reports whether a word of the stack points at the stub by which the VM enters Java code ("Stub
// Generator call_stub_stub" on 26).
func enteredFromVM(words []*misstepv1.StackWord) bool {
	for _, w := range words {
		if strings.HasPrefix(w.GetCode(), "stub ") && strings.Contains(w.GetCode(), "call_stub") {
			return true
		}
	}
	return false
}

// copiesArray reports whether the frame is of System.arraycopy, which is an intrinsic of C1.
func (f *frame) copiesArray() bool { return f != nil && f.name() == "java.lang.System.arraycopy" }

// searchesString reports whether the method is an intrinsic of C2: the search of a string in another.
func (f *frame) searchesString() bool {
	d := f.raw().GetDescriptor_()
	if !strings.HasPrefix(f.raw().GetMethod(), "indexOf") {
		return false
	}
	switch f.GetClassName() {
	case "java.lang.StringLatin1", "java.lang.StringUTF16":
		return strings.HasPrefix(d, "([B") && strings.Contains(d[2:], "[B")
	case "java.lang.String": // 8
		return strings.HasPrefix(d, "(Ljava/lang/String;")
	}
	return false
}

// compressesString reports whether the method is an intrinsic of C2, or one that only calls it: the copy of a string's UTF-16 to
// Latin-1.
func (f *frame) compressesString() bool {
	return f != nil && f.name() == "java.lang.StringUTF16.compress"
}

// virtualThreadRun reports whether the frame is the bottom of a virtual thread's own frames.
func (f *frame) virtualThreadRun() bool {
	return f.raw().GetClassName() == "java.lang.VirtualThread" && f.raw().GetMethod() == "run"
}

// agents reports whether the frame is the agent's own: a check at a method's entry has some on top, the same each time.
func (f *frame) agents() bool { return f.raw().GetClassName() == "java.lang.MisstepShadow" }
