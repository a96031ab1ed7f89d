#include <algorithm>

#include "softgpu/machine/access.h"

namespace softgpu {

namespace {

/// The blocks of a function, and for each the one that all its paths to the end go through next.
class Graph {
 public:
  /// `only_last`: of several instructions that leave the function only the last one that can be reached
  /// counts, so that the others' paths that do not leave join.
  Graph(const Function& function, const std::vector<Flow>& flow, bool only_last)
      : function_(function), flow_(flow) {
    find_blocks();
    find_edges();
    if (only_last) keep_last_leave();
    number();
    find_dominators();
  }

  /// The first instruction of the immediate post-dominator of the block that ends with a branch, or kNever.
  uint32_t join_of(uint32_t branch) const {
    const uint32_t next = dominator_[block_of_[branch]];
    return next == kNone || next == end() ? kNever : starts_[next];
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  const Function& function_;
  const std::vector<Flow>& flow_;
  std::vector<uint32_t> starts_;
  std::vector<uint32_t> block_of_;                    ///< by instruction
  std::vector<std::vector<uint32_t>> next_, before_;  ///< of each block; the last is the end
  std::vector<uint32_t> order_;                       ///< blocks that reach the end, those nearest to it last
  std::vector<uint32_t> position_;                    ///< in `order_`, or kNone
  std::vector<uint32_t> dominator_;

  uint32_t end() const { return static_cast<uint32_t>(starts_.size()); }
  uint32_t size() const { return static_cast<uint32_t>(function_.code.size()); }

  template <class F>
  void each_target(uint32_t at, F f) const {
    const Instruction& i = function_.code[at];
    if (flow_[at].kind == Flow::Jump) f(i.target);
    if (flow_[at].kind == Flow::Switch)
      for (const Slot target : function_.lists[i.target]) f(static_cast<uint32_t>(target));
  }

  void find_blocks() {
    std::vector<bool> starts(size() + 1, false);
    starts[0] = true;
    for (uint32_t at = 0; at < size(); ++at) {
      if (flow_[at].kind != Flow::Next) starts[at + 1] = true;
      each_target(at, [&](uint32_t target) { starts[target] = true; });
    }
    for (uint32_t at = 0; at < size(); ++at) {
      if (starts[at]) starts_.push_back(at);
      block_of_.push_back(static_cast<uint32_t>(starts_.size() - 1));
    }
    next_.resize(starts_.size() + 1);
    before_.resize(starts_.size() + 1);
  }

  void find_edges() {
    const auto connect = [&](uint32_t from, uint32_t to) {
      next_[from].push_back(to);
      before_[to].push_back(from);
    };
    for (uint32_t b = 0; b < end(); ++b) {
      const uint32_t last = (b + 1 < end() ? starts_[b + 1] : size()) - 1;
      const Flow::Kind kind = flow_[last].kind;
      each_target(last, [&](uint32_t target) { connect(b, block_of_[target]); });
      if (kind == Flow::Leave) connect(b, end());
      const bool falls = kind == Flow::Next || function_.code[last].guard != kNoSlot;
      if (falls && last + 1 < size()) connect(b, b + 1);
    }
  }

  void keep_last_leave() {
    std::vector<bool> seen(end() + 1, false);
    std::vector<uint32_t> stack{0};
    seen[0] = true;
    while (!stack.empty()) {
      const uint32_t block = stack.back();
      stack.pop_back();
      for (const uint32_t after : next_[block]) {
        if (seen[after]) continue;
        seen[after] = true;
        stack.push_back(after);
      }
    }
    uint32_t last = kNone;
    for (const uint32_t block : before_[end()])
      if (seen[block] && (last == kNone || block > last)) last = block;
    for (const uint32_t block : before_[end()])
      if (block != last) std::erase(next_[block], end());
    if (last != kNone) before_[end()] = {last};
  }

  /// Post-order of the reversed graph from the end.
  void number() {
    std::vector<bool> seen(end() + 1, false);
    std::vector<std::pair<uint32_t, size_t>> stack{{end(), 0}};
    seen[end()] = true;
    while (!stack.empty()) {
      auto& [block, at] = stack.back();
      if (at < before_[block].size()) {
        const uint32_t other = before_[block][at++];
        if (!seen[other]) {
          seen[other] = true;
          stack.emplace_back(other, 0);
        }
      } else {
        order_.push_back(block);
        stack.pop_back();
      }
    }
    position_.assign(end() + 1, kNone);
    for (uint32_t k = 0; k < order_.size(); ++k) position_[order_[k]] = k;
  }

  /// Cooper, Harvey and Kennedy's iteration on the reversed graph.
  void find_dominators() {
    dominator_.assign(end() + 1, kNone);
    dominator_[end()] = end();
    for (bool changes = true; changes;) {
      changes = false;
      for (size_t k = order_.size() - 1; k-- > 0;) {
        const uint32_t block = order_[k];
        uint32_t found = kNone;
        for (const uint32_t after : next_[block]) {
          if (position_[after] == kNone || dominator_[after] == kNone) continue;
          found = found == kNone ? after : common(found, after);
        }
        if (dominator_[block] == found) continue;
        dominator_[block] = found;
        changes = true;
      }
    }
  }

  uint32_t common(uint32_t a, uint32_t b) const {
    while (a != b) {
      while (position_[a] < position_[b]) a = dominator_[a];
      while (position_[b] < position_[a]) b = dominator_[b];
    }
    return a;
  }
};

}  // namespace

void add_joins(Function& function, const std::vector<Flow>& flow) {
  const Graph graph(function, flow, false);
  const Graph inner(function, flow, true);
  const auto size = static_cast<uint32_t>(function.code.size());
  std::vector<bool> has_join(size + 1, false);
  for (uint32_t at = 0; at < size; ++at) {
    Instruction& i = function.code[at];
    const bool branches =
        flow[at].kind == Flow::Switch || (flow[at].kind == Flow::Jump && i.guard != kNoSlot);
    if (branches) i.join = graph.join_of(at);
    if (branches && i.join == kNever) i.join = inner.join_of(at);
    // Threads of a kernel that have nothing left to do end: nobody waits for them.
    if (function.is_kernel && i.join < size && flow[i.join].kind == Flow::Leave) i.join = kNever;
    if (i.run == handlers::call_indirect) i.join = at + 1;
    if (i.join != kNever) has_join[i.join] = true;
  }
  std::vector<uint32_t> moved;
  std::vector<Instruction> code;
  std::vector<ptx::Location> locations;
  std::vector<std::string> texts;
  for (uint32_t at = 0; at < size; ++at) {
    moved.push_back(static_cast<uint32_t>(code.size()));
    if (has_join[at]) {
      Instruction rejoin_here;
      rejoin_here.run = handlers::rejoin;
      code.push_back(rejoin_here);
      locations.push_back(function.locations[at]);
      texts.emplace_back("(paths join)");
    }
    code.push_back(function.code[at]);
    locations.push_back(function.locations[at]);
    texts.push_back(std::move(function.texts[at]));
  }
  std::vector<bool> lists_done(function.lists.size(), false);
  for (uint32_t at = 0; at < size; ++at) {
    Instruction& i = code[moved[at] + (has_join[at] ? 1 : 0)];
    if (flow[at].kind == Flow::Jump) i.target = moved[i.target];
    if (flow[at].kind == Flow::Switch && !lists_done[i.target]) {
      lists_done[i.target] = true;
      for (Slot& target : function.lists[i.target])
        target = static_cast<Slot>(moved[static_cast<uint32_t>(target)]);
    }
    if (i.join != kNever) i.join = moved[i.join];
  }
  function.code = std::move(code);
  function.locations = std::move(locations);
  function.texts = std::move(texts);
}

}  // namespace softgpu
