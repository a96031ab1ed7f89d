#include "runtime/object_info.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "runtime/crc32c.h"
#include "runtime/load_error.h"
#include "support.h"

namespace ingot::runtime {
namespace {

using base::DType;
using base::ExceptionKind;
using testing::Bytes;
using testing::to_bytes;

ErrorSite make_site(ExceptionKind kind, std::string message, std::vector<DType> arguments) {
  ErrorSite site;
  site.kind = kind;
  site.message = std::move(message);
  site.arguments = std::move(arguments);
  return site;
}

ObjectInfo example() {
  ObjectInfo info;
  info.build = "0.1.0-abcdef";
  info.entries = {
      {"axpy",
       {{SlotInfo::Kind::Scalar, DType::Float64, 0}, {SlotInfo::Kind::View, DType::Float64, 1}},
       {{SlotInfo::Kind::View, DType::Complex128, 16}}},
      {"empty", {}, {}},
      {"buffers", {{SlotInfo::Kind::Buffer, DType::UInt8, 0}}, {{SlotInfo::Kind::Scalar, DType::Bool, 0}}},
  };
  info.sites = {
      make_site(ExceptionKind::IndexError, "index {} is out of bounds for axis {} with size {}",
                {DType::Int64, DType::Int64, DType::Int64}),
      make_site(ExceptionKind::ValueError, "", {}),
      make_site(ExceptionKind::TypeChangeError, "{{}} \xc3\xa9 {}", {DType::Float16}),
  };
  info.sites[0].location = {"a b.py", 12, 4, 9};
  info.sites[0].function = "smooth";
  info.sites[2].location = {"x.py", 4'000'000'000u, 1, 2};
  info.sites[2].function = "<lambda>";
  info.sites[2].made = 7;
  info.sites[2].callers = {{{"x.py", 3, 0, 7}, "outer"}, {{"y.py", 8, 4, 0}, ""}};
  return info;
}

TEST(Crc32c, has_the_known_values) {
  EXPECT_EQ(crc32c(to_bytes("123456789")), 0xe3069283u);
  EXPECT_EQ(crc32c({}), 0u);
  EXPECT_EQ(crc32c(Bytes(32)), 0x8a9136aau);
  EXPECT_EQ(crc32c(Bytes(32, std::byte{0xff})), 0x62a8ab43u);
  EXPECT_EQ(crc32c_portable(to_bytes("123456789")), 0xe3069283u);
}

TEST(Crc32c, is_the_same_with_and_without_the_instruction) {
  std::mt19937 random(3);
  for (size_t size = 0; size < 200; ++size) {
    Bytes bytes(size);
    for (std::byte& b : bytes) b = static_cast<std::byte>(random());
    ASSERT_EQ(crc32c(bytes), crc32c_portable(bytes)) << size;
  }
}

TEST(ObjectInfo, comes_back) {
  ObjectInfo before = example();
  ObjectInfo after = decode(to_bytes(encode(before)));
  EXPECT_EQ(after.build, before.build);
  EXPECT_EQ(after.features, before.features);
  EXPECT_EQ(after.entries, before.entries);
  ASSERT_EQ(after.sites.size(), before.sites.size());
  for (size_t i = 0; i < after.sites.size(); ++i) {
    const ErrorSite &a = after.sites[i], &b = before.sites[i];
    EXPECT_EQ(a.kind, b.kind);
    EXPECT_EQ(a.message, b.message);
    EXPECT_EQ(a.made, b.made);
    EXPECT_EQ(a.arguments, b.arguments);
    EXPECT_EQ(a.location.file, b.location.file);
    EXPECT_EQ(a.location.line, b.location.line);
    EXPECT_EQ(a.location.column, b.location.column);
    EXPECT_EQ(a.location.end_column, b.location.end_column);
    EXPECT_EQ(a.function, b.function);
    ASSERT_EQ(a.callers.size(), b.callers.size());
    for (size_t k = 0; k < a.callers.size(); ++k) {
      EXPECT_EQ(a.callers[k].location.file, b.callers[k].location.file);
      EXPECT_EQ(a.callers[k].location.line, b.callers[k].location.line);
      EXPECT_EQ(a.callers[k].function, b.callers[k].function);
    }
  }
  EXPECT_EQ(encode(after), encode(before));
}

TEST(ObjectInfo, has_a_fixed_format) {
  ObjectInfo info;
  info.build = "b";
  info.features = "avx";
  info.entries = {{"f", {{SlotInfo::Kind::View, DType::Int8, 2}}, {}, true}};
  std::string expected(
      "INGOTINF\6\0\0\0????"
      "\1\0\0\0b"
      "\3\0\0\0avx"
      "\1\0\0\0\1\0\0\0f\1\0\0\0\1\1\2\1\0\0\0\0\1"
      "\0\0\0\0",
      54);
  uint32_t checksum = crc32c(std::as_bytes(std::span(expected).subspan(16)));
  std::memcpy(expected.data() + 12, &checksum, 4);
  EXPECT_EQ(encode(info), expected);
}

TEST(ObjectInfo, is_refused_when_cut) {
  const std::string bytes = encode(example());
  for (size_t size = 0; size < bytes.size(); ++size)
    ASSERT_THROW(decode(to_bytes(bytes.substr(0, size))), LoadError) << size;
  EXPECT_THROW(decode(to_bytes(bytes + '\0')), LoadError);
}

TEST(ObjectInfo, is_refused_with_any_bit_flipped) {
  const Bytes bytes = to_bytes(encode(example()));
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    Bytes damaged = bytes;
    damaged[bit / 8] ^= std::byte{1} << (bit % 8);
    ASSERT_THROW(decode(damaged), LoadError) << bit;
  }
}

// After a right checksum, too, every length, number and template is checked: what is accepted is exactly what
// encode writes.
TEST(ObjectInfo, is_checked_after_the_checksum) {
  std::mt19937_64 random(4);
  Bytes bytes = to_bytes(encode(example()));
  int accepted = 0, refused = 0;
  auto decode_damaged = [&](Bytes damaged) {
    uint32_t checksum = crc32c(std::span(damaged).subspan(16));
    std::memcpy(damaged.data() + 12, &checksum, sizeof checksum);
    try {
      EXPECT_EQ(to_bytes(encode(decode(damaged))), damaged);
      ++accepted;
    } catch (const LoadError&) {
      ++refused;
    }
  };
  for (size_t size = 16; size < bytes.size(); ++size)
    decode_damaged({bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size)});
  EXPECT_EQ(accepted, 0);
  for (int round = 0; round < 5000; ++round) {
    Bytes damaged = bytes;
    for (uint64_t flips = 1 + random() % 3; flips > 0; --flips) {
      const uint64_t value = random() % 2 ? random() : random() % 4;
      damaged[16 + random() % (damaged.size() - 16)] = static_cast<std::byte>(value);
    }
    decode_damaged(damaged);
  }
  EXPECT_GT(accepted, 500);
  EXPECT_GT(refused, 500);
}

TEST(ObjectInfo, out_of_range_is_not_written) {
  auto encode_slot = [](SlotInfo slot) { encode({"", "", {{"f", {slot}, {}}}, {}}); };
  EXPECT_NO_THROW(encode_slot({SlotInfo::Kind::View, DType::Bool, 16}));
  EXPECT_THROW(encode_slot({SlotInfo::Kind::View, DType::Bool, 17}), base::InternalError);
  EXPECT_THROW(encode_slot({SlotInfo::Kind::Scalar, DType::Bool, 1}), base::InternalError);

  auto encode_site = [](std::string message, std::vector<DType> arguments) {
    ObjectInfo info;
    info.sites.push_back(make_site(ExceptionKind::ValueError, std::move(message), std::move(arguments)));
    encode(info);
  };
  std::string most;
  for (int i = 0; i < Error::kMaxArguments; ++i) most += "{}";
  EXPECT_NO_THROW(encode_site(most, std::vector(Error::kMaxArguments, DType::Int8)));
  EXPECT_THROW(encode_site(most + "{}", std::vector(Error::kMaxArguments + 1, DType::Int8)),
               base::InternalError);
  EXPECT_THROW(encode_site("{}", {}), base::InternalError);
  EXPECT_THROW(encode_site("", {DType::Int8}), base::InternalError);
  EXPECT_THROW(encode_site("{}", {DType::Complex64}), base::InternalError);
  EXPECT_THROW(encode_site("{x}", {}), base::InternalError);
}

std::string format(const std::string& message, std::vector<DType> types, std::vector<uint64_t> values) {
  ObjectInfo info;
  info.sites.resize(2);
  info.sites[1] = make_site(ExceptionKind::ValueError, message, std::move(types));
  Error error{1, 1, {}, 0, {}};
  for (size_t i = 0; i < values.size(); ++i) error.arguments[i] = values[i];
  return format_error(info, error);
}

std::string format_double(double value, DType t = DType::Float64) {
  return format("{}", {t}, {std::bit_cast<uint64_t>(value)});
}

TEST(Messages, show_integers_and_bools) {
  EXPECT_EQ(format("index {} of {}!", {DType::Int64, DType::UInt64}, {~0ull, ~0ull}),
            "index -1 of 18446744073709551615!");
  EXPECT_EQ(format("{}{}", {DType::Int8, DType::UInt8}, {static_cast<uint64_t>(-128), 255}), "-128255");
  EXPECT_EQ(format("{} {}", {DType::Bool, DType::Bool}, {0, 1}), "False True");
  EXPECT_EQ(format("{}", {DType::Int64}, {uint64_t{1} << 63}), "-9223372036854775808");
}

TEST(Messages, keep_other_text) {
  EXPECT_EQ(format("", {}, {}), "");
  EXPECT_EQ(format("{{{}}}", {DType::Int8}, {3}), "{3}");
}

TEST(Messages, show_doubles_as_python_does) {
  const std::pair<double, const char*> cases[] = {
      {0.0, "0.0"},
      {-0.0, "-0.0"},
      {1.0, "1.0"},
      {-1.5, "-1.5"},
      {0.1, "0.1"},
      {100.0, "100.0"},
      {1.0 / 3, "0.3333333333333333"},
      {1e15, "1000000000000000.0"},
      {123456789012345678.0, "1.2345678901234568e+17"},
      {9999999999999998.0, "9999999999999998.0"},
      {1e16, "1e+16"},
      {1.5e16, "1.5e+16"},
      {1e100, "1e+100"},
      {0.0001, "0.0001"},
      {0.00012345, "0.00012345"},
      {0.00001, "1e-05"},
      {1.25e-7, "1.25e-07"},
      {5e-324, "5e-324"},
      {1.7976931348623157e308, "1.7976931348623157e+308"},
      {12.5, "12.5"},
      {1e22, "1e+22"},
      {-1e-300, "-1e-300"},
  };
  for (auto [value, text] : cases) EXPECT_EQ(format_double(value), text);
  EXPECT_EQ(format_double(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(format_double(-std::numeric_limits<double>::infinity()), "-inf");
  EXPECT_EQ(format_double(std::nan("")), "nan");
}

TEST(Messages, show_narrow_floats_as_numpy_does) {
  const std::pair<float, const char*> singles[] = {{0.1f, "0.1"},
                                                   {16777216.0f, "1.6777216e+07"},
                                                   {999999.94f, "999999.94"},
                                                   {3.4028235e38f, "3.4028235e+38"},
                                                   {1e-45f, "1e-45"},
                                                   {-0.0f, "-0.0"}};
  for (auto [value, text] : singles) EXPECT_EQ(format_double(value, DType::Float32), text);
  const std::pair<double, const char*> halves[] = {{0.0999755859375, "0.1"},
                                                   {65504, "6.55e+04"},
                                                   {0x1p-24, "6e-08"},
                                                   {0x1p-14, "6.104e-05"},
                                                   {999, "999.0"},
                                                   {0.015625, "0.01563"},
                                                   {0.0078125, "0.007812"},
                                                   {4112, "4.11e+03"},
                                                   {36.625, "36.62"},
                                                   {0.333251953125, "0.3333"},
                                                   {-1.0009765625, "-1.001"},
                                                   {0.99951171875, "0.9995"},
                                                   {0, "0.0"},
                                                   {0x3ffp-24, "6.1e-05"}};
  for (auto [value, text] : halves) EXPECT_EQ(format_double(value, DType::Float16), text);
}

TEST(Messages, without_a_site_are_the_runtimes) {
  const Error memory{status_of(ExceptionKind::MemoryError), Error::kNoSite, {8000}, 0, {}};
  EXPECT_EQ(format_error({}, memory), "Unable to allocate 8000 bytes");
  const Error interrupt{status_of(ExceptionKind::KeyboardInterrupt), Error::kNoSite, {}, 0, {}};
  EXPECT_EQ(format_error({}, interrupt), "");
  const Error unknown{1, 0, {}, 0, {}};
  EXPECT_THROW(format_error({}, unknown), base::InternalError);
}

}  // namespace
}  // namespace ingot::runtime
