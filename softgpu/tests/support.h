#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "softgpu/machine/launch.h"
#include "softgpu/machine/program.h"

namespace softgpu {

/// A module around the text of functions and variables.
inline std::string module_of(const std::string& body) {
  return ".version 7.8\n.target sm_90\n.address_size 64\n" + body;
}

/// A kernel `k` with a body between its registers and `ret`; parameters are 64 bits each.
inline std::string kernel_of(int parameters, const std::string& body) {
  std::string text = ".visible .entry k(";
  for (int i = 0; i < parameters; ++i)
    text += std::string(i == 0 ? "" : ", ") + ".param .u64 p" + std::to_string(i);
  text +=
      ")\n{\n.reg .pred %p<20>;\n.reg .b16 %h<20>;\n.reg .b32 %r<60>;\n.reg .b64 %d<60>;\n.reg .f32 "
      "%f<20>;\n.reg .f64 %g<20>;\n";
  return module_of(text + body + "\nret;\n}\n");
}

/// A device without a driver: memory and one program.
class Bench {
 public:
  explicit Bench(const std::string& ptx, bool watches_writes = false)
      : memory_(uint64_t{1} << 30, watches_writes), program_(load(ptx, memory_)) {}

  LaunchOptions options;
  LaunchCounts counts;
  uint32_t dynamic_shared = 0;

  Memory& memory() { return memory_; }
  const Program& program() const { return *program_; }

  template <class T>
  uint64_t put(const std::vector<T>& values) {
    const Allocation* const made = memory_.allocate(std::max<size_t>(values.size() * sizeof(T), 1));
    std::memcpy(made->host, values.data(), values.size() * sizeof(T));
    memory_.mark_written(made->base, values.size() * sizeof(T));
    return made->base;
  }
  template <class T>
  std::vector<T> get(uint64_t address, size_t count) {
    std::vector<T> values(count);
    std::memcpy(values.data(), memory_.bytes_at(address, count * sizeof(T)), count * sizeof(T));
    return values;
  }

  /// Runs a kernel whose parameters are 64 bits each.
  void run(const std::string& name, uint32_t blocks, uint32_t threads,
           const std::vector<uint64_t>& arguments) {
    run(name, {{blocks, 1, 1}, {threads, 1, 1}, dynamic_shared}, arguments);
  }
  void run(const std::string& name, const LaunchShape& shape, const std::vector<uint64_t>& arguments) {
    std::vector<std::byte> bytes(arguments.size() * 8);
    if (!bytes.empty()) std::memcpy(bytes.data(), arguments.data(), bytes.size());
    counts = run_kernel(program_of(), *program_->kernel(name), shape, bytes, memory_, options);
  }

 private:
  Memory memory_;
  std::unique_ptr<Program> program_;

  const Program& program_of() const { return *program_; }
};

/// What a launch of `k` fails with; fails the test if it does not.
inline std::optional<Fault> fault_of(Bench& bench, uint32_t blocks, uint32_t threads,
                                     const std::vector<uint64_t>& arguments) {
  try {
    bench.run("k", blocks, threads, arguments);
  } catch (const Fault& fault) {
    return fault;
  }
  ADD_FAILURE() << "no fault";
  return std::nullopt;
}

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// The nearest number of 16 bits, as the compiler has it.
inline uint16_t half_of(double value) { return std::bit_cast<uint16_t>(static_cast<_Float16>(value)); }

inline std::string file_text(const std::string& name) {
  std::ifstream in(std::string(INGOT_TEST_DATA) + "/" + name);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace softgpu
