#include "code_map.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>

namespace misstep {
namespace {

// The most bytes of handlers and stubs of static calls that follow the instructions of compiled code.
constexpr uint64_t kMostHandlers = 1 << 16;
// How far from all known code there may be code that the JVM has not announced yet.
constexpr uint64_t kAhead = 1 << 20;

constexpr uint32_t kEntryBytes = 17;  // the most bytes of a deoptimisation entry

constexpr uint64_t kMostScanned = 1 << 20;  // the most bytes of a stack that are scanned for words that point at code

// Calls use with each word of the calling thread's stack in [from, to) and its address, until it returns true.
template <typename Use>
[[gnu::no_sanitize_address]] bool AnyWord(uint64_t from, uint64_t to, Use use) {
  for (uint64_t at = (from + 7) & ~uint64_t{7}; at + 8 <= to; at += 8) {
    if (use(*reinterpret_cast<const volatile uint64_t*>(at), at)) return true;
  }
  return false;
}

}  // namespace

uint32_t ReadCode(uint64_t pc, uint8_t* to, uint32_t size) {
  iovec local = {to, size};
  iovec remote = {reinterpret_cast<void*>(pc), size};
  const pid_t own = getpid();
  ssize_t n = process_vm_readv(own, &local, 1, &remote, 1, 0);
  if (n < 0) {
    // Perhaps only the next page is missing.
    const uint64_t here = 4096 - (pc & 4095);
    if (here >= size) return 0;
    local.iov_len = remote.iov_len = here;
    n = process_vm_readv(own, &local, 1, &remote, 1, 0);
  }
  return n > 0 ? static_cast<uint32_t>(n) : 0;
}

bool BehindCall(uint64_t address) {
#if defined(__x86_64__)
  constexpr uint32_t kMost = 7;
  uint8_t code[kMost];
  if (ReadCode(address - kMost, code, kMost) != kMost) return false;
  if (code[kMost - 5] == 0xe8) return true;  // call rel32
  // call by a register or memory: ff /2, with as many bytes as its operand takes
  const auto calls = [&](uint32_t size, uint8_t mode, bool index) {
    const uint8_t operand = code[kMost - size + 1];
    return code[kMost - size] == 0xff && operand >> 6 == mode && (operand >> 3 & 7) == 2 &&
           (mode == 3 || ((operand & 7) == 4) == index);
  };
  return calls(2, 3, false) || calls(2, 0, false) || calls(3, 0, true) || calls(3, 1, false) || calls(4, 1, true) ||
         calls(6, 2, false) || calls(7, 2, true) || calls(6, 0, false);
#else
  return address != 0;
#endif
}

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
    if (fresh) nmethod_.Add(parent, *f);
    parent = it->second;
  }
}

void DeoptStubs::Add(std::string_view name, uint64_t start, uint64_t size) {
  const bool unpacks = name == "DeoptimizationBlob";
  if (!unpacks && name != "UncommonTrapBlob") return;
  const size_t at = count_.fetch_add(1);
  if (at >= std::size(ranges_)) return;
  Range& r = ranges_[at];
  r.unpacks.store(unpacks, std::memory_order_relaxed);
  r.start.store(start, std::memory_order_relaxed);
  r.end.store(start + size, std::memory_order_release);
}

const DeoptStubs::Range* DeoptStubs::At(uint64_t address) const {
  for (const Range& r : ranges_) {
    if (address < r.end.load(std::memory_order_acquire) && address >= r.start.load(std::memory_order_relaxed)) {
      return &r;
    }
  }
  return nullptr;
}

bool DeoptStubs::OnStack(uint64_t from, uint64_t to) const {
  return AnyWord(from, to, [&](uint64_t word, uint64_t) { return At(word) != nullptr; });
}

bool DeoptStubs::IsEntry(uint64_t address) const {
  static constexpr uint8_t kC2[] = {0xe8, 0, 0, 0, 0, 0x48, 0x83, 0x2c, 0x24, 0x05};  // call behind it, sub [rsp], 5
  uint8_t code[kEntryBytes];
  uint32_t size = ReadCode(address, code, sizeof(code));
  const auto is = [&](uint32_t at, uint8_t a, uint8_t b) {
    return size > at + 1 && code[at] == a && code[at + 1] == b;
  };
  uint8_t opcode = 0xe9;  // jmp
  uint32_t at = 0;
  if (size > sizeof(kC2) && std::equal(std::begin(kC2), std::end(kC2), code)) {
    at = sizeof(kC2);
  } else if (is(0, 0x49, 0xba) && is(10, 0x41, 0x52)) {  // C1: mov r10, its own address; push r10
    at = 12;
  } else if (size >= 2 && code[0] == 0xeb) {  // since 26: a short jump back to the call that pushes the entry's address
    address += 2 + static_cast<uint64_t>(int64_t{static_cast<int8_t>(code[1])});
    size = ReadCode(address, code, sizeof(code));
    opcode = 0xe8;  // call
  } else {
    return false;
  }
  if (size < at + 5 || code[at] != opcode) return false;
  int32_t distance = 0;
  std::memcpy(&distance, &code[at + 1], sizeof(distance));
  const Range* target = At(address + at + 5 + static_cast<uint64_t>(int64_t{distance}));
  return target != nullptr && target->unpacks.load(std::memory_order_relaxed);
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
  Widen(fresh->start, fresh->size);
}

void CodeMap::Widen(uint64_t start, uint64_t size) {
  low_ = std::min(low_.load(), start);
  high_ = std::max(high_.load(), start + size);
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
  Widen(start, size);
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
  return MayHold(pc) ? Region::kUnknown : Region::kNative;
}

std::string CodeMap::StubAt(uint64_t pc) const {
  const ReadLock lock(mutex_);
  if (auto it = stubs_.upper_bound(pc); it != stubs_.begin()) {
    --it;
    if (pc < it->first + it->second.size) return it->second.name;
  }
  return "";
}

uint32_t CodeMap::WordsOnStack(uint64_t from, uint64_t to, std::span<StackWord> words) const {
  uint64_t low = low_.load(std::memory_order_relaxed);
  uint64_t high = high_.load(std::memory_order_relaxed);
  uint32_t n = 0;
  if (words.empty() || low > high) return 0;
  low -= std::min(low, kAhead);
  high += kAhead;
  AnyWord(from, std::min(to, from + kMostScanned), [&](uint64_t word, uint64_t at) {
    if (word >= low && word < high) words[n++] = {at, word};
    return n == words.size();
  });
  return n;
}

StackWord CodeMap::NextReturn(uint64_t from, uint64_t to) const {
  StackWord found;
  AnyWord(from, std::min(to, from + uint64_t{8} * kNearWords), [&](uint64_t word, uint64_t at) {
    if (!MayHold(word) || !BehindCall(word)) return false;
    found = {at, word};
    return true;
  });
  return found;
}

StackWord CodeMap::Returns(uint64_t fp, uint64_t from, uint64_t to) const {
  for (uint32_t i = 0; i < kMostFrames; i++) {
    StackWord words[2];  // the caller's frame pointer and the return address
    if (fp < from || fp % 8 != 0 || fp >= to || to - fp < sizeof(uint64_t[2])) break;
    AnyWord(fp, fp + sizeof(uint64_t[2]), [&](uint64_t word, uint64_t at) {
      words[(at - fp) / 8] = {at, word};
      return false;
    });
    if (MayHold(words[1].value)) return BehindCall(words[1].value) ? words[1] : StackWord{};
    from = fp + 1;
    fp = words[0].value;
  }
  return {};
}

uint64_t CodeMap::Original(const StackWord& copy, uint64_t to) {
  // Both are 8 below a multiple of 16, as a call leaves its address (System V ABI); the copy is the first push below
  // the alignment.
  constexpr uint64_t kAligned = 32;
  constexpr uint64_t kCallAligned = 16;
  constexpr uint64_t kMostAligned = 64;
  uint64_t found = 0;
  if ((copy.at + 8) % kAligned != 0) return found;
  AnyWord(copy.at + kCallAligned, std::min(to, copy.at + kMostAligned + 8), [&](uint64_t word, uint64_t at) {
    if (word == copy.value && (at - copy.at) % kCallAligned == 0) found = at;
    return found != 0;
  });
  return found;
}

NmethodRef CodeMap::Nearest(uint64_t address) const {
  const ReadLock lock(mutex_);
  auto it = live_.upper_bound(address);
  if (it == live_.begin()) return nullptr;
  const NmethodRef& n = (--it)->second;
  if (address - n->start >= n->size + kMostHandlers) return nullptr;
  const auto stub = stubs_.upper_bound(address);
  if (stub != stubs_.begin() && std::prev(stub)->first > n->start) return nullptr;
  return n;
}

NmethodRef CodeMap::Deoptimised(std::span<const StackWord> words, const DeoptStubs& stubs,
                                const std::function<bool(const Nmethod&)>& fits) const {
  for (const StackWord& word : words) {
    const NmethodRef n = Nearest(word.value);
    if (n != nullptr && stubs.IsEntry(word.value) && fits(*n)) return n;
  }
  return nullptr;
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
