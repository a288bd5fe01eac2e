#include "upcalls.h"

#include "bytecode.h"

namespace misstep {
namespace {

constexpr std::string_view kValueObjects = "java/lang/runtime/ValueObjectMethods";

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// Exceptions that the VM makes itself are the JDK's (vmSymbols.hpp: all below java/lang; 8 to 28).
bool VmThrows(std::string_view class_name) {
  return class_name.starts_with("java/lang/") && (EndsWith(class_name, "Exception") || EndsWith(class_name, "Error"));
}

// Whether a class is Unsafe, in whose native methods the VM initialises classes.
bool IsUnsafe(std::string_view class_name) {
  return class_name == "jdk/internal/misc/Unsafe" || class_name == "sun/misc/Unsafe";
}

// Whether the VM asks it for the trace of what a class's initialiser threw, of whatever class that is
// (java_lang_Throwable::create_initialization_error, 17+). Anybody may: it is no upcall by itself.
bool GivesTrace(std::string_view name, std::string_view descriptor) {
  return name == "getStackTrace" && descriptor == "()[Ljava/lang/StackTraceElement;";
}

bool IsInvoke(uint8_t opcode) { return opcode >= kInvokevirtual && opcode <= kInvokedynamic; }

}  // namespace

Upcall UpcallOf(std::string_view class_name, std::string_view name, std::string_view descriptor) {
  if (name == "<clinit>") return Upcall::kClinit;
  if (name == "loadClass" && descriptor == "(Ljava/lang/String;)Ljava/lang/Class;") return Upcall::kLoad;
  if (name == "<init>" && VmThrows(class_name)) return Upcall::kException;
  if (class_name == "java/lang/Throwable" && (name == "initCause" || name == "getStackTrace")) {
    return Upcall::kException;  // Exceptions::new_exception, java_lang_Throwable::create_initialization_error (17+)
  }
  // What stands for a method that must not be called (klassItable::initialize_itable_for_interface).
  if (IsUnsafe(class_name) && (name == "throwIllegalAccessError" || name == "throwNoSuchMethodError")) {
    return Upcall::kException;
  }
  if (class_name == kValueObjects && name == "isSubstitutable") return Upcall::kCompare;
  if (class_name == "java/lang/invoke/MethodHandleNatives") {
    return name.starts_with("link") || name == "findMethodHandleType" ? Upcall::kLink : Upcall::kNone;
  }
  if (class_name == "java/lang/ref/Finalizer") return name == "register" ? Upcall::kFinalizer : Upcall::kNone;
  static constexpr std::string_view kLoads[][2] = {
      {"java/lang/ClassLoader", "checkPackageAccess"},  // SystemDictionary::validate_protection_domain, until 23
      {"java/lang/ClassLoader", "loadClassInternal"},   // 8
      {"java/lang/ClassLoader", "addClass"},            // 8: SystemDictionary::define_instance_class
      {"java/lang/ClassLoader", "findNative"},          // NativeLookup::lookup_style
      {"sun/instrument/InstrumentationImpl", "transform"},
      {"jdk/internal/module/Modules", "transformedByAgent"},  // JvmtiExport::add_default_read_edges, 9+
      {"jdk/jfr/internal/JVMUpcalls", "onRetransform"},
      {"jdk/jfr/internal/JVMUpcalls", "onMethodTrace"},  // 25+
      {"jdk/jfr/internal/JVMUpcalls", "bytesForEagerInstrumentation"},
      {"jdk/jfr/internal/JVMUpcalls", "publishMethodTimersForClass"},  // 25+
  };
  for (const auto& load : kLoads) {
    if (class_name == load[0] && name == load[1]) return Upcall::kLoad;
  }
  return Upcall::kNone;
}

Occasions OccasionsOf(Upcall upcall, std::string_view class_name, std::string_view name, std::string_view descriptor) {
  if (upcall == Upcall::kNone && GivesTrace(name, descriptor)) upcall = Upcall::kClinit;
  switch (upcall) {
    case Upcall::kClinit:  // what compares value objects is initialised by the first comparison
      return class_name == kValueObjects ? kInitialising | kComparing : kInitialising;
    case Upcall::kLoad:
    case Upcall::kException:
      // A method that is about to be compiled has the classes in its signature loaded by the thread that asks for it,
      // and failures cleared (CompileBroker::compile_method, Method::load_signature_classes).
      return kResolving | kCompiling;
    case Upcall::kLink:
      return kLinking;
    case Upcall::kFinalizer:
      return kFinalising;
    case Upcall::kCompare:
      return kComparing;
    case Upcall::kNone:
      break;
  }
  return 0;
}

Occasions OccasionsAt(uint8_t op, std::string_view owner, std::string_view name) {
  if (op == kIfAcmpeq || op == kIfAcmpne) return kComparing;  // InterpreterRuntime::is_substitutable, 28
  Occasions at = kResolving;  // catch types are resolved by whatever throws, and each may (JVMS 2.10 and 6.5)
  // JVMS 5.5. C2 has Unsafe.allocateInstance without a frame of its own (LibraryCallKit::inline_unsafe_allocate).
  if (op == kNew || op == kGetstatic || op == kPutstatic || op == kInvokestatic ||
      (op == kInvokevirtual && name == "allocateInstance" && IsUnsafe(owner))) {
    at |= kInitialising;
  }
  const bool constant = op >= kLdc && op <= kLdc2W;
  const bool returns = op >= kIreturn && op <= kReturn;
  if (constant || IsInvoke(op)) at |= kLinking;
  // At the return of Object.<init>, and where compiled code allocates.
  if (returns || op == kNew || IsInvoke(op)) at |= kFinalising;
  return at;
}

}  // namespace misstep
