#include "agent_thread.h"

#include <csignal>

namespace misstep {

bool StartThread(pthread_t* thread, void* (*run)(void*), void* argument) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int failed = pthread_create(thread, nullptr, run, argument);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return failed == 0;
}

bool Detached(JavaVM* vm) {
  void* env = nullptr;
  return vm == nullptr || vm->GetEnv(&env, JNI_VERSION_1_6) == JNI_EDETACHED;
}

}  // namespace misstep
