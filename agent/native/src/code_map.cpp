#include "code_map.h"

#include <algorithm>
#include <iterator>

namespace misstep {

NmethodBuilder::NmethodBuilder(uint64_t start, uint64_t size, uint64_t method) {
  nmethod_.start = start;
  nmethod_.size = size;
  nmethod_.method = method;
}

void NmethodBuilder::Add(std::span<const Frame> frames) {
  int32_t parent = -1;
  for (auto f = frames.rbegin(); f != frames.rend(); ++f) {
    const auto [it, fresh] =
        nodes_.try_emplace({parent, {f->method, f->bci}}, static_cast<int32_t>(nmethod_.nodes.size()));
    if (fresh) nmethod_.nodes.push_back({parent, *f});
    parent = it->second;
  }
}

void DeoptStubs::Add(std::string_view name, uint64_t start, uint64_t size) {
  const bool deoptimises = name == "DeoptimizationBlob" || name == "UncommonTrapBlob";
  if (!deoptimises) return;
  const size_t at = count_.fetch_add(1);
  if (at >= std::size(ranges_)) return;
  Range& r = ranges_[at];
  r.start.store(start, std::memory_order_relaxed);
  r.end.store(start + size, std::memory_order_release);
}

[[gnu::no_sanitize_address]] bool DeoptStubs::OnStack(uint64_t from, uint64_t to) const {
  const uint64_t end = std::min(to, from + kMostScanned);
  for (uint64_t at = (from + 7) & ~uint64_t{7}; at + 8 <= end; at += 8) {
    const uint64_t word = *reinterpret_cast<const volatile uint64_t*>(at);
    for (const Range& r : ranges_) {
      if (word < r.end.load(std::memory_order_acquire) && word >= r.start.load(std::memory_order_relaxed)) return true;
    }
  }
  return false;
}

void CodeMap::Load(Nmethod nmethod, uint32_t key, uint64_t now_nanos) {
  const auto fresh = std::make_shared<const Nmethod>(std::move(nmethod));
  const WriteLock lock(mutex_);
  Forget(now_nanos);
  auto it = live_.lower_bound(fresh->start);
  if (it != live_.begin()) {
    const auto before = std::prev(it);
    if (before->first + before->second->size > fresh->start) Retire(before, now_nanos);
  }
  for (it = live_.lower_bound(fresh->start); it != live_.end() && it->first < fresh->start + fresh->size;) {
    const auto gone = it++;
    Retire(gone, now_nanos);
  }
  live_[fresh->start] = fresh;
  of_method_[fresh->method].push_back(fresh);
  if (key != 0) {
    of_key_[key].push_back(fresh);
    keys_[fresh.get()] = key;
  }
  low_ = std::min(low_, fresh->start);
  high_ = std::max(high_, fresh->start + fresh->size);
}

void CodeMap::Unload(uint64_t start, uint64_t now_nanos) {
  const WriteLock lock(mutex_);
  Forget(now_nanos);
  const auto it = live_.find(start);
  if (it != live_.end()) Retire(it, now_nanos);
}

void CodeMap::Retire(std::map<uint64_t, NmethodRef>::iterator it, uint64_t now_nanos) {
  retired_.push_back({it->second, now_nanos});
  live_.erase(it);
}

void CodeMap::Drop(std::vector<NmethodRef>* list, const Nmethod* nmethod) {
  std::erase_if(*list, [&](const NmethodRef& r) { return r.get() == nmethod; });
}

void CodeMap::Forget(uint64_t now_nanos) {
  while (!retired_.empty() && retired_.front().when + kKeepNanos < now_nanos) {
    const NmethodRef gone = retired_.front().nmethod;
    retired_.pop_front();
    if (const auto list = of_method_.find(gone->method); list != of_method_.end()) {
      Drop(&list->second, gone.get());
      if (list->second.empty()) of_method_.erase(list);
    }
    if (const auto key = keys_.find(gone.get()); key != keys_.end()) {
      Drop(&of_key_[key->second], gone.get());
      keys_.erase(key);
    }
  }
}

void CodeMap::AddStub(std::string_view name, uint64_t start, uint64_t size) {
  const WriteLock lock(mutex_);
  stubs_[start] = {size, std::string(name)};
  low_ = std::min(low_, start);
  high_ = std::max(high_, start + size);
}

Region CodeMap::Find(uint64_t pc, std::vector<NmethodRef>* at_pc) const {
  const ReadLock lock(mutex_);
  at_pc->clear();
  const auto holds = [&](const Nmethod& n) { return pc >= n.start && pc < n.start + n.size; };
  if (auto it = live_.upper_bound(pc); it != live_.begin()) {
    --it;
    if (holds(*it->second)) at_pc->push_back(it->second);
  }
  for (const Retired& r : retired_) {
    if (holds(*r.nmethod)) at_pc->push_back(r.nmethod);
  }
  if (!at_pc->empty()) return Region::kCompiled;
  if (auto it = stubs_.upper_bound(pc); it != stubs_.begin()) {
    --it;
    if (pc < it->first + it->second.size) {
      return it->second.name == "Interpreter" ? Region::kInterpreter : Region::kStub;
    }
  }
  return pc >= low_ && pc < high_ ? Region::kUnknown : Region::kNative;
}

std::string CodeMap::StubAt(uint64_t pc) const {
  const ReadLock lock(mutex_);
  if (auto it = stubs_.upper_bound(pc); it != stubs_.begin()) {
    --it;
    if (pc < it->first + it->second.size) return it->second.name;
  }
  return "";
}

std::vector<NmethodRef> CodeMap::OfMethod(uint64_t method) const {
  const ReadLock lock(mutex_);
  const auto it = of_method_.find(method);
  return it == of_method_.end() ? std::vector<NmethodRef>() : it->second;
}

std::vector<NmethodRef> CodeMap::OfKey(uint32_t key) const {
  const ReadLock lock(mutex_);
  const auto it = of_key_.find(key);
  return it == of_key_.end() ? std::vector<NmethodRef>() : it->second;
}

}  // namespace misstep
