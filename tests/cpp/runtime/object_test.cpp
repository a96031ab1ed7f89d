#include "runtime/object.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <random>

#include "base/cpu.h"
#include "base/error.h"
#include "runtime/context.h"
#include "support.h"

namespace ingot::runtime {
namespace {

using base::DType;
using testing::Bytes;
using testing::compile_c;
using testing::message_of;
using testing::to_bytes;

/// axpy(a, x) = a * x + sin(x) over 1-D arrays; a negative a is an error that shows it and len(x).
constexpr const char* kAxpy = R"(
  double sin(double);
  int32_t axpy(Context* context, void** slots) {
    double a = *(double*)slots[0];
    View *x = slots[1], *y = slots[2];
    int64_t n = x->extent[0];
    if (a < 0) {
      context->error.site = 0;
      *(double*)&context->error.arguments[0] = a;
      context->error.arguments[1] = n;
      return 1;
    }
    Buffer* buffer = ingot_v1_allocate(context, 8 * n);
    if (!buffer) return context->error.status;
    double* out = (double*)buffer->data;
    for (int64_t i = 0; i < n; ++i) {
      double value = *(double*)(x->data + i * x->extent[1]);
      out[i] = a * value + sin(value);
    }
    y->data = buffer->data; y->buffer = buffer; y->extent[0] = n; y->extent[1] = 8;
    return 0;
  })";

ObjectInfo axpy_info() {
  SlotInfo array{SlotInfo::Kind::View, DType::Float64, 1};
  ObjectInfo info;
  info.build = "test";
  info.entries = {{"axpy", {{SlotInfo::Kind::Scalar, DType::Float64, 0}, array}, {array}}};
  info.sites = {{base::ExceptionKind::ValueError,
                 "a is {} for {} numbers",
                 {DType::Float64, DType::Int64},
                 {"axpy.py", 3, 4, 20},
                 "axpy"}};
  return info;
}

Bytes sealed_axpy() { return to_bytes(seal(compile_c(kAxpy), axpy_info())); }

TEST(Object, is_refused_on_a_cpu_without_what_it_needs) {
  ObjectInfo info = axpy_info();
  const Bytes object = compile_c(kAxpy);
  const auto refused = [&](std::string_view features) {
    info.features = features;
    return message_of<LoadError>([&] { Object::open(to_bytes(seal(object, info))); });
  };
  const std::string nothing = message_of<LoadError>([] {});
  EXPECT_EQ(refused(base::cpu_features()), nothing);
  EXPECT_EQ(refused("sse2"), nothing);
  EXPECT_EQ(refused("sse2,avx2048"), "object needs the CPU feature 'avx2048', which this CPU lacks");
  for (const std::string_view feature : base::cpu_feature_names())
    EXPECT_EQ(refused(feature) == nothing, base::has_feature(base::cpu_features(), feature)) << feature;
}

TEST(Object, runs) {
  const Object object = Object::open(sealed_axpy());
  EXPECT_EQ(object.info().build, "test");
  Context context = make_context();
  Call call(context);
  double a = 2, x[3] = {0, 7, 0};
  testing::ViewArgument<1> in{{reinterpret_cast<std::byte*>(x), nullptr}, {3}, {8}}, out;
  void* slots[] = {&a, &in, &out};
  ASSERT_EQ(call.run(object.entry("axpy"), slots), 0);
  EXPECT_GT(reinterpret_cast<double*>(out.slot.data)[1], 14.6);

  a = -0.5;
  ASSERT_EQ(call.run(object.entry("axpy"), slots), status_of(base::ExceptionKind::ValueError));
  EXPECT_EQ(format_error(object.info(), context.error), "a is -0.5 for 3 numbers");
  EXPECT_THROW(object.entry("other"), base::InternalError);
}

TEST(Object, only_lists_entries_that_are_there) {
  ObjectInfo info = axpy_info();
  info.entries[0].symbol = "saxpy";
  Bytes bytes = to_bytes(seal(compile_c(kAxpy), info));
  EXPECT_EQ(message_of<LoadError>([&] { Object::open(bytes); }), "object lacks its entry 'saxpy'");
  bytes = to_bytes(seal(compile_c("int32_t axpy = 1;"), axpy_info()));
  EXPECT_EQ(message_of<LoadError>([&] { Object::open(bytes); }), "object lacks its entry 'axpy'");
}

TEST(Object, is_still_elf_to_other_tools) {
  const testing::TemporaryFolder folder;
  testing::write_bytes(folder / "axpy.o", sealed_axpy());
  auto readelf = testing::run_command("readelf -W -S -s " + (folder / "axpy.o").string());
  EXPECT_EQ(readelf.status, 0);
  EXPECT_NE(readelf.output.find(" .ingot "), std::string::npos) << readelf.output;
  EXPECT_NE(readelf.output.find(" axpy"), std::string::npos) << readelf.output;
  EXPECT_EQ(readelf.output.find("arning"), std::string::npos) << readelf.output;
}

TEST(Object, is_sealed_once_and_only_if_it_is_one) {
  const std::string sealed = seal(compile_c(kAxpy), axpy_info());
  EXPECT_THROW(seal(to_bytes(sealed), axpy_info()), LoadError);
  EXPECT_THROW(seal(to_bytes("no object"), axpy_info()), LoadError);
}

TEST(Object, needs_its_seal_and_its_information) {
  EXPECT_EQ(message_of<LoadError>([] { Object::open(compile_c(kAxpy)); }),
            "damaged object: it does not end in a checksum");
  EXPECT_EQ(message_of<LoadError>([] { Object::open({}); }),
            "damaged object: it is shorter than its checksum");
}

TEST(Object, is_refused_when_cut_or_with_any_bit_flipped) {
  Bytes bytes = sealed_axpy();
  for (size_t size = 0; size < bytes.size(); ++size)
    ASSERT_THROW(Object::open(std::span(bytes).first(size)), LoadError) << size;
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    ASSERT_THROW(Object::open(bytes), LoadError) << bit;
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
  }
  EXPECT_NO_THROW(Object::open(bytes));
}

TEST(File, is_read_only_if_it_is_a_plain_one) {
  testing::TemporaryFolder folder;
  auto refusal = [&](const char* name) {
    return message_of<LoadError>([&] { Object::read_file(folder / name); });
  };
  testing::write_bytes(folder / "plain", sealed_axpy());
  EXPECT_EQ(Object::read_file(folder / "plain").info().build, "test");

  std::filesystem::create_symlink(folder / "plain", folder / "link");
  EXPECT_NE(refusal("link").find("symbolic link"), std::string::npos) << refusal("link");
  std::filesystem::create_directory(folder / "folder");
  EXPECT_NE(refusal("folder").find("not a regular file"), std::string::npos) << refusal("folder");
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_NE(refusal("pipe").find("not a regular file"), std::string::npos) << refusal("pipe");
  EXPECT_NE(refusal("absent").find("No such file"), std::string::npos) << refusal("absent");
  testing::write_text(folder / "empty", "");
  EXPECT_NE(refusal("empty").find("shorter than its checksum"), std::string::npos) << refusal("empty");
}

TEST(Program, with_the_runtime_alone_calls_a_saved_object) {
  const testing::TemporaryFolder folder;
  testing::write_bytes(folder / "axpy.o", sealed_axpy());
  const std::string command = INGOT_TEST_CALL " " + (folder / "axpy.o").string();
  auto good = testing::run_command(command + " axpy 2 0 0.5 -3");
  EXPECT_EQ(good.status, 0);
  EXPECT_EQ(good.output, "0 1.47943 -6.14112\n");
  auto bad = testing::run_command(command + " axpy -2 1 1");
  EXPECT_EQ(bad.status, 1);
  EXPECT_EQ(bad.output, "axpy.py:3:5: ValueError: a is -2.0 for 2 numbers\n");
  auto absent = testing::run_command(command + " spxy 2 1");
  EXPECT_EQ(absent.status, 2);
  EXPECT_NE(absent.output.find("no entry 'spxy'"), std::string::npos) << absent.output;
}

}  // namespace
}  // namespace ingot::runtime
