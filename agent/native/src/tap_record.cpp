#include "tap_record.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace misstep {
namespace {

static_assert(static_cast<int>(Region::kUnknown) == MISSTEP_TAP_STATE_UNKNOWN);
static_assert(static_cast<int>(Region::kInterpreter) == MISSTEP_TAP_STATE_INTERPRETED);
static_assert(static_cast<int>(Region::kStub) == MISSTEP_TAP_STATE_STUB);
static_assert(static_cast<int>(Region::kCompiled) == MISSTEP_TAP_STATE_COMPILED);
static_assert(static_cast<int>(Region::kNative) == MISSTEP_TAP_STATE_NATIVE);

std::string TextOf(const MethodName& name) {
  std::string text(name.class_name);
  text.append(".").append(name.name).append(name.descriptor);
  return text;
}

void Put(std::vector<uint8_t>* to, const void* from, size_t size) {
  const auto* bytes = static_cast<const uint8_t*>(from);
  to->insert(to->end(), bytes, bytes + size);
}

}  // namespace

// Names the methods of entries that were not named before.
void TapRecords::NameEntries(std::span<const uint32_t> ids) {
  for (const uint32_t id : ids) {
    if (id < named_.size() && named_[id]) continue;
    uint32_t key = id;
    methods_.KeysOf({&key, 1});
    if (key == 0) continue;  // not registered yet, or no id
    if (id >= named_.size()) named_.resize(std::max<size_t>(id + 1, 2 * named_.size()));
    named_[id] = true;
    file_->Name(id, TextOf(methods_.NameOfKey(key)));
  }
}

// The id of a jmethodID, which is named the first time.
uint32_t TapRecords::IdOf(uint64_t method) {
  if (method == 0) return 0;
  if (const auto known = ids_.find(method); known != ids_.end()) return known->second;
  const MethodInfo* info = methods_.Find(method);
  if (info == nullptr) return MISSTEP_TAP_METHODS;
  const auto id = static_cast<uint32_t>(MISSTEP_TAP_METHODS + ids_.size() + 1);
  ids_[method] = id;
  file_->Name(id, TextOf({info->class_name, info->name, info->descriptor}));
  return id;
}

// Finds out what the call's addresses and jmethodIDs are. Returns whether all of them are known.
bool TapRecords::Resolve(TapCall* call) {
  std::vector<NmethodRef> at;
  if (call->return_pc != 0) call->return_state = static_cast<uint32_t>(code_.Find(call->return_pc, &at));
  call->state = static_cast<uint32_t>(code_.Find(call->pc, &at));
  call->compiled = at.empty() ? 0 : IdOf(at.front()->method);
  bool known = call->state != MISSTEP_TAP_STATE_UNKNOWN && call->compiled != MISSTEP_TAP_METHODS &&
               (call->return_pc == 0 || call->return_state != MISSTEP_TAP_STATE_UNKNOWN);
  for (uint32_t i = 0; i < call->frames; i++) known = IdOf(call->Frames()[i].method) != MISSTEP_TAP_METHODS && known;
  return known;
}

// Appends the record as it is in the file.
void TapRecords::Append(TapCall* call) {
  std::vector<uint8_t> record;
  Put(&record, call,
      static_cast<size_t>(reinterpret_cast<uint8_t*>(call->Frames()) - reinterpret_cast<uint8_t*>(call)));
  for (uint32_t i = 0; i < call->frames; i++) {
    const TapFrame& frame = call->Frames()[i];
    const uint32_t id = IdOf(frame.method);
    Put(&record, &frame.bci, sizeof(frame.bci));
    Put(&record, &id, sizeof(id));
  }
  Put(&record, call->ReturnCode(), call->return_size);
  record.resize((record.size() + 7) / 8 * 8);
  const auto size = static_cast<uint32_t>(record.size());
  std::memcpy(record.data(), &size, sizeof(size));
  NameEntries({call->Entries(), call->entries});
  file_->Call(record);
}

void TapRecords::Add(std::span<const uint8_t> call, uint64_t now_nanos) {
  Waiting fresh = {std::vector<uint64_t>((call.size() + 7) / 8), now_nanos};
  std::memcpy(fresh.words.data(), call.data(), call.size());
  if (Resolve(CallOf(&fresh.words)) || waiting_bytes_ + call.size() > kMostWaiting) {
    Append(CallOf(&fresh.words));
    return;
  }
  waiting_bytes_ += 8 * fresh.words.size();
  waiting_.push_back(std::move(fresh));
}

void TapRecords::AddStill(const TapStill& still, std::span<const uint32_t> entries) {
  NameEntries(entries);
  file_->Still(still, entries);
}

void TapRecords::Settle(uint64_t now_nanos, bool end) {
  while (!waiting_.empty() && (end || waiting_.front().since_nanos + kWaitNanos <= now_nanos)) {
    TapCall* call = CallOf(&waiting_.front().words);
    Resolve(call);
    Append(call);
    waiting_bytes_ -= 8 * waiting_.front().words.size();
    waiting_.pop_front();
  }
}

}  // namespace misstep
