package triage

import (
	"strings"

	misstepv1 "misstep/proto/misstep/v1"
)

// An edge is where two frames meet: a callee and its caller, or the place between them where a walk went wrong. Its text is
// what a mismatch's signature says about the stacks, and it says as little as tells bugs apart:
//
//	upcall M         the VM itself called M (class initialisation, class loading, linking): whose class it was and what ran
//	                 below does not matter, the walker fails at the entry frame
//	continuation     frames of a virtual thread that are frozen in the heap, or the seam to its carrier
//	native C.m       m is native and called back into Java
//	method handle    a lambda form hands over to the method that a handle means; which form and which method does not matter
//	top: STATE CODE  a signal hit the top frame at a moment when its caller cannot be found; the method does not matter, the
//	                 state of the frame and the instruction do
//	M <- N           plain Java calls: both are named, for nothing else is known that would tell two bugs apart
type edge struct {
	callee, caller *misstepv1.Frame
}

// upcalls are methods that the VM calls by itself, through JavaCalls, while Java code is on the stack; HotSpot names them in
// classfile/vmSymbols.hpp. Class initialisers and loadClass, which any class may have, are in upcall.
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

// upcall returns the short name of the VM's upcall that the frame is, or "".
func upcall(f *misstepv1.Frame) string {
	if f == nil {
		return ""
	}
	if f.GetMethod() == "<clinit>" {
		return "<clinit>"
	}
	// The VM calls loadClass(String) of whatever class the loader has; the two-argument one is called by Java only.
	if f.GetMethod() == "loadClass" && (f.GetDescriptor_() == "(Ljava/lang/String;)Ljava/lang/Class;" || f.GetDescriptor_() == "" && strings.HasSuffix(f.GetClassName(), "ClassLoader")) {
		return "loadClass"
	}
	if upcalls[Class(f.GetClassName())+"."+f.GetMethod()] {
		return f.GetMethod()
	}
	return ""
}

// continuation says that the frame belongs to the seam between a virtual thread and its carrier.
func continuation(f *misstepv1.Frame) bool {
	switch f.GetClassName() {
	case "jdk.internal.vm.Continuation", "java.lang.VirtualThread", "jdk.internal.vm.ThreadContainers", "java.lang.BaseVirtualThread":
		return true
	}
	return false
}

// linker says that the frame is of a lambda form, or of a VarHandle's guard, that calls a handle's method by linkToStatic and its like (HotSpot:
// cpu/x86/methodHandles_x86.cpp, generate_method_handle_interpreter_entry). What the form is called follows from the method's arguments.
func linker(f *misstepv1.Frame) bool {
	switch Class(f.GetClassName()) {
	case "java.lang.invoke.LambdaForm$DMH", "java.lang.invoke.DirectMethodHandle$Holder", "java.lang.invoke.VarHandleGuards":
		return true
	}
	return false
}

// linked is the part of a walk that is cut off at such a frame, linkedWords its description.
const linked, linkedWords = "method handle", "the caller of a method handle's linker"

// cutAtLinker says that a walk ends at a linker because of it. A linker alone on top is none: nothing was called yet. Nor is one close below a stub,
// compiled code whose frame is not finished, or C code where the walk did not begin: there the signal's place explains the cut.
func cutAtLinker(m *misstepv1.Mismatch) bool {
	sus := m.GetSuspect().GetFrames()
	if len(sus) < 2 || !linker(fromBottom(sus, 0)) {
		return false
	}
	state := m.GetTopState()
	explained := state == "stub" || state == "compiled" && unfinished(m) || state == "native" && misled(m)
	return !explained || len(sus) > mostFrames(m)
}

// native says that the frame is of a native method; GST gives -1 for its location, ASGCT -3. ASGCT gives -1 at compiled
// entries too, so the reference's frame is the one to ask.
func native(f *misstepv1.Frame) bool {
	return f != nil && (f.GetBci() == -1 || f.GetBci() == nativeLocation)
}

// nativeLocation is what ASGCT gives a frame of a native method in place of a bytecode index.
const nativeLocation = -3

// anchored says that a walk begins at the thread's anchor, since its first frame is of a native method. A method handle's linker looks like one.
func anchored(frames []*misstepv1.Frame) bool {
	first := at(frames, 0)
	return first.GetBci() == nativeLocation && (first.GetClassName() != "java.lang.invoke.MethodHandle" || !strings.HasPrefix(first.GetMethod(), "linkTo"))
}

func name(f *misstepv1.Frame) string {
	if f == nil {
		return "(nothing)"
	}
	return Class(f.GetClassName()) + "." + Method(f.GetMethod())
}

func sameMethod(a, b *misstepv1.Frame) bool { return methodOf(a).same(methodOf(b)) }

// method is what of a frame says which method it is of.
type method struct{ class, name, descriptor string }

func methodOf(f *misstepv1.Frame) method {
	return method{Class(f.GetClassName()), f.GetMethod(), f.GetDescriptor_()}
}

func methods(frames []*misstepv1.Frame) []method {
	all := make([]method, len(frames))
	for i, f := range frames {
		all[i] = methodOf(f)
	}
	return all
}

// same says that two frames are of one method; a frame may lack its descriptor.
func (m method) same(o method) bool {
	return m.class == o.class && m.name == o.name && (m.descriptor == "" || o.descriptor == "" || m.descriptor == o.descriptor)
}

// String is the edge as a part of a signature.
func (e edge) String() string {
	if u := upcall(e.callee); u != "" {
		return "upcall " + u
	}
	if continuation(e.callee) || continuation(e.caller) {
		return "continuation"
	}
	if native(e.caller) {
		return "native " + name(e.caller)
	}
	return name(e.callee) + " <- " + name(e.caller)
}

// what describes the edge in a title, with the names of the example.
func (e edge) what() string {
	s := e.String()
	if u := upcall(e.callee); u != "" {
		s = "the VM's upcall of " + u
		if e.caller != nil {
			s += " (here " + name(e.callee) + " from " + name(e.caller) + ")"
		}
	}
	return s
}
