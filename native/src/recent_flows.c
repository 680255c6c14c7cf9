#include "recent_flows.h"

#include <stdlib.h>

bool recent_flows_make(struct recent_flows *flows, int64_t rest_ns) {
  flows->rest_ns = rest_ns;
  flows->places = calloc(RECENT_FLOWS, sizeof *flows->places);
  return flows->places != NULL;
}

void recent_flows_free(struct recent_flows *flows) { free(flows->places); }

struct recent_flow *recent_flows_due(const struct recent_flows *flows, uint64_t token,
                                     struct address peer, int64_t now_ns) {
  uint64_t hash = ((uint64_t)peer.ip << 32 | (uint64_t)peer.port << 16) ^ token;
  hash *= 0x9e3779b97f4a7c15u; /* 2^64 / golden ratio: the upper bits depend on all */
  struct recent_flow *place = &flows->places[hash >> 53];
  bool same = place->token == token && place->peer.ip == peer.ip && place->peer.port == peer.port;
  return same && now_ns - place->told_ns < flows->rest_ns ? NULL : place;
}
