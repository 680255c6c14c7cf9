/* Random and damaged datagrams and control messages, for SECONDS, under the sanitizers:
   scripts/native-checks.sh. Ends with what the parser made of them. */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include <linux/errqueue.h>

#include "../src/control.h"
#include "../src/sockets.h"

static uint64_t state = 88172645463325252u;

static uint64_t random_number(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

/* A packet of either key, or of none, as it is or damaged, in a buffer of exactly its length; some
   are replies to a probe that waits, or to one near it. */
static uint8_t *datagram(const struct mac_keys *keys, struct address peer, struct address own,
                         const struct probe *awaited, size_t *length) {
  struct packet fields = {.kind = (uint8_t)(random_number() % 7), .dscp = (uint8_t)random_number(),
                          .sequence = random_number(), .nonce = random_number(),
                          .wall_ns = random_number() % 4 ? wall_ns() : (int64_t)random_number(),
                          .received_ns = (int64_t)random_number()};
  if (awaited != NULL && random_number() % 2) {
    fields.kind = KIND_REPLY;
    fields.sequence = awaited->sequence + random_number() % 3;
    fields.nonce = awaited->nonce + (random_number() % 4 == 0);
  }
  uint8_t raw[2 * PACKET_SIZE];
  for (size_t i = 0; i < sizeof raw; i++) raw[i] = (uint8_t)random_number();
  if (random_number() % 8) packet_write(raw, &fields, &keys->key[random_number() % 2], peer, own);
  if (random_number() % 3 == 0) raw[random_number() % PACKET_SIZE] ^= (uint8_t)random_number();
  *length = random_number() % 4 ? PACKET_SIZE : random_number() % (sizeof raw + 1);
  uint8_t *exact = malloc(*length + (*length == 0));
  memcpy(exact, raw, *length);
  return exact;
}

/* Control messages as a kernel would not write them: any lengths. */
static void control_messages(uint64_t *seen) {
  size_t room = random_number() % CONTROL_ROOM;
  char *exact = malloc(room + 1);
  for (size_t i = 0; i < room; i++) exact[i] = (char)random_number();
  if (room >= sizeof(struct cmsghdr)) {
    struct cmsghdr header = {.cmsg_len = random_number() % (room + 1)};
    header.cmsg_level = random_number() % 2 ? SOL_SOCKET : IPPROTO_IP;
    header.cmsg_type = header.cmsg_level == SOL_SOCKET ? 37 : IP_RECVERR;
    memcpy(exact, &header, sizeof header);
  }
  struct msghdr message = {.msg_control = exact, .msg_controllen = room};
  struct control found = control_read(&message);
  *seen += found.error || found.stamped_ns != 0;
  free(exact);
}

/* Probes are added and end in any order; some time-outs pass. */
static void probes(struct udp_socket *own, struct results *results) {
  struct probe *made = random_number() % 2 ? probes_add(own->probes) : NULL;
  if (made != NULL) {
    made->own = own;
    made->tag = 1 + random_number() % 64;
    made->nonce = random_number();
    made->to = (struct address){htonl(0x7f000001 + (uint32_t)(random_number() % 80)), 0};
    made->timeout_ns = 1000000;
    made->expires_ns = monotonic_ns() + (int64_t)(random_number() % 50000000);
  }
  if (random_number() % 64 == 0) probes_forget(own->probes, own, random_number() % 65);
  if (random_number() % 16 == 0) sockets_expire(own->probes, results, monotonic_ns());
}

/* Both ways to add a block come to the same state. */
static bool same_hash(void) {
  uint32_t plain[8], fast[8];
  uint8_t block[SHA256_BLOCK];
  for (int i = 0; i < 8; i++) plain[i] = fast[i] = (uint32_t)random_number();
  for (int i = 0; i < SHA256_BLOCK; i++) block[i] = (uint8_t)random_number();
  sha256_plain_block(plain, block);
  sha256_block(fast, block);
  return memcmp(plain, fast, sizeof plain) == 0;
}

int main(int count, char **arguments) {
  time_t until = time(NULL) + (count > 1 ? atoi(arguments[1]) : 10);
  struct answers answers = {.fresh_ns = 5000000000, .keys = {.count = 2}};
  mac_key_make(&answers.keys.key[0], (const uint8_t *)"the first key of it", 19);
  mac_key_make(&answers.keys.key[1], (const uint8_t *)"and the second one", 18);
  if (!rate_limit_make(&answers.limit, 1, 2, 64, 7) || !recent_flows_make(&answers.flows, 1000000))
    return 1;
  int pair[2];
  if (socketpair(AF_INET, SOCK_DGRAM, 0, pair) < 0)
    pair[0] = socket(AF_INET, SOCK_DGRAM, 0); /* answers go to port 0: refused, and counted */
  struct probes waiting = {.next_sequence = UINT64_MAX - 1000}; /* wraps soon */
  struct udp_socket own = {.fd = pair[0], .own = {htonl(0x7f000001), 65300}, .answers = &answers,
                           .probes = &waiting};
  static struct results results;
  uint64_t datagrams = 0, queued = 0, controls = 0, round_trips = 0, unanswered = 0;
  while (time(NULL) < until) {
    for (int i = 0; i < 1000; i++, datagrams++) {
      struct address peer = {htonl(0x7f000001 + (uint32_t)(random_number() % 80)), 0};
      size_t length;
      if (!same_hash()) return 2;
      probes(&own, &results);
      const struct probe *awaited = probes_oldest(&waiting);
      if (awaited != NULL && random_number() % 4) peer = awaited->to;
      uint8_t *data = datagram(&answers.keys, peer, own.own, awaited, &length);
      socket_datagram(&own, &results, data, length, peer, wall_ns(), random_number() % 2,
                      monotonic_ns());
      free(data);
      control_messages(&controls);
      if (results.count < RESULTS_HIGH) continue;
      for (int j = 0; j < results.count; j++) {
        round_trips += results.entries[j].kind == RESULT_ROUND_TRIP;
        unanswered += results.entries[j].kind == RESULT_UNANSWERED;
      }
      queued += (uint64_t)results.count, results.count = 0;
    }
  }
  struct answer_counts *seen = &answers.counts;
  printf("%llu datagrams: answered %llu, not ours %llu, bad mac %llu, stale %llu, rate %llu, "
         "strange %llu; results %llu, round trips %llu, unanswered %llu; control messages "
         "understood %llu\n",
         (unsigned long long)datagrams, (unsigned long long)seen->answered,
         (unsigned long long)seen->not_ours, (unsigned long long)seen->bad_mac,
         (unsigned long long)seen->stale, (unsigned long long)seen->rate,
         (unsigned long long)seen->strange, (unsigned long long)queued,
         (unsigned long long)round_trips, (unsigned long long)unanswered,
         (unsigned long long)controls);
  rate_limit_free(&answers.limit);
  recent_flows_free(&answers.flows);
  probes_free(&waiting);
  return round_trips && unanswered && seen->answered && seen->bad_mac && seen->not_ours && seen->stale && seen->rate ? 0 : 1;
}
