#include "batch.h"

#include <stdlib.h>
#include <string.h>

/* Layout: format/Message.fbs of Arrow, and arrow_batch.py, which says what the numbers are. */
#define VERSION_5 4
#define RECORD_BATCH 3
#define NODES_AT 72 /* in the metadata */
#define BUFFERS_OFFSET_AT 64
#define PAIR 16 /* bytes: a node, or where a buffer lies */
#define CONTINUATION 0xFFFFFFFFu

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "Arrow is written as it lies in memory");

/* `size` more bytes; NULL: no memory. */
static uint8_t *extend(struct bytes *bytes, size_t size) {
  if (bytes->data == NULL || bytes->capacity - bytes->size < size) {
    size_t capacity = 2 * (bytes->size + size) + 512;
    uint8_t *data = realloc(bytes->data, capacity);
    if (data == NULL) return NULL;
    bytes->data = data;
    bytes->capacity = capacity;
  }
  uint8_t *added = bytes->data + bytes->size;
  bytes->size += size;
  return added;
}

static bool add_pair(struct bytes *bytes, int64_t first, int64_t second) {
  uint8_t *pair = extend(bytes, PAIR);
  if (pair == NULL) return false;
  memcpy(pair, &first, sizeof first);
  memcpy(pair + sizeof first, &second, sizeof second);
  return true;
}

void batch_free(struct batch *batch) {
  free(batch->nodes.data);
  free(batch->buffers.data);
  free(batch->body.data);
  *batch = (struct batch){0};
}

uint8_t *batch_buffer(struct batch *batch, size_t size) {
  size_t at = batch->body.size, room = (size + 7) / 8 * 8; /* each begins at a multiple of 8 */
  uint8_t *made = extend(&batch->body, room);
  if (made == NULL || !add_pair(&batch->buffers, (int64_t)at, (int64_t)size)) {
    batch->failed = true;
    return NULL;
  }
  memset(made + size, 0, room - size);
  batch->buffer_count++;
  return made;
}

void batch_column(struct batch *batch, const uint8_t *bits, int64_t nulls) {
  batch->columns++;
  if (!add_pair(&batch->nodes, batch->rows, nulls)) batch->failed = true;
  size_t size = nulls ? ((size_t)batch->rows + 7) / 8 : 0;
  uint8_t *validity = batch_buffer(batch, size);
  if (validity != NULL && size) memcpy(validity, bits, size);
}

static size_t metadata_size(const struct batch *batch) {
  return NODES_AT + batch->nodes.size + 8 + batch->buffers.size;
}

size_t batch_size(const struct batch *batch) {
  return 8 + metadata_size(batch) + batch->body.size;
}

static uint8_t *put(uint8_t *to, const void *from, size_t size) {
  if (size) memcpy(to, from, size);
  return to + size;
}

static uint8_t *put16(uint8_t *to, int count, const uint16_t *values) {
  return put(to, values, (size_t)count * sizeof *values);
}

static uint8_t *put32(uint8_t *to, uint32_t value) { return put(to, &value, sizeof value); }
static uint8_t *put64(uint8_t *to, uint64_t value) { return put(to, &value, sizeof value); }

void batch_write(const struct batch *batch, uint8_t *to) {
  uint32_t nodes = (uint32_t)batch->nodes.size;
  to = put32(to, CONTINUATION);
  to = put32(to, (uint32_t)metadata_size(batch));
  to = put32(to, 16); /* Message: offset of the root, vtable, table */
  to = put16(to, 6, (const uint16_t[]){12, 20, 16, 18, 4, 8});
  to = put32(to, 12);
  to = put32(to, 28);
  to = put64(to, batch->body.size);
  to = put16(to, 1, (const uint16_t[]){VERSION_5});
  to = put16(to, 1, (const uint16_t[]){RECORD_BATCH});
  to = put16(to, 6, (const uint16_t[]){10, 20, 8, 4, 16, 0}); /* RecordBatch: vtable, table */
  to = put32(to, 12);
  to = put32(to, 16);
  to = put64(to, (uint64_t)batch->rows);
  to = put32(to, NODES_AT + nodes + 4 - BUFFERS_OFFSET_AT);
  to = put32(to, batch->columns);
  to = put(to, batch->nodes.data, nodes);
  to = put32(to, 0); /* fills up to the alignment of the pairs */
  to = put32(to, batch->buffer_count);
  to = put(to, batch->buffers.data, batch->buffers.size);
  put(to, batch->body.data, batch->body.size);
}
