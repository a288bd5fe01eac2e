// A cause in a C++ template, whose name HotSpot demangles with arguments.
#include <jni.h>

template <typename T>
struct Ring {
  T* volatile slots;
  __attribute__((noinline)) T push(T value);
};

template <typename T>
T Ring<T>::push(T value) {
  slots[3] = value;
  return value;
}

template struct Ring<long>;

extern "C" JNIEXPORT void JNICALL Java_Vault_pushRing(JNIEnv*, jclass) {
  Ring<long> ring{reinterpret_cast<long*>(0x40)};
  ring.push(5);
}
