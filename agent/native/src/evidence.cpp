#include "evidence.h"

#include <string>
#include <utility>
#include <vector>

#include "log.h"
#include "state.h"

namespace misstep {

void Report(State& state, const Mismatch& m) {
  if (const std::string line = state.recorder.Report(m); !line.empty()) Log(line);
}

NamedTrace Named(const char* source, std::span<const Frame> frames, int32_t num_frames) {
  NamedTrace trace = {.source = source, .frames = {}, .num_frames = num_frames};
  trace.frames.reserve(frames.size());
  for (const Frame& f : frames) {
    MethodName name = {"?", f.method == 0 ? "null" : "unknown", ""};
    if (f.info != nullptr) name = {f.info->class_name, f.info->name, f.info->descriptor};
    trace.frames.push_back({name, f.bci});
  }
  return trace;
}

NamedTrace NamedShadow(const MethodTable& methods, std::span<const uint32_t> keys_bottom_first) {
  NamedTrace trace = {.source = "shadow", .frames = {}, .num_frames = static_cast<int32_t>(keys_bottom_first.size())};
  for (auto key = keys_bottom_first.rbegin(); key != keys_bottom_first.rend(); ++key) {
    trace.frames.push_back({methods.NameOfKey(*key), 0});
  }
  return trace;
}

std::optional<MethodName> NamedRoot(const MethodTable& methods, const NmethodRef& code) {
  if (code == nullptr) return std::nullopt;
  const MethodInfo* root = methods.Find(code->method);
  if (root == nullptr) return MethodName{"?", "unknown", ""};
  return MethodName{root->class_name, root->name, root->descriptor};
}

std::optional<MethodName> CallOf(const Frame& frame) {
  const Site* site = SiteAt(frame);
  if (site == nullptr || site->target < 0) return std::nullopt;
  const CallTarget& target = (*frame.info->body->targets)[static_cast<size_t>(site->target)];
  return MethodName{target.owner != nullptr ? std::string_view(target.owner->name) : "", target.name,
                    target.descriptor};
}

NmethodRef DeoptimisedCaller(const State& state, std::span<const Frame> reference, const Verdict& verdict,
                             std::span<const StackWord> words) {
  if (verdict.kind != Kind::kTruncated || verdict.divergence > reference.size()) return nullptr;
  const auto lost = reference.last(verdict.divergence);
  return state.code.Deoptimised(words, state.deopt_stubs, [&](const Nmethod& n) { return n.Begins(lost); });
}

void AddStack(const State& state, Mismatch* m, std::span<const Frame> suspect, std::span<const StackWord> words) {
  std::vector<NmethodRef> at;
  if (!suspect.empty()) m->top_call = CallOf(suspect.front());
  if (const StackWord& returns = m->place.spot.returns; returns.at != 0) {
    m->return_state = kRegionNames[static_cast<int>(state.code.Find(returns.value, &at))];
  }
  const bool bottomless =
      m->verdict.kind == Kind::kTruncated || (m->verdict.kind == Kind::kForeign && m->verdict.divergence == 0);
  if (!bottomless || m->deoptimised_caller) return;
  for (const StackWord& w : words) {
    if (m->stack.size() == kMostNamed) break;
    std::string code;
    switch (state.code.Find(w.value, &at)) {
      case Region::kCompiled: {
        const MethodName name = NamedRoot(state.methods, at.front()).value_or(MethodName{});
        code = "compiled " + std::string(name.class_name) + "." + std::string(name.name) + std::string(name.descriptor);
        break;
      }
      case Region::kInterpreter:
        code = "interpreter";
        break;
      case Region::kStub:
        code = "stub " + state.code.StubAt(w.value);
        break;
      default:
        if (!state.deopt_stubs.IsEntry(w.value)) continue;
        code = "unknown";
    }
    if (state.deopt_stubs.IsEntry(w.value)) code += ", its deoptimisation entry";
    m->stack.push_back({w.at, std::move(code)});
  }
}

}  // namespace misstep
