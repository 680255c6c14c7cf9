/* SHA-256 (FIPS 180-4), by whole blocks: all that a keyed hash of short messages needs. */
#ifndef SHA256_H
#define SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHA256_BLOCK 64
#define SHA256_SIZE 32

/* The state before the first block, and a constant for each round. */
extern const uint32_t sha256_start[8], sha256_constants[64];

/* Add one block of SHA256_BLOCK bytes to the state, in the fastest way that this CPU has. */
void sha256_block(uint32_t state[8], const uint8_t *block);

/* The same in plain C, and with the CPU's extensions where they are usable. */
void sha256_plain_block(uint32_t state[8], const uint8_t *block);
bool sha256_x86_usable(void);
void sha256_x86_block(uint32_t state[8], const uint8_t *block);

/* Hash the last `length` bytes of a message, below 2 blocks, of which `before` whole bytes are in
   the state already; the digest is SHA256_SIZE bytes. */
void sha256_end(const uint32_t state[8], const uint8_t *rest, size_t length, uint64_t before,
                uint8_t digest[SHA256_SIZE]);

/* The digest of a message of any length. */
void sha256(const uint8_t *message, size_t length, uint8_t digest[SHA256_SIZE]);

#endif
