/* Probes that wait for their reply, in the order in which they were sent. No I/O. */
#ifndef PROBES_H
#define PROBES_H

#include <stdbool.h>
#include <stdint.h>

#include "packet.h"

#define PROBES_MAX (1u << 17) /* at once; 100,000 a second of 1 s */

struct probe {
  const void *own; /* the socket that sent it; NULL: it has ended */
  uint64_t tag;    /* Python's name of it */
  uint64_t sequence, nonce;
  struct address to;
  int64_t mono_ns, stamped_ns;    /* when it was sent; the kernel's stamp on the wall clock, or 0 */
  int64_t timeout_ns, expires_ns; /* monotonic, on the grid of time-outs */
};

/* A ring: sequences are consecutive, so a probe's place follows from its sequence. */
struct probes {
  struct probe *ring;
  uint32_t capacity, first, count;
  uint64_t next_sequence;
};

void probes_free(struct probes *probes);

/* The next probe, whose sequence is set; NULL: too many, or no memory. It counts once `own` is set,
   and stays where it is until the next one is added. */
struct probe *probes_add(struct probes *probes);

/* The waiting probe of a socket by its sequence; NULL: none. */
struct probe *probes_find(const struct probes *probes, const void *own, uint64_t sequence);

/* The oldest waiting probe; NULL: none. */
struct probe *probes_oldest(struct probes *probes);

/* No reply is waited for any more. */
void probes_end(struct probes *probes, struct probe *probe);

/* The same for the one with this tag, if there is one; `tag` 0: for all of a socket. */
void probes_forget(struct probes *probes, const void *own, uint64_t tag);

#endif
