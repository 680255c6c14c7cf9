#include "packet.h"

#include <string.h>

#define VERSION 1
static const uint8_t magic[4] = {'S', 'K', 'H', 'P'};

static void put(uint8_t *at, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; i++) at[i] = (uint8_t)(value >> 8 * (bytes - 1 - i));
}

static uint64_t get(const uint8_t *at) {
  uint64_t value = 0;
  for (int i = 0; i < 8; i++) value = value << 8 | at[i];
  return value;
}

void mac_key_make(struct mac_key *key, const uint8_t *secret, size_t length) {
  uint8_t block[SHA256_BLOCK] = {0}, padded[SHA256_BLOCK];
  if (length > SHA256_BLOCK)
    sha256(secret, length, block);
  else
    memcpy(block, secret, length);
  memcpy(key->inner, sha256_start, sizeof key->inner);
  memcpy(key->outer, sha256_start, sizeof key->outer);
  for (int i = 0; i < SHA256_BLOCK; i++) padded[i] = block[i] ^ 0x36;
  sha256_block(key->inner, padded);
  for (int i = 0; i < SHA256_BLOCK; i++) padded[i] = block[i] ^ 0x5c;
  sha256_block(key->outer, padded);
}

static void make_mac(const struct mac_key *key, const uint8_t *body, struct address sender,
                     struct address receiver, uint8_t mac[SHA256_SIZE]) {
  uint8_t message[PACKET_BODY + 16], digest[SHA256_SIZE];
  memcpy(message, body, PACKET_BODY);
  uint8_t *ends = message + PACKET_BODY;
  memcpy(ends, &sender.ip, 4);
  put(ends + 4, sender.port, 4);
  memcpy(ends + 8, &receiver.ip, 4);
  put(ends + 12, receiver.port, 4);
  sha256_end(key->inner, message, sizeof message, SHA256_BLOCK, digest);
  sha256_end(key->outer, digest, sizeof digest, SHA256_BLOCK, mac);
}

void packet_write(uint8_t *raw, const struct packet *fields, const struct mac_key *key,
                  struct address sender, struct address receiver) {
  uint8_t mac[SHA256_SIZE];
  memcpy(raw, magic, sizeof magic);
  raw[4] = VERSION;
  raw[5] = fields->kind;
  raw[6] = fields->dscp;
  raw[7] = 0;
  put(raw + 8, fields->sequence, 8);
  put(raw + 16, (uint64_t)fields->monotonic_ns, 8);
  put(raw + 24, (uint64_t)fields->wall_ns, 8);
  put(raw + 32, fields->nonce, 8);
  put(raw + 40, (uint64_t)fields->received_ns, 8);
  put(raw + 48, (uint64_t)fields->sent_ns, 8);
  make_mac(key, raw, sender, receiver, mac);
  memcpy(raw + PACKET_BODY, mac, PACKET_MAC);
}

bool packet_read(struct packet *fields, const uint8_t *raw, size_t length) {
  if (length != PACKET_SIZE || memcmp(raw, magic, sizeof magic) != 0 || raw[4] != VERSION ||
      raw[5] < KIND_PROBE || raw[5] > KIND_QUEUE_PAIR)
    return false;
  fields->kind = raw[5];
  fields->dscp = raw[6];
  fields->sequence = get(raw + 8);
  fields->monotonic_ns = (int64_t)get(raw + 16);
  fields->wall_ns = (int64_t)get(raw + 24);
  fields->nonce = get(raw + 32);
  fields->received_ns = (int64_t)get(raw + 40);
  fields->sent_ns = (int64_t)get(raw + 48);
  return true;
}

int packet_verify(const struct mac_keys *keys, const uint8_t *raw, struct address sender,
                  struct address receiver) {
  uint8_t mac[SHA256_SIZE];
  for (int which = 0; which < keys->count; which++) {
    make_mac(&keys->key[which], raw, sender, receiver, mac);
    uint8_t difference = 0; /* in constant time */
    for (int i = 0; i < PACKET_MAC; i++) difference |= mac[i] ^ raw[PACKET_BODY + i];
    if (difference == 0) return which;
  }
  return -1;
}

bool packet_sequence(const uint8_t *raw, size_t length, uint64_t *sequence) {
  if (length < 16 || memcmp(raw, magic, sizeof magic) != 0) return false;
  *sequence = get(raw + 8);
  return true;
}
