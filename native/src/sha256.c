#include "sha256.h"

#include <string.h>

const uint32_t sha256_start[8] = {
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
};

const uint32_t sha256_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t word, unsigned by) { return word >> by | word << (32 - by); }

void sha256_plain_block(uint32_t state[8], const uint8_t *block) {
  uint32_t w[64];
  for (int i = 0; i < 16; i++)
    w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
           (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
  for (int i = 16; i < 64; i++) {
    uint32_t low = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3;
    uint32_t high = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10;
    w[i] = w[i - 16] + low + w[i - 7] + high;
  }
  uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
  uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
  for (int i = 0; i < 64; i++) {
    uint32_t sum1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
    uint32_t first = h + sum1 + ((e & f) ^ (~e & g)) + sha256_constants[i] + w[i];
    uint32_t sum0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
    uint32_t second = sum0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + first;
    d = c;
    c = b;
    b = a;
    a = first + second;
  }
  state[0] += a, state[1] += b, state[2] += c, state[3] += d;
  state[4] += e, state[5] += f, state[6] += g, state[7] += h;
}

void sha256_block(uint32_t state[8], const uint8_t *block) {
  static int extensions = -1; /* whether this CPU has them; -1: not known yet */
  if (extensions < 0) extensions = sha256_x86_usable();
  if (extensions) sha256_x86_block(state, block);
  else sha256_plain_block(state, block);
}

void sha256_end(const uint32_t state[8], const uint8_t *rest, size_t length, uint64_t before,
                uint8_t digest[SHA256_SIZE]) {
  uint8_t blocks[3 * SHA256_BLOCK] = {0};
  uint32_t own[8];
  memcpy(own, state, sizeof own);
  memcpy(blocks, rest, length);
  blocks[length] = 0x80;
  size_t padded = (length + 9 + SHA256_BLOCK - 1) / SHA256_BLOCK * SHA256_BLOCK;
  uint64_t bits = (before + length) * 8;
  for (int i = 0; i < 8; i++) blocks[padded - 1 - i] = (uint8_t)(bits >> 8 * i);
  for (size_t at = 0; at < padded; at += SHA256_BLOCK) sha256_block(own, blocks + at);
  for (int i = 0; i < SHA256_SIZE; i++) digest[i] = (uint8_t)(own[i / 4] >> (24 - 8 * (i % 4)));
}

void sha256(const uint8_t *message, size_t length, uint8_t digest[SHA256_SIZE]) {
  uint32_t state[8];
  memcpy(state, sha256_start, sizeof state);
  size_t at = 0;
  for (; length - at >= SHA256_BLOCK; at += SHA256_BLOCK) sha256_block(state, message + at);
  sha256_end(state, message + at, length - at, at, digest);
}
