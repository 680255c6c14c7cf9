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

/* A packet of either key, or of none, as it is or damaged, in a buffer of exactly its length. */
static uint8_t *datagram(const struct mac_keys *keys, struct address peer, struct address own,
                         size_t *length) {
  struct packet fields = {.kind = (uint8_t)(random_number() % 7), .dscp = (uint8_t)random_number(),
                          .sequence = random_number(), .nonce = random_number(),
                          .wall_ns = random_number() % 4 ? wall_ns() : (int64_t)random_number(),
                          .received_ns = (int64_t)random_number()};
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

int main(int count, char **arguments) {
  time_t until = time(NULL) + (count > 1 ? atoi(arguments[1]) : 10);
  struct answers answers = {.fresh_ns = 5000000000, .keys = {.count = 2}};
  mac_key_make(&answers.keys.key[0], (const uint8_t *)"the first key of it", 19);
  mac_key_make(&answers.keys.key[1], (const uint8_t *)"and the second one", 18);
  if (!rate_limit_make(&answers.limit, 1, 2, 64, 7)) return 1;
  int pair[2];
  if (socketpair(AF_INET, SOCK_DGRAM, 0, pair) < 0)
    pair[0] = socket(AF_INET, SOCK_DGRAM, 0); /* answers go to port 0: refused, and counted */
  struct udp_socket own = {.fd = pair[0], .own = {htonl(0x7f000001), 65300}, .answers = &answers};
  static struct results results;
  uint64_t datagrams = 0, queued = 0, controls = 0;
  while (time(NULL) < until) {
    for (int i = 0; i < 1000; i++, datagrams++) {
      struct address peer = {htonl(0x7f000001 + (uint32_t)(random_number() % 80)), 0};
      size_t length;
      uint8_t *data = datagram(&answers.keys, peer, own.own, &length);
      socket_datagram(&own, &results, data, length, peer, wall_ns(), random_number() % 2,
                      monotonic_ns());
      free(data);
      control_messages(&controls);
      if (results.count > RESULTS_HIGH) queued += (uint64_t)results.count, results.count = 0;
    }
  }
  struct answer_counts *seen = &answers.counts;
  printf("%llu datagrams: answered %llu, not ours %llu, bad mac %llu, stale %llu, rate %llu, "
         "strange %llu; results %llu; control messages understood %llu\n",
         (unsigned long long)datagrams, (unsigned long long)seen->answered,
         (unsigned long long)seen->not_ours, (unsigned long long)seen->bad_mac,
         (unsigned long long)seen->stale, (unsigned long long)seen->rate,
         (unsigned long long)seen->strange, (unsigned long long)queued,
         (unsigned long long)controls);
  rate_limit_free(&answers.limit);
  return seen->answered && seen->bad_mac && seen->not_ours && seen->stale && seen->rate ? 0 : 1;
}
