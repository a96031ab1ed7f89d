#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "softgpu/machine/lexer.h"

/// PTX as it is written: the result of `parse`, of which `decode` makes a program that runs.
namespace softgpu::ptx {

/// A fundamental type: `b` bits, `u` and `s` integers, `f` floats, `h` bfloat16, `p` predicates; packed pairs
/// of 16-bit numbers have 32 bits and `packed`, those of 8-bit floats (`4`: e4m3, `5`: e5m2) 16.
struct Type {
  char kind = 0;  ///< 0: no type
  uint8_t bits = 0;
  bool packed = false;

  explicit operator bool() const { return kind != 0; }
  bool operator==(const Type&) const = default;
  uint32_t bytes() const { return bits / 8u; }
  bool is_float() const { return kind == 'f' || kind == 'h'; }
};

/// The type of this name, without the dot (`f64`, `bf16x2`, `pred`), or none.
Type type_named(std::string_view name);

enum class Space : uint8_t { Generic, Register, Param, Shared, Local, Const, Global };

/// A location: the line of the PTX, and that of the source as .loc gives it (file 0: not).
struct Location {
  uint32_t line = 0;
  uint32_t file = 0;  ///< 1 is the first of Module::files
  uint32_t source_line = 0;
};

/// Limits of a program. More does not load, as the vendor's assembler refuses it.
namespace most {
constexpr int kNested = 256;  ///< pairs of braces or brackets in each other
constexpr uint32_t kAlignment = 1 << 16;
constexpr uint64_t kShared = 48 << 10;                ///< static, of a kernel
constexpr uint64_t kConst = 64 << 10;                 ///< of a module
constexpr uint64_t kStack = 512 << 10;                ///< of a thread
constexpr uint64_t kRegisters = uint64_t{32} << 20;   ///< bytes, of a function for a warp
constexpr uint64_t kConstants = uint64_t{256} << 20;  ///< the same, of the numbers in its code
}  // namespace most

/// The visibility of a name of a module: this PTX text; all that are linked, which may define it once; all,
/// of whose definitions one is taken.
enum class Linkage : uint8_t { Own, Visible, Weak };

/// A variable of memory, or a register.
struct Variable {
  std::string name;
  Space space{};
  Type type{};
  uint32_t alignment = 1;
  uint64_t size = 0;   ///< bytes; 0 for `x[]`
  uint32_t count = 0;  ///< of a register `%r<12>`: 12, else 0
  bool is_external = false;
  Linkage linkage{};
  std::vector<uint8_t> bytes{};  ///< the initial value; rest 0
  struct Address {
    uint64_t at = 0;  ///< offset in `bytes`
    std::string symbol{};
    int64_t offset = 0;
    bool is_generic = false;
  };
  std::vector<Address> addresses{};  ///< addresses of symbols in the initial value
};

struct Operand {
  enum Kind : uint8_t {
    Name,     ///< a register, special register, symbol or label
    Integer,  ///< `integer`
    Float,    ///< `integer` has the bits of a float of `bits` bits
    Address,  ///< [name + integer], [integer]
    Vector,   ///< {list}
    List,     ///< (list): of a call
    Pair,     ///< list[0] | list[1]
    Sink,     ///< _
  };
  Kind kind = Name;
  bool is_negated = false;  ///< of a predicate: !p
  std::string_view name;
  uint64_t integer = 0;
  uint8_t bits = 0;
  std::vector<Operand> list{};
};

struct Statement {
  std::string_view opcode;                ///< whole: `ld.global.f32`
  std::vector<std::string_view> parts{};  ///< its parts
  std::string_view guard;                 ///< a predicate's name, or empty
  bool is_guard_negated = false;
  std::vector<Operand> operands{};
  Location location{};
  uint32_t scope = 0;  ///< of names, an index of Function::scopes

  bool has(std::string_view part) const;
};

struct Label {
  std::string_view name;
  size_t at = 0;  ///< before this statement
};

/// A list of labels (`.branchtargets`).
struct Targets {
  std::string_view name;
  std::vector<std::string_view> labels;
};

/// Names that a pair of braces declares; scope 0 is the function's own.
struct Scope {
  uint32_t parent = 0;
  std::vector<Variable> variables{};
};

struct Function {
  std::string name;
  bool is_kernel = false;
  bool has_body = false;
  bool is_external = false;
  Linkage linkage{};
  std::vector<Variable> results{};
  std::vector<Variable> parameters{};
  std::vector<Scope> scopes{1};
  std::vector<Statement> statements{};
  std::vector<Label> labels{};
  std::vector<Targets> targets{};
  uint32_t max_threads = 0;  ///< of a block, by .maxntid or .reqntid; 0: not given
  Location location{};
};

struct Module {
  std::string text;    ///< what all views point into
  int version = 0;     ///< times ten
  int capability = 0;  ///< of .target, times ten
  std::vector<Variable> variables{};
  std::vector<Function> functions{};
  std::vector<std::string>
      files{};  ///< in the order in which .file and .loc name them; unknown ones are empty
};

/// Where the modules of PTX of an image begin: those that are to be linked follow each other.
std::vector<std::string_view> texts_of(std::string_view image);

/// Reads one text, PTX 3.0 to 9.x of 64-bit addresses. Throws LoadError at what is malformed, and at
/// directives that are not known.
Module parse(std::string_view text);

}  // namespace softgpu::ptx
