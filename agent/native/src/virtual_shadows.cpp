#include "virtual_shadows.h"

#include <sys/mman.h>

#include "../../abi.h"

namespace misstep {

uint64_t* VirtualShadows::Attach(JNIEnv* env, jobject thread) {
  bool reclaim = false;
  {
    const WriteLock lock(mutex_);
    if (until_reclaim_ > 0) until_reclaim_--;
    reclaim = free_.empty() && (until_reclaim_ == 0);
  }
  if (reclaim) Reclaim(env);
  MaySafepoint();
  const jweak weak = env->NewWeakGlobalRef(thread);
  if (weak == nullptr) {
    env->ExceptionClear();
    return nullptr;
  }
  constexpr size_t kSize = MISSTEP_SHADOW_HEADER + size_t{kEntries} * MISSTEP_SHADOW_ENTRY;
  uint64_t* buffer = nullptr;
  {
    const WriteLock lock(mutex_);
    if (!free_.empty()) {
      buffer = free_.back();
      free_.pop_back();
    } else if (made_ < kMost) {
      void* memory = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (memory != MAP_FAILED) {
        buffer = static_cast<uint64_t*>(memory);
        made_++;
      }
    }
    if (buffer != nullptr) used_.push_back({weak, buffer});
  }
  if (buffer == nullptr) {
    env->DeleteWeakGlobalRef(weak);
    return nullptr;
  }
  const auto base = reinterpret_cast<uint64_t>(buffer);
  buffer[MISSTEP_SHADOW_TOP / 8] = base + MISSTEP_SHADOW_HEADER;
  buffer[MISSTEP_SHADOW_SELF / 8] = base;
  buffer[MISSTEP_SHADOW_LIMIT / 8] = base + kSize;
  return buffer;
}

void VirtualShadows::Reclaim(JNIEnv* env) {
  // Tolerances out of the lock: asking about a reference may reach a safepoint (rule 3).
  std::vector<Used> all;
  {
    const WriteLock lock(mutex_);
    all.swap(used_);
  }
  std::vector<Used> alive;
  std::vector<uint64_t*> freed;
  MaySafepoint();
  for (const Used& u : all) {
    if (env->IsSameObject(u.thread, nullptr) == JNI_TRUE) {
      env->DeleteWeakGlobalRef(u.thread);
      freed.push_back(u.buffer);
    } else {
      alive.push_back(u);
    }
  }
  const WriteLock lock(mutex_);
  used_.insert(used_.end(), alive.begin(), alive.end());
  free_.insert(free_.end(), freed.begin(), freed.end());
  // Looking at all of them is worth it once as many were attached as there are.
  until_reclaim_ = static_cast<uint32_t>(used_.size() / 2 + 64);
}

}  // namespace misstep
