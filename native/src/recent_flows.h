/* Which flows Python was told of lately, so that it is called once for many probes of one. No I/O. */
#ifndef RECENT_FLOWS_H
#define RECENT_FLOWS_H

#include <stdbool.h>
#include <stdint.h>

#include "packet.h"

#define RECENT_FLOWS 2048 /* places; two flows of one place are told of each time that they change */

struct recent_flow {
  uint64_t token; /* of the socket; 0: none */
  struct address peer;
  int64_t told_ns;
};

struct recent_flows {
  struct recent_flow *places;
  int64_t rest_ns; /* not told of again for so long */
};

/* False: no memory. */
bool recent_flows_make(struct recent_flows *flows, int64_t rest_ns);
void recent_flows_free(struct recent_flows *flows);

/* The flow's place, when Python has to be told that it was probed at monotonic time `now_ns`; NULL:
   it was told lately. */
struct recent_flow *recent_flows_due(const struct recent_flows *flows, uint64_t token,
                                     struct address peer, int64_t now_ns);

#endif
