// Calls of Java code by the VM itself: which methods it calls, for which reason, and from which instructions it may.
#pragma once

#include <cstdint>
#include <string_view>

#include "../../abi.h"

namespace misstep {

// Methods that the VM itself calls, by the reason for the call (HotSpot: vmSymbols.hpp and its users).
enum class Upcall : uint8_t {
  kNone,
  kClinit,     // a class is initialised
  kLoad,       // a class or a native method is looked up, a class file is transformed
  kLink,       // a call site or a method handle constant is linked
  kException,  // an exception of the JDK is created
  kFinalizer,  // an object with a finalizer was created
  kCompare,    // two value objects are compared
};
Upcall UpcallOf(std::string_view class_name, std::string_view name, std::string_view descriptor);

// What the VM may do while a frame is at an instruction, and for which it calls: a set of these.
using Occasions = uint8_t;
enum Occasion : Occasions {
  kInitialising = MISSTEP_SITES_INITIALISING,  // a class is initialised
  kResolving = MISSTEP_SITES_RESOLVING,        // something is resolved, or thrown
  kLinking = MISSTEP_SITES_LINKING,            // a call site or a constant is linked
  kFinalising = MISSTEP_SITES_FINALISING,      // an object with a finalizer is registered
  kComparing = MISSTEP_SITES_COMPARING,        // two references are compared
  kCompiling = MISSTEP_SITES_COMPILING,        // the method is to be compiled: at its entry, and where it branches back
};
// The occasions on which the VM may call a method, upcall being UpcallOf it; 0 for none.
Occasions OccasionsOf(Upcall upcall, std::string_view class_name, std::string_view name, std::string_view descriptor);
// The occasions at an instruction that can call. An invoke's owner and name are those that it names, else empty.
Occasions OccasionsAt(uint8_t opcode, std::string_view owner, std::string_view name);

}  // namespace misstep
