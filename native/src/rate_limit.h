/* A token bucket per source address, as RateLimit of probers/net/responder.py. No I/O. */
#ifndef RATE_LIMIT_H
#define RATE_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

struct bucket {
  uint32_t ip;
  int32_t next;         /* of the same hash; -1: none */
  int32_t older, newer; /* by when they were last seen; -1: none */
  double tokens;
  int64_t last_ns;
};

struct rate_limit {
  double rate_per_ns, burst;
  struct bucket *buckets;
  int32_t *heads; /* of the chains of equal hash; -1: empty */
  int32_t capacity, used, oldest, newest;
  uint32_t mask, seed;
};

/* False: no memory. */
bool rate_limit_make(struct rate_limit *limit, double rate, double burst, int32_t sources,
                     uint32_t seed);
void rate_limit_free(struct rate_limit *limit);

/* Spend one token of `ip` at monotonic time `now_ns`; false when it has none. When more sources
   than the capacity are known, the one that was seen longest ago is forgotten. */
bool rate_limit_allows(struct rate_limit *limit, uint32_t ip, int64_t now_ns);

#endif
