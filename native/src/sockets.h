/* UDP sockets with the kernel's stamps: answers requests, turns all else into results. No Python. */
#ifndef SOCKETS_H
#define SOCKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "packet.h"
#include "probes.h"
#include "rate_limit.h"
#include "recent_flows.h"
#include "results.h"
#include "send_delay.h"

/* What happened to datagrams since it was last asked. */
struct answer_counts {
  uint64_t answered, not_ours, bad_mac, late, stale, rate, unsendable, strange;
};

/* Who gets an answer; common to all sockets of a pool. */
struct answers {
  struct mac_keys keys;
  struct rate_limit limit;
  struct send_delay delay;
  struct recent_flows flows;
  int64_t fresh_ns;
  struct answer_counts counts;
  int64_t skew_ns; /* of the last stale request */
};

struct udp_socket {
  int fd;
  struct address own;
  uint64_t token;
  bool stamps;   /* the kernel reports times of sending */
  int unstamped; /* requests whose time of sending is not known yet */
  struct answers *answers;
  struct probes *probes; /* common to all sockets of a poller */
};

int64_t wall_ns(void);
int64_t monotonic_ns(void);

/* Read what lies in the socket, some of it; `errors`: the error queue has entries. Call it while
   the results are below RESULTS_HIGH. True: it was empty then; false: something may be left. */
bool socket_serve(struct udp_socket *own, struct results *results, bool errors);

/* Send one request that is no probe. 0, or the errno with which the kernel refused it. */
int socket_request(struct udp_socket *own, const struct packet *request, struct address to, int ttl);

/* Send one probe, and wait for its reply until `timeout_ns` have passed, on a multiple of `grid_ns`.
   0, or an errno: there are too many, or the kernel refused it. */
int socket_probe(struct udp_socket *own, struct results *results, const struct probe *wanted,
                 int dscp, int64_t grid_ns);

/* Turn the probes whose time-out has passed into results, as many as there is room for. */
void sockets_expire(struct probes *probes, struct results *results, int64_t now);

/* One datagram, as socket_serve does: for tests of the parser. */
void socket_datagram(struct udp_socket *own, struct results *results, const uint8_t *data,
                     size_t length, struct address peer, int64_t received_ns, bool kernel,
                     int64_t read_ns);

#endif
