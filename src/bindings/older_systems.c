// What LLVM and Ingot would else take from newer C libraries than that of manylinux_2_34 (glibc 2.34), and
// from libraries that are not part of the package.

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

#if defined(__x86_64__) && defined(__GLIBC__)
// glibc 2.35 has a second version of each, which leaves errno alone and computes the same.
double hypot_of_any_glibc(double x, double y);
float hypotf_of_any_glibc(float x, float y);
__asm__(".symver hypot_of_any_glibc, hypot@GLIBC_2.2.5");
__asm__(".symver hypotf_of_any_glibc, hypotf@GLIBC_2.2.5");

double hypot(double x, double y) { return hypot_of_any_glibc(x, y); }
float hypotf(float x, float y) { return hypotf_of_any_glibc(x, y); }
#endif

// glibc 2.36. LLVM takes it for the names of temporary files.
uint32_t arc4random(void);
uint32_t arc4random(void) {
  uint32_t value = 0;
  while (getrandom(&value, sizeof value, 0) != (ssize_t)sizeof value) {
  }
  return value;
}

// zlib's checksum.
unsigned long crc32(unsigned long before, const unsigned char* bytes, unsigned count);
unsigned long crc32(unsigned long before, const unsigned char* bytes, unsigned count) {
  if (bytes == NULL) return 0;
  uint32_t sum = ~(uint32_t)before;
  for (unsigned i = 0; i < count; ++i) {
    sum ^= bytes[i];
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ (0xedb88320u & (0u - (sum & 1u)));
  }
  return ~sum;
}

// What else LLVM calls of zlib and zstd: where it is asked to compress debug information, which Ingot never
// does.
#define IS_NOT_CALLED(name)  \
  _Noreturn void name(void); \
  _Noreturn void name(void) { abort(); }

IS_NOT_CALLED(compress2)
IS_NOT_CALLED(compressBound)
IS_NOT_CALLED(uncompress)
IS_NOT_CALLED(ZSTD_CCtx_setParameter)
IS_NOT_CALLED(ZSTD_compress2)
IS_NOT_CALLED(ZSTD_compressBound)
IS_NOT_CALLED(ZSTD_createCCtx)
IS_NOT_CALLED(ZSTD_decompress)
IS_NOT_CALLED(ZSTD_freeCCtx)
IS_NOT_CALLED(ZSTD_getErrorName)
IS_NOT_CALLED(ZSTD_isError)
