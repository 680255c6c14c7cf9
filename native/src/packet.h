/* The probe packet of probers/net/packet.py: layout, and its MAC. No I/O. */
#ifndef PACKET_H
#define PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sha256.h"

#define PACKET_SIZE 72
#define PACKET_BODY 56
#define PACKET_MAC 16

enum { KIND_PROBE = 1, KIND_REPLY, KIND_TRACE, KIND_FOLLOW_UP, KIND_QUEUE_PAIR };

/* One key: HMAC's two hash states. */
struct mac_key {
  uint32_t inner[8], outer[8];
};

/* Packets are made with the first one, and accepted with either. */
struct mac_keys {
  struct mac_key key[2];
  int count;
};

/* An IPv4 address in network order and a port in host order. */
struct address {
  uint32_t ip;
  uint16_t port;
};

struct packet {
  uint8_t kind, dscp;
  uint64_t sequence;
  int64_t monotonic_ns, wall_ns;
  uint64_t nonce;
  int64_t received_ns, sent_ns;
};

/* The states of a secret of any length. */
void mac_key_make(struct mac_key *key, const uint8_t *secret, size_t length);

/* Write the PACKET_SIZE bytes of a packet from `sender` to `receiver`. */
void packet_write(uint8_t *raw, const struct packet *fields, const struct mac_key *key,
                  struct address sender, struct address receiver);

/* The fields of a packet, not verified; false: `length` bytes that are no probe packet. */
bool packet_read(struct packet *fields, const uint8_t *raw, size_t length);

/* Which of the keys made the packet for exactly these two ends; -1: none. */
int packet_verify(const struct mac_keys *keys, const uint8_t *raw, struct address sender,
                  struct address receiver);

/* Whether `length` bytes begin as a packet does, as far as its sequence, which is written. */
bool packet_sequence(const uint8_t *raw, size_t length, uint64_t *sequence);

#endif
