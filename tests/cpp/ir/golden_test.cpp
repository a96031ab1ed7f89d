#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "interpreter_helpers.h"
#include "ir/builder.h"
#include "ir/text.h"
#include "ir/verifier.h"
#include "random_function.h"

namespace ingot::ir {
namespace {

namespace fs = std::filesystem;

struct Golden {
  fs::path path;
  std::string text;
};

std::string read_text(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// The golden files of a folder, in the order of their names.
std::vector<Golden> goldens(const std::string& folder) {
  std::vector<Golden> found;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(INGOT_TEST_DATA) / "ir" / folder))
    if (entry.path().extension() == ".ir") found.push_back({entry.path(), read_text(entry.path())});
  std::ranges::sort(found, {}, &Golden::path);
  return found;
}

/// Printing what is read from a printed text gives that text.
void expect_round_trip(const Module& module, const std::string& name) {
  const std::string once = print(module, {.spans = true});
  const auto again = parse(once, name);
  EXPECT_EQ(print(*again, {.spans = true}), once) << name;
}

TEST(GoldenFiles, RoundTrip) {
  const auto files = goldens("text");
  ASSERT_GE(files.size(), 10u);
  for (const Golden& golden : files) expect_round_trip(*parse(golden.text, golden.path), golden.path);
}

NodeId operand_of(Builder& builder, DType dtype, size_t index) {
  return builder.add_parameter(Type::scalar(dtype), {.name = index == 0 ? "a" : "b"});
}

TEST(GoldenFiles, EveryElementwiseOp) {
  Module module;
  for (int d = 0; d < base::kDTypeCount; ++d) {
    const auto dtype = static_cast<DType>(d);
    Builder builder(module, std::string(base::info(dtype).name));
    builder.set_folding(false);
    const NodeId operands[] = {operand_of(builder, dtype, 0), operand_of(builder, dtype, 1)};
    for (int i = 0; i < kOpCount; ++i) {
      const Op op = static_cast<Op>(i);
      if (info(op).elementwise && accepts(op, dtype))
        builder.make(op, std::span(operands).first(info(op).operands));
    }
    builder.terminate(Op::return_, {});
    const FunctionId id =
        module.declare(builder.function().name(), std::vector<Type>(2, Type::scalar(dtype)), {});
    module.define(id, builder.finish({}));
  }
  const std::string text =
      "; RUN: ingot-opt --verify --print %s\n"
      "; Every elementwise op for every dtype it takes. Written by GoldenFiles.EveryElementwiseOp.\n"
      "; EXPECT SELF\n\n" +
      print(module);
  const fs::path path = fs::path(INGOT_TEST_DATA) / "ir/text/elementwise.ir";
  const char* bless = std::getenv("INGOT_BLESS");
  if (bless != nullptr && std::string_view(bless) == "1") std::ofstream(path, std::ios::binary) << text;
  EXPECT_EQ(read_text(path), text) << "INGOT_BLESS=1 writes it anew";
}

TEST(RandomFunctions, VerifyAndRoundTrip) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    Module module;
    const test::RandomOptions options{
        .nodes = 60, .spans = seed % 2 == 0, .folding = seed % 5 == 0, .arrays = seed % 3 != 0};
    const FunctionId id = test::RandomFunction(module, seed, options).build();
    for (const Fault& fault : verify(*module.function(id), Stage::Array))
      ADD_FAILURE() << "seed " << seed << ": " << to_string(*module.function(id), fault);
    expect_round_trip(module, "seed " + std::to_string(seed));
    if (HasFailure()) break;
  }
}

/// What a function gives, and what it leaves in its views. NaNs count as one: their signs are unspecified.
std::vector<uint64_t> run_bits(const Module& module) {
  std::vector<double> v = {0.5, -1.25, 3.0, 1e10};
  std::vector<double> w = {2.0};
  const std::vector<Value> arguments = {number(1.5),  number(-0.25), number<int64_t>(7), number<int64_t>(-3),
                                        number(true), view_of(v),    view_of(w)};
  const Outcome outcome = interpret(module, *module.find("f"), arguments, {.step_limit = 1000000});
  EXPECT_FALSE(outcome.raised) << outcome.exception.message;
  std::vector<double> floats = {as_number<double>(outcome.results.at(0))};
  floats.insert(floats.end(), v.begin(), v.end());
  floats.insert(floats.end(), w.begin(), w.end());
  std::vector<uint64_t> bits = {base::Scalar::of(as_number<int64_t>(outcome.results.at(1))).bits[0],
                                base::Scalar::of(as_number<bool>(outcome.results.at(2))).bits[0]};
  for (const double x : floats) bits.push_back(x != x ? 0x7ff8000000000000 : base::Scalar::of(x).bits[0]);
  return bits;
}

/// The same value from the function as built and as read back from its text.
TEST(RandomFunctions, RunAlike) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Module module;
    test::RandomFunction(module, seed, {.arrays = seed % 3 != 0}).build();
    EXPECT_EQ(run_bits(*parse(print(module), "random.ir")), run_bits(module)) << "seed " << seed;
    if (HasFailure()) FAIL() << print(module);
  }
}

TEST(RandomFunctions, SameSeedSameFunction) {
  Module one;
  Module two;
  test::RandomFunction(one, 7).build();
  test::RandomFunction(two, 7).build();
  EXPECT_EQ(print(one), print(two));
}

/// Changes to a text that leave it nearly a program.
class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed) {}

  std::string mutate(std::string text) {
    for (size_t i = 1 + below(3); i > 0 && text.size() > 2; --i) step(text);
    return text;
  }

 private:
  size_t below(size_t limit) { return random_() % limit; }
  /// The bounds of a word or of a single character at a random position.
  std::pair<size_t, size_t> token(const std::string& text) {
    const auto in_word = [&](size_t i) { return std::isalnum(static_cast<unsigned char>(text[i])) != 0; };
    const size_t at = below(text.size());
    size_t begin = at;
    size_t end = at + 1;
    while (in_word(at) && begin > 0 && in_word(begin - 1)) --begin;
    while (in_word(at) && end < text.size() && in_word(end)) ++end;
    return {begin, end - begin};
  }
  void step(std::string& text) {
    const auto [at, size] = token(text);
    const auto [other_at, other_size] = token(text);
    const std::string other = text.substr(other_at, other_size);
    constexpr std::string_view kSpice[] = {
        "%", "}",     "{",    "(",  ">",  "\"", "-",  "nan", "0x", "9999999999999999999",
        ":", "label", "void", "-1", "17", "@f", "^(", "at",  "\\", "func"};
    switch (below(7)) {
      case 0: text[below(text.size())] = static_cast<char>(below(256)); break;
      case 1: text.erase(at, size); break;
      case 2: text.replace(at, size, other); break;
      case 3: text.insert(at, other); break;
      case 4: text.replace(at, size, kSpice[below(std::size(kSpice))]); break;
      case 5: text.erase(at, below(60)); break;
      default: erase_or_copy_line(text, at); break;
    }
  }
  void erase_or_copy_line(std::string& text, size_t at) {
    const size_t begin = text.rfind('\n', at) == std::string::npos ? 0 : text.rfind('\n', at);
    const size_t end = std::min(text.find('\n', at + 1), text.size());
    const std::string line = text.substr(begin, end - begin);
    if (below(2) == 0) text.erase(begin, end - begin);
    else text.insert(below(text.size()), line);
  }
  std::mt19937_64 random_;
};

/// What can be read from a broken text verifies or not, and round-trips; anything else is a UserError.
bool reads(const std::string& text) {
  std::unique_ptr<Module> module;
  try {
    module = parse(text, "fuzz.ir");
  } catch (const base::UserError& error) {
    EXPECT_TRUE(std::string_view(error.what()).starts_with("fuzz.ir:"));
    return false;
  }
  for (uint32_t i = 0; i < module->function_count(); ++i) {
    const Function* function = module->function(FunctionId(i));
    if (function == nullptr) continue;
    for (Stage stage : {Stage::Array, Stage::Loop})
      for (const Fault& fault : verify(*function, stage)) EXPECT_FALSE(to_string(*function, fault).empty());
  }
  expect_round_trip(*module, "fuzz.ir");
  return true;
}

TEST(ParserFuzz, OnlyUserErrors) {
  constexpr int kRounds = 20000;
  const auto files = goldens("");
  int read = 0;
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t seed = static_cast<uint64_t>(round);
    const Golden& golden = files[seed % files.size()];
    const std::string text = Mutator(seed).mutate(golden.text);
    try {
      read += reads(text) ? 1 : 0;
    } catch (const std::exception& error) {
      ADD_FAILURE() << golden.path << ", round " << round << ": " << error.what() << "\n" << text;
    }
    if (HasFailure()) FAIL() << golden.path << ", round " << round << "\n" << text;
  }
  // Neither all nor none: the mutations reach past the first line.
  EXPECT_GT(read, kRounds / 50);
  EXPECT_LT(read, kRounds * 9 / 10);
}

}  // namespace
}  // namespace ingot::ir
