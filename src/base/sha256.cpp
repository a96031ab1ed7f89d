#include "base/sha256.h"

// OpenSSL's block functions, linked in: they use the CPU's instructions, and nothing has to be loaded or set
// up first, as the interface that OpenSSL recommends would.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

namespace ingot::base {

std::array<std::byte, 32> sha256(std::span<const std::byte> bytes) {
  static_assert(SHA256_DIGEST_LENGTH == 32);
  std::array<std::byte, 32> digest;
  SHA256_CTX context;
  SHA256_Init(&context);
  SHA256_Update(&context, bytes.data(), bytes.size());
  SHA256_Final(reinterpret_cast<unsigned char*>(digest.data()), &context);
  return digest;
}

}  // namespace ingot::base
