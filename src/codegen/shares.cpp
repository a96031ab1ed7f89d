// Several threads compile one program (`codegen/shares`). LLVM's instruction selection and registers are four
// fifths of a first call, and a context of LLVM belongs to one thread. Emitting takes a hundredth and gives
// the same module each time, so each thread emits all of it, drops the bodies that are not of its share, and
// compiles the rest; functions whose signature LLVM may change stay with their callers. `codegen/join` makes
// one object of the parts, as a linker does. As many threads as loops may have, each with 400 instructions or
// more; with one, nothing is divided. On two cores the 28 array programs compile in 0.65 of the time, for a
// tenth more of the processor's; the longest function, mostly the entry, sets the limit, since it is divided
// only after LLVM's passes have seen it whole.

#include "codegen/shares.h"

#include <llvm/ADT/EquivalenceClasses.h>
#include <llvm/IR/Instructions.h>
#include <pthread.h>

#include <algorithm>
#include <exception>
#include <map>
#include <span>
#include <tuple>

#include "base/error.h"
#include "codegen/with_llvm.h"

namespace ingot::codegen {

namespace {

/// A share of fewer instructions is not worth a thread and the share's overhead.
constexpr size_t kLeastOfShare = 400;

/// Much of an entry is glue, which takes less time.
constexpr size_t kPartOfEntry = 2;

/// The stack that LLVM's passes may need, independent of the process's default.
constexpr size_t kStack = size_t{8} << 20;

struct Task {
  const std::function<void(uint32_t)>* work;
  uint32_t number;
  std::exception_ptr failure;
  pthread_t thread;
  bool has_thread;

  static void* run(void* pointer) noexcept {
    auto& task = *static_cast<Task*>(pointer);
    try {
      with_llvm([&] { (*task.work)(task.number); });
    } catch (...) {
      task.failure = std::current_exception();
    }
    return nullptr;
  }
};

/// Functions that stay together.
struct Group {
  size_t size = 0;
  std::vector<size_t> members;  ///< by their numbers in the module
};

std::vector<Group> groups_of(const llvm::Module& module) {
  std::map<const llvm::Function*, size_t> numbers;
  llvm::EquivalenceClasses<size_t> together;
  for (const llvm::Function& function : module) {
    together.insert(numbers.size());
    numbers.emplace(&function, numbers.size());
  }
  for (const llvm::Function& function : module) {
    if (function.isDeclaration() || function.getCallingConv() != llvm::CallingConv::Fast) continue;
    for (const llvm::User* user : function.users()) {
      if (const auto* call = llvm::dyn_cast<llvm::CallInst>(user))
        together.unionSets(numbers.at(&function), numbers.at(call->getFunction()));
    }
  }
  std::map<size_t, Group> groups;  // by the first member
  size_t number = 0;
  for (const llvm::Function& function : module) {
    if (!function.isDeclaration()) {
      Group& group = groups[together.getLeaderValue(number)];
      group.size += function.getInstructionCount() / (is_inside(function) ? 1 : kPartOfEntry);
      group.members.push_back(number);
    }
    ++number;
  }
  std::vector<Group> all;
  all.reserve(groups.size());
  for (auto& [leader, group] : groups) all.push_back(std::move(group));
  return all;
}

}  // namespace

Division divide(const llvm::Module& module, unsigned most) {
  Division division;
  for (const llvm::Function& function : module) division.sizes.push_back(function.getInstructionCount());
  division.shares.resize(division.sizes.size());
  std::vector<Group> groups = groups_of(module);
  size_t all = 0;
  for (const Group& group : groups) all += group.size;
  const size_t count = std::min<size_t>({most, groups.size(), all / kLeastOfShare});
  if (count < 2) return division;

  // The largest first, each to the smallest share.
  std::ranges::sort(groups, [](const Group& a, const Group& b) {
    return std::tuple(b.size, a.members.front()) < std::tuple(a.size, b.members.front());
  });
  division.count = static_cast<uint32_t>(count);
  std::vector<size_t> filled(count);
  for (const Group& group : groups) {
    const auto least = std::ranges::min_element(filled);
    *least += group.size;
    for (const size_t member : group.members)
      division.shares[member] = static_cast<uint32_t>(least - filled.begin());
  }
  return division;
}

void keep_share(llvm::Module& module, const Division& division, uint32_t share) {
  size_t number = 0;
  for (llvm::Function& function : module) {
    INGOT_ASSERT(number < division.sizes.size(), "codegen: no more functions than were divided");
    INGOT_ASSERT(function.getInstructionCount() == division.sizes[number],
                 "codegen: what is emitted again is what was divided");
    const bool is_own = division.shares[number++] == share;
    if (function.isDeclaration()) continue;
    if (function.hasLocalLinkage()) {
      function.setLinkage(llvm::GlobalValue::ExternalLinkage);
      function.setVisibility(llvm::GlobalValue::HiddenVisibility);
      function.setDSOLocal(true);
    }
    if (!is_own) function.deleteBody();
  }
  const auto erase_unused = [](auto&& globals) {
    for (auto& global : llvm::make_early_inc_range(globals)) {
      if (global.use_empty() && (global.isDeclaration() || global.hasLocalLinkage()))
        global.eraseFromParent();
    }
  };
  erase_unused(module.functions());
  erase_unused(module.globals());
}

void at_once(uint32_t count, const std::function<void(uint32_t)>& work) {
  std::vector<Task> tasks(count);
  for (uint32_t i = 0; i < count; ++i) tasks[i] = {&work, i, {}, {}, false};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStack);
  for (Task& task : std::span(tasks).subspan(1))
    task.has_thread = pthread_create(&task.thread, &attributes, &Task::run, &task) == 0;
  pthread_attr_destroy(&attributes);
  for (Task& task : tasks)
    if (!task.has_thread) Task::run(&task);
  for (const Task& task : tasks)
    if (task.has_thread) pthread_join(task.thread, nullptr);
  for (const Task& task : tasks)
    if (task.failure) std::rethrow_exception(task.failure);
}

}  // namespace ingot::codegen
