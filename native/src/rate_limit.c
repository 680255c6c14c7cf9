#include "rate_limit.h"

#include <stdlib.h>

bool rate_limit_make(struct rate_limit *limit, double rate, double burst, int32_t sources,
                     uint32_t seed) {
  uint32_t size = 1;
  while (size < (uint32_t)sources) size *= 2;
  *limit = (struct rate_limit){.rate_per_ns = rate / 1e9, .burst = burst, .capacity = sources,
                               .oldest = -1, .newest = -1, .mask = size - 1, .seed = seed | 1};
  limit->buckets = calloc((size_t)sources, sizeof *limit->buckets);
  limit->heads = malloc(size * sizeof *limit->heads);
  if (limit->buckets == NULL || limit->heads == NULL) return false;
  for (uint32_t i = 0; i < size; i++) limit->heads[i] = -1;
  return true;
}

void rate_limit_free(struct rate_limit *limit) {
  free(limit->buckets);
  free(limit->heads);
}

static int32_t *head_of(struct rate_limit *limit, uint32_t ip) {
  uint32_t hash = (ip ^ limit->seed) * 2654435761u;
  return &limit->heads[(hash ^ hash >> 16) & limit->mask];
}

static void leave_order(struct rate_limit *limit, struct bucket *bucket) {
  if (bucket->older >= 0)
    limit->buckets[bucket->older].newer = bucket->newer;
  else
    limit->oldest = bucket->newer;
  if (bucket->newer >= 0)
    limit->buckets[bucket->newer].older = bucket->older;
  else
    limit->newest = bucket->older;
}

static void become_newest(struct rate_limit *limit, int32_t at) {
  struct bucket *bucket = &limit->buckets[at];
  bucket->older = limit->newest;
  bucket->newer = -1;
  if (limit->newest >= 0)
    limit->buckets[limit->newest].newer = at;
  else
    limit->oldest = at;
  limit->newest = at;
}

/* A place for a new source: a free one, or that of the oldest. */
static int32_t place(struct rate_limit *limit) {
  if (limit->used < limit->capacity) return limit->used++;
  int32_t at = limit->oldest;
  struct bucket *gone = &limit->buckets[at];
  leave_order(limit, gone);
  int32_t *link = head_of(limit, gone->ip);
  while (*link != at) link = &limit->buckets[*link].next;
  *link = gone->next;
  return at;
}

bool rate_limit_allows(struct rate_limit *limit, uint32_t ip, int64_t now_ns) {
  int32_t at = *head_of(limit, ip);
  while (at >= 0 && limit->buckets[at].ip != ip) at = limit->buckets[at].next;
  struct bucket *bucket;
  if (at >= 0) {
    bucket = &limit->buckets[at];
    leave_order(limit, bucket);
  } else {
    at = place(limit);
    bucket = &limit->buckets[at];
    int32_t *head = head_of(limit, ip);
    *bucket = (struct bucket){.ip = ip, .next = *head, .tokens = limit->burst, .last_ns = now_ns};
    *head = at;
  }
  become_newest(limit, at);
  int64_t passed_ns = now_ns > bucket->last_ns ? now_ns - bucket->last_ns : 0;
  double tokens = bucket->tokens + (double)passed_ns * limit->rate_per_ns;
  if (tokens > limit->burst) tokens = limit->burst;
  bool allowed = tokens >= 1.0;
  bucket->tokens = allowed ? tokens - 1.0 : tokens;
  bucket->last_ns = now_ns;
  return allowed;
}
