#include "probes.h"

#include <stdlib.h>
#include <string.h>

#define FEWEST 256u

static struct probe *at(const struct probes *probes, uint32_t index) {
  return &probes->ring[(probes->first + index) & (probes->capacity - 1)];
}

/* Twice as many places; false: no more are allowed, or no memory. */
static bool grow(struct probes *probes) {
  uint32_t capacity = probes->capacity ? 2 * probes->capacity : FEWEST;
  if (capacity > PROBES_MAX) return false;
  struct probe *ring = calloc(capacity, sizeof *ring);
  if (ring == NULL) return false;
  for (uint32_t i = 0; i < probes->count; i++) ring[i] = *at(probes, i);
  free(probes->ring);
  probes->ring = ring;
  probes->capacity = capacity;
  probes->first = 0;
  return true;
}

void probes_free(struct probes *probes) {
  free(probes->ring);
  *probes = (struct probes){0};
}

struct probe *probes_oldest(struct probes *probes) {
  while (probes->count > 0 && at(probes, 0)->own == NULL) {
    probes->first = (probes->first + 1) & (probes->capacity - 1);
    probes->count--;
  }
  return probes->count > 0 ? at(probes, 0) : NULL;
}

struct probe *probes_add(struct probes *probes) {
  probes_oldest(probes); /* drops what has ended before it */
  if (probes->count == probes->capacity && !grow(probes)) return NULL;
  struct probe *made = at(probes, probes->count++);
  memset(made, 0, sizeof *made);
  made->sequence = probes->next_sequence++;
  return made;
}

struct probe *probes_find(const struct probes *probes, const void *own, uint64_t sequence) {
  uint64_t index = sequence - (probes->next_sequence - probes->count); /* wraps below the first */
  if (index >= probes->count) return NULL;
  struct probe *found = at(probes, (uint32_t)index);
  return found->own == own ? found : NULL;
}

void probes_end(struct probes *probes, struct probe *probe) {
  probe->own = NULL;
  probes_oldest(probes);
}

void probes_forget(struct probes *probes, const void *own, uint64_t tag) {
  for (uint32_t i = 0; i < probes->count; i++) {
    struct probe *each = at(probes, i);
    if (each->own == own && (tag == 0 || each->tag == tag)) each->own = NULL;
  }
  probes_oldest(probes);
}
