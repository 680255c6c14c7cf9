/* Times of one path: sorting of few. */
#ifndef TIMES_H
#define TIMES_H

#include <stddef.h>
#include <stdint.h>

#define NO_TIME UINT32_MAX /* nothing answered */

/* Sort times, ascending; none is NO_TIME. */
void times_sort(uint32_t *times, size_t count);

#endif
