#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "../mutator.h"
#include "interpreter_helpers.h"
#include "ir/text.h"
#include "ir/verifier.h"
#include "ir/walk.h"

// Malformed texts are refused by the parser or the verifier; the others print as they were read, and the
// interpreter ends.

namespace ingot::ir {
namespace {

namespace fs = std::filesystem;

/// The golden files, in the order of their names.
std::vector<std::string> originals() {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(INGOT_TEST_DATA) / "ir"))
    if (entry.path().extension() == ".ir") paths.push_back(entry.path());
  std::ranges::sort(paths);
  std::vector<std::string> texts;
  for (const fs::path& path : paths) {
    std::ifstream in(path, std::ios::binary);
    texts.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return texts;
}

bool is_sound(const Module& module) {
  for (uint32_t i = 0; i < module.function_count(); ++i) {
    const Function* const function = module.function(FunctionId(i));
    if (function == nullptr) continue;
    if (!verify(*function, Stage::Loop).empty() && !verify(*function, Stage::Array).empty()) return false;
  }
  return true;
}

/// Calls all functions with ones and short views of ones.
void run_all(const Module& module) {
  for (uint32_t i = 0; i < module.function_count(); ++i) {
    const Function* const function = module.function(FunctionId(i));
    if (function == nullptr) continue;
    // A stream is memory of the caller's with addresses of functions in it.
    const bool draws =
        any_within(*function, function->body(), [&](NodeId node) { return function->op(node) == Op::draw; });
    std::vector<Value> arguments;
    bool is_callable = !draws;
    for (const Type type : module.signature(FunctionId(i)).parameters) {
      if (type.is_scalar()) {
        arguments.emplace_back(base::Scalar{{1, 0}});
      } else if (type.is_view() && type.space() == Space::Host) {
        ViewValue view;
        view.dtype = type.dtype();
        view.lengths.assign(static_cast<size_t>(type.rank()), type.rank() < 4 ? 3 : 1);
        auto step = static_cast<int64_t>(base::size_of(type.dtype()));
        for (size_t axis = view.lengths.size(); axis-- > 0; step *= view.lengths[axis])
          view.strides.insert(view.strides.begin(), step);
        view.block = std::make_shared<MemoryBlock>();
        view.block->own.assign(static_cast<size_t>(step), std::byte{1});
        view.block->data = view.block->own.data();
        view.block->size = step;
        arguments.emplace_back(std::move(view));
      } else {
        is_callable = false;
      }
    }
    if (!is_callable) continue;
    try {
      interpret(module, FunctionId(i), arguments, {.step_limit = 20'000});
    } catch (const base::InternalError&) {
    } catch (const std::bad_alloc&) {
    }
  }
}

TEST(Untrusted, SpoiledTextsAreRefusedOrRun) {
  const std::vector<std::string> texts = originals();
  ASSERT_GE(texts.size(), 50u);
  const uint64_t first = first_mutation();
  for (uint64_t seed = first; seed < first + mutations(600); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const std::string spoiled = Mutator(seed).spoiled(texts[seed % texts.size()]);
    std::unique_ptr<Module> module;
    try {
      module = parse(spoiled, "spoiled.ir");
    } catch (const base::UserError&) {
      continue;
    }
    if (!is_sound(*module)) continue;
    const std::string printed = print(*module, {.spans = true});
    EXPECT_EQ(print(*parse(printed, "printed.ir"), {.spans = true}), printed);
    run_all(*module);
  }
}

}  // namespace
}  // namespace ingot::ir
