/* What the loop has to know of datagrams: a bounded queue from the sockets to Python. */
#ifndef RESULTS_H
#define RESULTS_H

#include <stdbool.h>
#include <stdint.h>

#include "packet.h"

enum result_kind {
  RESULT_REPLY = 1,  /* an authenticated reply, to none of the probes that are kept here */
  RESULT_ICMP,       /* an ICMP error about a request of ours, likewise */
  RESULT_PROBED,     /* a probe of a flow was answered at read_ns, not told lately */
  RESULT_QUEUE_PAIR, /* a request that Python answers */
  RESULT_ROUND_TRIP, /* a reply to a probe, */
  RESULT_FAILED,     /* an ICMP error about it, */
  RESULT_UNANSWERED, /* or its time-out has passed */
};

#define QUOTED 16 /* bytes: as far as a packet's sequence */

struct result {
  enum result_kind kind;
  uint64_t token; /* of the socket */
  struct address peer;
  struct packet fields;
  int64_t received_ns, read_ns; /* wall clock, and the monotonic one when it was read */
  bool kernel;                  /* received_ns is the kernel's */
  int key;                      /* which one made the request */
  uint64_t tag;                 /* of the probe, and when it was sent: */
  int64_t mono_ns, stamped_ns;
  bool stalled; /* this process did not run: see Deadlines.stalled in probers.process.loop */
  uint32_t offender;
  uint8_t type, code, quoted[QUOTED], quoted_length;
};

#define RESULTS_MAX 512
#define RESULTS_HIGH 256 /* from here on Python is called */

struct results {
  struct result entries[RESULTS_MAX];
  int count;
  int64_t first_ns; /* monotonic, of the oldest entry */
  bool urgent;      /* one of them must not rest */
};

#endif
