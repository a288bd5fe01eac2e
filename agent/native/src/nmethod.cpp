#include "nmethod.h"

#include <algorithm>

#include "align.h"
#include "edges.h"

namespace misstep {

bool IsAt(const Frame& position, const Frame& frame) {
  if (position.bci != frame.bci) return false;
  if (position.method == frame.method) return true;
  return position.info != nullptr && frame.info != nullptr && OtherVersion(*position.info, *frame.info);
}

int32_t Nmethod::Add(int32_t parent, const Frame& frame) {
  // The newest first: positions come in the order of the code.
  size_t index = methods.size();
  while (index > 0 && methods[index - 1].method != frame.method) index--;
  if (index == 0) {
    methods.push_back({frame.method, 0, frame.info});
    index = methods.size();
  }
  nodes.push_back({parent, frame.bci, static_cast<uint32_t>(index) - 1});
  return static_cast<int32_t>(nodes.size()) - 1;
}

Frame Nmethod::At(size_t node) const {
  Frame frame = methods[nodes[node].method];
  frame.bci = nodes[node].bci;
  return frame;
}

std::vector<Frame> Nmethod::Chain(size_t node) const {
  std::vector<Frame> chain;
  for (auto at = static_cast<int32_t>(node); at >= 0; at = nodes[static_cast<size_t>(at)].parent) {
    chain.push_back(At(static_cast<size_t>(at)));
  }
  return chain;
}

bool Nmethod::Begins(std::span<const Frame> frames) const {
  // No event announces the ids that frames get when their version is replaced.
  const auto is_at = [](const Frame& position, const Frame& frame) {
    const bool renamed = frame.info == nullptr && frame.method != 0 && position.info != nullptr &&
                         Changed(*position.info) && position.bci == frame.bci;
    return renamed || IsAt(position, frame);
  };
  for (size_t i = 0; i < nodes.size(); i++) {
    const std::vector<Frame> chain = Chain(i);
    if (chain.size() <= frames.size() && std::equal(chain.begin(), chain.end(), frames.begin(), is_at)) return true;
  }
  return false;
}

bool Nmethod::Ends(std::span<const uint32_t> shadow, bool bare) const {
  for (size_t i = 0; i < nodes.size(); i++) {
    const std::vector<uint32_t> keys = SureKeys(BottomFirst(Chain(i)));
    if (keys.empty() ? bare : keys.size() <= shadow.size() && std::equal(keys.rbegin(), keys.rend(), shadow.rbegin())) {
      return true;
    }
  }
  return false;
}

bool Nmethod::Calls(const MethodInfo& callee) const {
  for (size_t i = 0; i < nodes.size(); i++) {
    const Frame caller = At(i);
    const Site* site = SiteAt(caller);
    if (site == nullptr || site->target < 0 || !caller.info->body->targets) continue;
    const CallTarget& target = (*caller.info->body->targets)[static_cast<size_t>(site->target)];
    if (target.name == callee.name && target.descriptor == callee.descriptor) return true;
  }
  return false;
}

}  // namespace misstep
