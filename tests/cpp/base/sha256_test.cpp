#include "base/sha256.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace ingot::base {
namespace {

std::string hexadecimal(std::span<const std::byte> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : bytes) {
    text += kDigits[std::to_integer<size_t>(byte) / 16];
    text += kDigits[std::to_integer<size_t>(byte) % 16];
  }
  return text;
}

std::string digest(std::string_view text) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(text));
  EXPECT_EQ(sha256(bytes), sha256_of_any_cpu(bytes)) << text.size() << " bytes";
  return hexadecimal(sha256(bytes));
}

TEST(Sha256, GivesTheDigestsOfTheStandard) {
  EXPECT_EQ(digest(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(digest("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(digest(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, IsTheSameWithoutTheInstructionsOfTheCpu) {
  std::string text;
  for (size_t length = 0; length < 200; ++length, text += static_cast<char>(length * 37)) digest(text);
}

}  // namespace
}  // namespace ingot::base
