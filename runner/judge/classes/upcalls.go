package classes

import (
	"slices"
	"strings"

	"misstep/agent"
)

// valueObjects compares value objects (JEP 401).
const valueObjects = "java/lang/runtime/ValueObjectMethods"

// loads are methods that the VM calls when it loads or transforms a class, or looks up a native method (HotSpot vmSymbols.hpp and
// its users; agent/native/src/upcalls.cpp says which).
var loads = map[[2]string]bool{
	{"java/lang/ClassLoader", "checkPackageAccess"}:                 true, // until 23
	{"java/lang/ClassLoader", "loadClassInternal"}:                  true, // 8
	{"java/lang/ClassLoader", "addClass"}:                           true, // 8
	{"java/lang/ClassLoader", "findNative"}:                         true,
	{"sun/instrument/InstrumentationImpl", "transform"}:             true,
	{"jdk/internal/module/Modules", "transformedByAgent"}:           true, // 9 and later
	{"jdk/jfr/internal/JVMUpcalls", "onRetransform"}:                true,
	{"jdk/jfr/internal/JVMUpcalls", "onMethodTrace"}:                true, // 25 and later
	{"jdk/jfr/internal/JVMUpcalls", "bytesForEagerInstrumentation"}: true,
	{"jdk/jfr/internal/JVMUpcalls", "publishMethodTimersForClass"}:  true, // 25 and later
}

// Upcall returns the occasions on which the VM itself may call a method, 0 for none. The class's name has slashes.
func Upcall(class, name, descriptor string) agent.Occasions {
	const onLoad = agent.Resolving | agent.Compiling
	switch {
	case name == "<clinit>" && class == valueObjects: // initialised by the first comparison
		return agent.Initialising | agent.Comparing
	case name == "<clinit>":
		return agent.Initialising
	case name == "loadClass" && descriptor == "(Ljava/lang/String;)Ljava/lang/Class;", loads[[2]string{class, name}]:
		return onLoad
	case name == "<init>" && vmThrows(class),
		class == "java/lang/Throwable" && (name == "initCause" || name == "getStackTrace"),
		isUnsafe(class) && (name == "throwIllegalAccessError" || name == "throwNoSuchMethodError"):
		return onLoad
	case class == valueObjects && name == "isSubstitutable":
		return agent.Comparing
	case class == "java/lang/invoke/MethodHandleNatives" && (strings.HasPrefix(name, "link") || name == "findMethodHandleType"):
		return agent.Linking
	case class == "java/lang/ref/Finalizer" && name == "register":
		return agent.Finalising
	case name == "getStackTrace" && descriptor == "()[Ljava/lang/StackTraceElement;":
		return agent.Initialising // of what a class's initialiser threw (java_lang_Throwable::create_initialization_error, 17 on)
	}
	return 0
}

// vmThrows reports whether the VM may make exceptions of a class itself (vmSymbols.hpp: all below java/lang).
func vmThrows(class string) bool {
	return strings.HasPrefix(class, "java/lang/") && (strings.HasSuffix(class, "Exception") || strings.HasSuffix(class, "Error"))
}

// isUnsafe reports whether a class is Unsafe, in whose native methods the VM initialises classes.
func isUnsafe(class string) bool {
	return class == "jdk/internal/misc/Unsafe" || class == "sun/misc/Unsafe"
}

// polymorphic reports whether any descriptor may stand at a call of the method (JVMS 2.9.3).
func polymorphic(owner, name string) bool {
	switch owner {
	case "": // invokedynamic
		return true
	case "java/lang/invoke/MethodHandle":
		return name == "invoke" || name == "invokeExact" || name == "invokeBasic" || strings.HasPrefix(name, "linkTo")
	case "java/lang/invoke/VarHandle":
		return slices.ContainsFunc([]string{"get", "set", "weakCompareAndSet", "compareAnd"}, func(prefix string) bool {
			return strings.HasPrefix(name, prefix)
		})
	}
	return false
}
