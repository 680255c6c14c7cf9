/* One record batch as a message of an Arrow stream: its metadata and its buffers. No Python. */
#ifndef BATCH_H
#define BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COLUMN_STRING 's'
#define COLUMN_FLOAT64 'd'
#define COLUMN_INT64 'q'
#define COLUMN_INT32 'i'

/* Bytes that grow. */
struct bytes {
  uint8_t *data;
  size_t size, capacity;
};

/* The columns so far. `failed`: there was no memory for one. */
struct batch {
  struct bytes nodes, buffers, body;
  int64_t rows;
  uint32_t columns, buffer_count;
  bool failed;
};

void batch_free(struct batch *batch);

/* Begin a column. `bits`: one for each row, the first one the lowest; 0: null. NULL: no null. */
void batch_column(struct batch *batch, const uint8_t *bits, int64_t nulls);

/* Add a buffer of `size` bytes, which is to be filled before the next call; NULL: no memory. */
uint8_t *batch_buffer(struct batch *batch, size_t size);

/* Bytes of the message. */
size_t batch_size(const struct batch *batch);

/* Write the message: `batch_size` bytes. */
void batch_write(const struct batch *batch, uint8_t *to);

#endif
