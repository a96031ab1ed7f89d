#include "runtime/loader.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <random>
#include <sstream>

#include "runtime/context.h"
#include "support.h"

namespace ingot::runtime {
namespace {

using testing::Bytes;
using testing::compile_c;
using testing::message_of;

template <class Fn>
Fn* function(const LoadedObject& object, const char* name) {
  void* address = object.find_function(name);
  EXPECT_NE(address, nullptr) << name;
  return reinterpret_cast<Fn*>(address);
}

/// The access of the page at an address, as /proc/self/maps has it; empty if there is none.
std::string access_at(const void* address) {
  std::ifstream maps("/proc/self/maps");
  auto wanted = reinterpret_cast<uintptr_t>(address);
  for (std::string line; std::getline(maps, line);) {
    std::istringstream in(line);
    uintptr_t begin = 0, end = 0;
    char dash = 0;
    std::string access;
    in >> std::hex >> begin >> dash >> end >> access;
    if (begin <= wanted && wanted < end) return access;
  }
  return "";
}

constexpr const char* kConstants = R"(
  static const double table[5] = {1.5, 2.5, 3.5, 4.5, 5.5};
  double lookup(int i) { return table[i] * 3.14159; }
  float small(float x) { return x + 0.1f; })";

constexpr const char* kCalls = R"(
  double sin(double); void* memcpy(void*, const void*, size_t); float powf(float, float);
  double sine(double x) { return sin(x) + 1.0; }
  float power(float x, float y) { return powf(x, y) * 2; }
  void copy(void* to, const void* from, size_t n) { memcpy(to, from, n); }
  double (*address_of_sin(void))(double) { return sin; }
  double (*const sin_in_data)(double) = sin;)";

constexpr const char* kStaticData = R"(
  static int64_t state[4] = {10, 20, 30, 40};
  int64_t* where = &state[2];
  int64_t bump(int i) { return state[i] += 1; }
  int64_t through_pointer(void) { return *where; })";

constexpr const char* kBss = R"(
  static char zeros[100000];
  int64_t total;
  int first_nonzero(void) { for (int i = 0; i < 100000; ++i) if (zeros[i]) return i; return -1; }
  void set(int i) { zeros[i] = 1; total += i; }
  int64_t sum(void) { return total; })";

constexpr const char* kJumpTable = R"(
  double sin(double); double cos(double); double exp(double); double log(double); double tanh(double);
  double choose(int i, double x) {
    switch (i) {
      case 0: return sin(x); case 1: return cos(x) + 1; case 2: return exp(x); case 3: return log(x) - 3;
      case 4: return x * x; case 5: return x / 7; case 6: return tanh(x); case 7: return 1 - x; default: return 0;
    }
  })";

constexpr const char* kFunctionPointers = R"(
  static int64_t one(int64_t x) { return x + 1; }
  static int64_t twice(int64_t x) { return 2 * x; }
  int64_t square(int64_t x) { return x * x; }
  int64_t (*const functions[3])(int64_t) = {one, twice, square};
  int64_t apply(int which, int64_t x) { return functions[which](x); })";

constexpr const char* kAligned = R"(
  static const double lanes[8] __attribute__((aligned(64))) = {1, 2, 3, 4, 5, 6, 7, 8};
  const char odd = 1;
  static double more[16] __attribute__((aligned(256))) = {1};
  static char scratch[3] __attribute__((aligned(4096)));
  const void* address_of(int i) { return i == 0 ? (const void*)lanes : i == 1 ? (void*)more : (void*)scratch; })";

/// How the C compiler makes the objects: each gives other relocations.
class Loader : public ::testing::TestWithParam<const char*> {
 protected:
  LoadedObject load(const char* source) { return LoadedObject::load(compile_c(source, GetParam())); }
};

INSTANTIATE_TEST_SUITE_P(Flags, Loader,
                         ::testing::Values("-O2 -fPIC", "-O0 -fPIC", "-O2 -fno-pic -mcmodel=small",
                                           "-O2 -fPIC -fno-plt", "-O2 -fno-pic -mcmodel=large",
                                           "-O1 -fPIC -g -ffunction-sections -fdata-sections"));

TEST_P(Loader, constants) {
  auto object = load(kConstants);
  auto* lookup = function<double(int)>(object, "lookup");
  for (int i = 0; i < 5; ++i) EXPECT_EQ(lookup(i), (1.5 + i) * 3.14159);
  EXPECT_EQ(function<float(float)>(object, "small")(2.0f), 2.0f + 0.1f);
}

TEST_P(Loader, calls_of_outside_functions) {
  auto object = load(kCalls);
  EXPECT_EQ(function<double(double)>(object, "sine")(0.5), std::sin(0.5) + 1.0);
  EXPECT_EQ(function<float(float, float)>(object, "power")(2.0f, 5.0f), 64.0f);
  EXPECT_EQ(function<double (*())(double)>(object, "address_of_sin")()(0.5), std::sin(0.5));
  EXPECT_EQ((*static_cast<double (**)(double)>(object.find("sin_in_data")))(0.5), std::sin(0.5));
  char from[100] = "some bytes", to[100] = "";
  function<void(void*, const void*, size_t)>(object, "copy")(to, from, sizeof to);
  EXPECT_STREQ(to, from);
}

TEST_P(Loader, static_data) {
  auto object = load(kStaticData);
  auto* bump = function<int64_t(int)>(object, "bump");
  EXPECT_EQ(bump(2), 31);
  EXPECT_EQ(bump(2), 32);
  EXPECT_EQ(function<int64_t()>(object, "through_pointer")(), 32);
  EXPECT_EQ(**static_cast<int64_t**>(object.find("where")), 32);
  EXPECT_EQ(object.find_function("where"), nullptr) << "data is no function";
}

TEST_P(Loader, zeroed_data) {
  auto object = load(kBss);
  auto* first_nonzero = function<int()>(object, "first_nonzero");
  EXPECT_EQ(first_nonzero(), -1);
  function<void(int)>(object, "set")(99999);
  EXPECT_EQ(first_nonzero(), 99999);
  EXPECT_EQ(function<int64_t()>(object, "sum")(), 99999);
}

TEST_P(Loader, jump_tables) {
  auto object = load(kJumpTable);
  auto* choose = function<double(int, double)>(object, "choose");
  const double x = 0.75;
  const double expected[] = {
      std::sin(x), std::cos(x) + 1, std::exp(x), std::log(x) - 3, x * x, x / 7, std::tanh(x), 1 - x, 0};
  for (int i = 0; i < 9; ++i) EXPECT_EQ(choose(i, x), expected[i]) << i;
}

TEST_P(Loader, function_pointers) {
  auto object = load(kFunctionPointers);
  auto* apply = function<int64_t(int, int64_t)>(object, "apply");
  EXPECT_EQ(apply(0, 5), 6);
  EXPECT_EQ(apply(1, 5), 10);
  EXPECT_EQ(apply(2, 5), 25);
  EXPECT_EQ(object.find("one"), nullptr) << "it is local";
  EXPECT_NE(object.find("square"), nullptr);
}

TEST_P(Loader, large_alignments) {
  auto object = load(kAligned);
  auto* address_of = function<const void*(int)>(object, "address_of");
  const uintptr_t alignments[] = {64, 256, 4096};
  for (int i = 0; i < 3; ++i) EXPECT_EQ(reinterpret_cast<uintptr_t>(address_of(i)) % alignments[i], 0u) << i;
  EXPECT_EQ(static_cast<const double*>(address_of(0))[7], 8.0);
}

TEST_P(Loader, several_entries_with_the_entry_abi) {
  auto object = load(R"(
    int32_t fill(Context* context, void** slots) {
      int64_t n = *(int64_t*)slots[0];
      Buffer* buffer = ingot_v1_allocate(context, 8 * n);
      if (!buffer) return context->error.status;
      for (int64_t i = 0; i < n; ++i) ((double*)buffer->data)[i] = 0.5 * i;
      View* result = slots[1];
      result->data = buffer->data; result->buffer = buffer; result->extent[0] = n; result->extent[1] = 8;
      return 0;
    }
    int32_t fail(Context* context, void** slots) {
      ingot_v1_release(context, ingot_v1_allocate(context, 100));
      ingot_v1_allocate(context, 100);
      context->error.site = 3;
      return 3;
    })");
  Context context = make_context();
  Call call(context);
  int64_t n = 4;
  testing::ViewArgument<1> result;
  void* slots[] = {&n, &result};
  ASSERT_EQ(call.run(function<Status(Context*, void**)>(object, "fill"), slots), 0);
  auto buffer = call.take(result.slot.buffer);
  ASSERT_NE(buffer, nullptr);
  EXPECT_EQ(reinterpret_cast<double*>(buffer->data)[3], 1.5);
  EXPECT_EQ(result.lengths[0], 4);
  EXPECT_EQ(result.strides[0], 8);

  EXPECT_EQ(call.run(function<Status(Context*, void**)>(object, "fail"), slots), 3);
  EXPECT_EQ(context.error.site, 3u);
  n = INT64_MAX / 8;
  EXPECT_EQ(exception_of(call.run(function<Status(Context*, void**)>(object, "fill"), slots)),
            base::ExceptionKind::MemoryError);
}

TEST(LoadedObject, is_never_writable_and_executable) {
  auto object = LoadedObject::load(compile_c(R"(
    const int64_t constant[4] = {1, 2, 3, 4};
    int64_t variable = 5, zero;
    int64_t code(void) { return variable; })"));
  EXPECT_EQ(access_at(object.find("code")), "r-xp");
  EXPECT_EQ(access_at(object.find("constant")), "r--p");
  EXPECT_EQ(access_at(object.find("variable")), "rw-p");
  EXPECT_EQ(access_at(object.find("zero")), "rw-p");
}

TEST(LoadedObject, gives_its_memory_back) {
  void* code = nullptr;
  {
    auto object = LoadedObject::load(compile_c("int code(void) { return 7; }"));
    code = object.find("code");
    const LoadedObject moved = std::move(object);
    EXPECT_EQ(moved.find("code"), code);
    EXPECT_EQ(function<int()>(moved, "code")(), 7);
    EXPECT_EQ(access_at(code), "r-xp");
  }
  EXPECT_NE(access_at(code), "r-xp");
}

TEST(LoadedObject, lists_its_symbols) {
  auto object = LoadedObject::load(compile_c(R"(
    static __attribute__((noinline)) int helper(int x) { return x * 3; }
    int value = 4;
    int code(int x) { return helper(x) + value; })"));
  std::string names;
  for (const auto& symbol : object.symbols()) {
    if (!symbol.is_global && !symbol.is_function) continue;
    names += symbol.name + (symbol.is_function ? "()" : "") + (symbol.is_global ? " " : "* ");
    EXPECT_GT(symbol.size, 0u);
  }
  EXPECT_EQ(names, "code() helper()* value ");
}

TEST(LoadedObject, may_be_empty) {
  auto object = LoadedObject::load(compile_c(""));
  EXPECT_EQ(object.find("anything"), nullptr);
  EXPECT_TRUE(object.symbols().empty());
}

std::string refusal(const Bytes& object) {
  return message_of<LoadError>([&] { LoadedObject::load(object); });
}

TEST(Refusals, name_the_missing_symbol) {
  auto message = refusal(compile_c("int puts(const char*); int f(void) { return puts(\"x\"); }"));
  EXPECT_EQ(message, "object needs the symbol 'puts', which the runtime does not provide");
  for (const char* flags : {"-O2 -fPIC -fno-plt", "-O2 -fno-pic -mcmodel=large"}) {
    message = refusal(compile_c("int puts(const char*); int f(void) { return puts(\"x\"); }", flags));
    EXPECT_NE(message.find("'puts'"), std::string::npos) << message;
  }
}

struct Refused {
  const char* source;
  const char* message;
  const char* flags = "-O2 -fPIC";
};

TEST(Refusals, name_what_compiled_code_never_has) {
  const Refused cases[] = {
      {"__attribute__((weak)) int f(void) { return 1; }", "weak symbol 'f'"},
      {"extern int g(void) __attribute__((weak)); int f(void) { return g(); }", "weak symbol 'g'"},
      {"__thread int t = 1; int f(void) { return t; }", "thread-local symbol 't'"},
      {"int common; int f(void) { return common; }", "common symbol 'common'", "-O2 -fPIC -fcommon"},
      {"static int a(void) { return 1; } static void* r(void) { return a; }"
       "int f(void) __attribute__((ifunc(\"r\")));",
       "indirect symbol 'f'"},
      {"volatile int x; __attribute__((constructor)) void f(void) { x = 1; }", "section '.init_array'"},
      {"asm(\".section .both,\\\"awx\\\",@progbits\\n .byte 1\\n .text\");", "both writable and executable"},
      {"asm(\".section .text.g,\\\"axG\\\",@progbits,g,comdat\\n .globl g\\n g: ret\\n .text\");",
       "in a group"},
      {"asm(\".globl a\\n .set a, 42\");", "absolute symbol 'a'"},
      {"asm(\".text\\n .p2align 13\\n ret\");", "aligned to no part of a page"},
      {"asm(\".text\\n movq $f + 0x7fffffff, %rax\\n .globl f\\n f: ret\");",
       "reaches for 'f', too far for 32 bits"},
      {"asm(\".text\\n movw $f, %ax\\n .globl f\\n f: ret\");", "relocation of unknown kind 12"},
  };
  for (const Refused& c : cases) {
    auto message = refusal(compile_c(c.source, c.flags));
    EXPECT_NE(message.find(c.message), std::string::npos) << c.source << "\n" << message;
  }
}

TEST(Refusals, recognise_other_files) {
  EXPECT_EQ(refusal({}), "damaged object: it is shorter than a header");
  EXPECT_EQ(refusal(Bytes(64)), "damaged object: it is not an ELF file");
  EXPECT_EQ(refusal(testing::read_bytes("/proc/self/exe")),
            "damaged object: it is not a relocatable x86-64 object");
  const Bytes object = compile_c("int f(void) { return 1; }");
  for (const size_t at :
       {size_t{EI_CLASS}, size_t{EI_DATA}, offsetof(Elf64_Ehdr, e_type), offsetof(Elf64_Ehdr, e_machine)}) {
    Bytes other = object;
    other[at] ^= std::byte{3};
    EXPECT_EQ(refusal(other), "damaged object: it is not a relocatable x86-64 object");
  }
}

/// Each object with a sample of everything that the loader reads.
std::vector<Bytes> fuzz_objects() {
  const std::string all = std::string(kCalls) + kStaticData + kBss + kFunctionPointers + kAligned;
  return {compile_c(all), compile_c(kJumpTable, "-O2 -fPIC -fno-plt"),
          compile_c(kStaticData, "-O2 -fno-pic -mcmodel=small")};
}

/// Loads damaged bytes. Whether they still make an object does not matter; anything but a LoadError does.
bool loads(const Bytes& object) {
  try {
    return LoadedObject::load(object).find("nothing") == nullptr;
  } catch (const LoadError&) {
    return false;
  }
}

TEST(Damage, truncated_objects_are_refused) {
  for (const Bytes& object : fuzz_objects()) {
    ASSERT_TRUE(loads(object));
    for (size_t size = 0; size < object.size(); ++size) {
      // A copy of its own, so that a sanitizer sees a read past its end.
      const Bytes cut(object.begin(), object.begin() + static_cast<ptrdiff_t>(size));
      ASSERT_FALSE(loads(cut)) << size;
    }
  }
}

TEST(Damage, single_flipped_bits_do_no_harm) {
  for (const Bytes& object : fuzz_objects()) {
    int loaded = 0, refused = 0;
    Bytes damaged = object;
    for (size_t bit = 0; bit < 8 * object.size(); ++bit) {
      damaged[bit / 8] ^= std::byte{1} << (bit % 8);
      ++(loads(damaged) ? loaded : refused);
      damaged[bit / 8] = object[bit / 8];
    }
    EXPECT_GT(loaded, 1000);
    EXPECT_GT(refused, 1000);
  }
}

TEST(Damage, random_flipped_bits_and_bytes_do_no_harm) {
  std::mt19937_64 random(20);
  for (const Bytes& object : fuzz_objects()) {
    int refused = 0;
    for (int round = 0; round < 2000; ++round) {
      Bytes damaged = object;
      for (uint64_t flips = 1 + random() % 8; flips > 0; --flips) {
        const size_t at = random() % damaged.size();
        if (random() % 2 == 0) damaged[at] ^= std::byte{1} << (random() % 8);
        else damaged[at] = static_cast<std::byte>(random());
      }
      refused += !loads(damaged);
    }
    EXPECT_GT(refused, 500);
  }
}

}  // namespace
}  // namespace ingot::runtime
