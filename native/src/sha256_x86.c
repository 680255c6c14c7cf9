/* One block of SHA-256 with the SHA extensions of x86-64: a fifth of the time. */
#include "sha256.h"

#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#include <stdbool.h>

#define SSSE3 (1u << 9)
#define SSE4_1 (1u << 19)
#define SHA (1u << 29)

bool sha256_x86_usable(void) {
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || (c & (SSSE3 | SSE4_1)) != (SSSE3 | SSE4_1)) return false;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & SHA) != 0;
}

/* Names are of the state's words, the highest first, as Intel's manual has them. */
__attribute__((target("sha,sse4.1,ssse3"))) void sha256_x86_block(uint32_t state[8],
                                                                   const uint8_t *block) {
  const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  __m128i cdab = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)state), 0xB1);
  __m128i efgh = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(state + 4)), 0x1B);
  __m128i abef = _mm_alignr_epi8(cdab, efgh, 8), cdgh = _mm_blend_epi16(efgh, cdab, 0xF0);
  const __m128i abef_before = abef, cdgh_before = cdgh;
  __m128i w[4]; /* the last sixteen words of the message schedule */
#pragma GCC unroll 16
  for (int i = 0; i < 16; i++) { /* four rounds each */
    if (i < 4) {
      w[i] = _mm_loadu_si128((const __m128i *)(block + 16 * i));
      w[i] = _mm_shuffle_epi8(w[i], big_endian);
    } else {
      __m128i *own = &w[i % 4], last = w[(i + 3) % 4];
      *own = _mm_sha256msg1_epu32(*own, w[(i + 1) % 4]);
      *own = _mm_add_epi32(*own, _mm_alignr_epi8(last, w[(i + 2) % 4], 4));
      *own = _mm_sha256msg2_epu32(*own, last);
    }
    __m128i k = _mm_loadu_si128((const __m128i *)(sha256_constants + 4 * i));
    k = _mm_add_epi32(k, w[i % 4]);
    cdgh = _mm_sha256rnds2_epu32(cdgh, abef, k);
    abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(k, 0x0E));
  }
  __m128i feba = _mm_shuffle_epi32(_mm_add_epi32(abef, abef_before), 0x1B);
  __m128i dchg = _mm_shuffle_epi32(_mm_add_epi32(cdgh, cdgh_before), 0xB1);
  _mm_storeu_si128((__m128i *)state, _mm_blend_epi16(feba, dchg, 0xF0));
  _mm_storeu_si128((__m128i *)(state + 4), _mm_alignr_epi8(dchg, feba, 8));
}
#else
bool sha256_x86_usable(void) { return false; }
void sha256_x86_block(uint32_t state[8], const uint8_t *block) { sha256_plain_block(state, block); }
#endif
