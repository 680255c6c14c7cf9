#include "times.h"

#include <stdlib.h>
#include <string.h>

#include "vectors.h"

#define FEW 48 /* that are sorted by their ranks */
#define PAIR 8 /* as few are sorted by insertion */

static int ascending(const void *one, const void *other) {
  uint32_t a = *(const uint32_t *)one, b = *(const uint32_t *)other;
  return (a > b) - (a < b);
}

/* How many of `count` times are less: without branches, and several at once. */
static inline uint32_t rank_of(uint32_t time, const uint32_t *times, size_t count) {
  uint32_t less = 0;
  for (size_t i = 0; i < count; i++) less += times[i] < time;
  return less;
}

/* Each time goes where its rank says; equal times go to one place, and those behind it are filled. */
VECTORS static void sort_by_rank(uint32_t *times, size_t count) {
  uint32_t padded[FEW], sorted[FEW];
  size_t whole = (count + 7) / 8 * 8; /* in vectors of eight */
  memset(padded, 0xFF, sizeof padded);
  memset(sorted, 0xFF, sizeof sorted);
  memcpy(padded, times, count * sizeof *times);
  for (size_t i = 0; i < count; i++) sorted[rank_of(times[i], padded, whole)] = times[i];
  for (size_t i = 1; i < count; i++)
    if (sorted[i] == NO_TIME) sorted[i] = sorted[i - 1];
  memcpy(times, sorted, count * sizeof *times);
}

void times_sort(uint32_t *times, size_t count) {
  if (count > FEW) {
    qsort(times, count, sizeof *times, ascending);
    return;
  }
  if (count > PAIR) {
    sort_by_rank(times, count);
    return;
  }
  for (size_t i = 1; i < count; i++) {
    uint32_t time = times[i];
    size_t at = i;
    for (; at > 0 && times[at - 1] > time; at--) times[at] = times[at - 1];
    times[at] = time;
  }
}
