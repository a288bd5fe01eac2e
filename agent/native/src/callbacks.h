// The agent's JVMTI callbacks.
#pragma once

#include <jvmti.h>

namespace misstep {

jvmtiEventCallbacks Callbacks();

}  // namespace misstep
