// Interprets functions for a program in another language. Reads requests from standard input until it ends:
//   a line `run <bytes of text> <arguments> <seed>`, the text of a module whose @f is called, and each
//   argument as
//     a line `scalar <dtype>` and the element,
//     a line `array <dtype> <rank> <lengths...>` and the elements in C order, or
//     a line `view <dtype> <rank> <bytes> <offset> <lengths...> <strides...>` and the bytes of its block;
// answers each by
//   a line `done <results>` and each result as a line `array <dtype> <rank> <lengths...>` (scalars have rank
//   0, views
//     are read) and the elements, then the bytes of each view argument's block, or
//   a line `raised <kind> <message>`, or a line `fault <message>`.

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <sstream>

#include "ir/interpreter.h"
#include "ir/text.h"

namespace {

using namespace ingot;
using namespace ingot::ir;

/// More than any test takes; a program that does not end is a fault.
constexpr int64_t kStepLimit = 10'000'000;

[[noreturn]] void fail(const std::string& message) {
  std::cerr << "ir_cli: " << message << "\n";
  std::exit(2);
}

std::string read_bytes(size_t count) {
  std::string bytes(count, '\0');
  std::cin.read(bytes.data(), static_cast<std::streamsize>(count));
  if (static_cast<size_t>(std::cin.gcount()) != count) fail("input ends early");
  return bytes;
}

std::vector<int64_t> read_numbers(std::istream& line, size_t count) {
  std::vector<int64_t> numbers(count);
  for (int64_t& number : numbers) line >> number;
  return numbers;
}

size_t count_bytes(std::span<const int64_t> lengths, base::DType dtype) {
  size_t count = base::size_of(dtype);
  for (int64_t length : lengths) count *= static_cast<size_t>(length);
  return count;
}

std::vector<std::byte> to_bytes(const std::string& text) {
  std::vector<std::byte> bytes(text.size());
  std::transform(text.begin(), text.end(), bytes.begin(), [](char c) { return static_cast<std::byte>(c); });
  return bytes;
}

Value read_argument() {
  std::string text;
  std::getline(std::cin, text);
  std::istringstream line(text);
  std::string kind;
  std::string dtype_name;
  size_t rank = 0;
  line >> kind >> dtype_name;
  const auto dtype = base::dtype_from_name(dtype_name);
  if (!dtype) fail("no dtype in " + text);
  if (kind == "scalar") return base::Scalar::load(*dtype, read_bytes(base::size_of(*dtype)).data());
  line >> rank;
  if (kind == "array") {
    ArrayValue array{*dtype, read_numbers(line, rank), {}};
    array.data = to_bytes(read_bytes(count_bytes(array.lengths, *dtype)));
    return std::make_shared<const ArrayValue>(std::move(array));
  }
  if (kind != "view") fail("no argument is " + kind);
  const auto block = std::make_shared<MemoryBlock>();
  ViewValue view{*dtype, block, 0, {}, {}};
  line >> block->size >> view.offset;
  view.lengths = read_numbers(line, rank);
  view.strides = read_numbers(line, rank);
  block->own = to_bytes(read_bytes(static_cast<size_t>(block->size)));
  block->data = block->own.data();
  return view;
}

void write_bytes(const void* data, size_t count) {
  std::cout.write(static_cast<const char*>(data), static_cast<std::streamsize>(count));
}

void write_header(base::DType dtype, std::span<const int64_t> lengths) {
  std::cout << "array " << base::info(dtype).name << " " << lengths.size();
  for (int64_t length : lengths) std::cout << " " << length;
  std::cout << "\n";
}

void write_result(Type type, const Value& value) {
  if (const auto* scalar = std::get_if<base::Scalar>(&value)) {
    write_header(type.dtype(), {});
    write_bytes(scalar->bits.data(), base::size_of(type.dtype()));
  } else if (const auto* array = std::get_if<std::shared_ptr<const ArrayValue>>(&value)) {
    write_header(type.dtype(), (*array)->lengths);
    write_bytes((*array)->data.data(), (*array)->data.size());
  } else {
    fail("a result is neither scalar nor array");
  }
}

void answer(const Module& module, const std::vector<Value>& arguments, uint64_t seed) {
  const FunctionId function = module.find("f").value();
  InterpretOptions options;
  options.seed = seed;
  options.step_limit = kStepLimit;
  const Outcome outcome = interpret(module, function, arguments, options);
  if (outcome.raised) {
    std::cout << "raised " << base::name_of(outcome.exception.kind) << " " << outcome.exception.message
              << "\n";
    return;
  }
  std::cout << "done " << outcome.results.size() << "\n";
  for (size_t i = 0; i < outcome.results.size(); ++i)
    write_result(module.signature(function).results[i], outcome.results[i]);
  for (const Value& argument : arguments)
    if (const auto* view = std::get_if<ViewValue>(&argument))
      write_bytes(view->block->data, static_cast<size_t>(view->block->size));
}

std::string on_one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace

int main() {
  std::ios::sync_with_stdio(false);
  std::string text;
  while (std::getline(std::cin, text)) {
    std::istringstream line(text);
    std::string word;
    size_t bytes = 0;
    size_t count = 0;
    uint64_t seed = 0;
    if (!(line >> word >> bytes >> count >> seed) || word != "run") fail("no request: " + text);
    const std::string source = read_bytes(bytes);
    std::vector<Value> arguments;
    for (size_t i = 0; i < count; ++i) arguments.push_back(read_argument());
    try {
      answer(*parse(source, "request"), arguments, seed);
    } catch (const std::exception& error) {
      std::cout << "fault " << on_one_line(error.what()) << "\n";
    }
    std::cout.flush();
  }
  return 0;
}
