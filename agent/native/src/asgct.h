// AsyncGetCallTrace's types and signature, which are in no header (HotSpot: share/prims/forte.cpp).
#pragma once

#include <jni.h>

namespace misstep {

struct AsgctFrame {
  jint bci;
  jmethodID method;
};
struct AsgctTrace {
  JNIEnv* env;
  jint num_frames;
  AsgctFrame* frames;
};
using AsgctFunction = void (*)(AsgctTrace*, jint, void*);

}  // namespace misstep
