/* Reads an Arrow IPC stream: fields of flatbuffers, and frames. Positions are those in the stream; what
   lies outside of it is not read. */
#ifndef ARROW_STREAM_H
#define ARROW_STREAM_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { SCHEMA = 1, DICTIONARY = 2, RECORDS = 3 };

struct stream {
  const uint8_t *raw;
  int64_t size;
};

/* Bytes at a position; false: they are not all inside. */
static inline bool bytes_at(const struct stream *stream, int64_t at, void *to, size_t size) {
  if (at < 0 || at > stream->size - (int64_t)size) return false;
  memcpy(to, stream->raw + at, size);
  return true;
}

/* Where the offset at a position leads to. */
static inline bool follow(const struct stream *stream, int64_t at, int64_t *to) {
  uint32_t offset;
  if (!bytes_at(stream, at, &offset, sizeof offset)) return false;
  *to = at + offset;
  return true;
}

/* Position of a field of a flatbuffer's table, 0: it is absent. */
static inline bool field(const struct stream *stream, int64_t table, int number, int64_t *at) {
  int32_t back;
  uint16_t length, offset;
  int64_t entry = 4 + 2 * number;
  if (!bytes_at(stream, table, &back, sizeof back)) return false;
  if (!bytes_at(stream, table - back, &length, sizeof length)) return false;
  *at = 0;
  if (entry + 2 > length) return true;
  if (!bytes_at(stream, table - back + entry, &offset, sizeof offset)) return false;
  if (offset) *at = table + offset;
  return true;
}

/* What a frame holds: type and position of its header, and the length of its body. */
struct frame {
  uint8_t kind;
  int64_t header, body;
};

static inline bool message(const struct stream *stream, int64_t start, struct frame *frame) {
  int64_t table, kind, header, body;
  if (!follow(stream, start, &table) || !field(stream, table, 1, &kind) ||
      !field(stream, table, 2, &header) || !field(stream, table, 3, &body) || !kind || !header)
    return false;
  frame->body = 0;
  return bytes_at(stream, kind, &frame->kind, 1) && follow(stream, header, &frame->header) &&
         (!body || bytes_at(stream, body, &frame->body, sizeof frame->body)) && frame->body >= 0;
}

/* Where the body of a frame begins and ends. */
struct place {
  int64_t body, end;
};

/* The next frame. False: it is not read; `done` is set at the mark of the end, of which `end` is the end. */
static inline bool frame_at(const struct stream *stream, int64_t start, struct frame *frame,
                            struct place *place, bool *done) {
  int64_t at = start;
  int32_t length;
  if (!bytes_at(stream, at, &length, sizeof length)) return false;
  at += 4;
  if (length == -1) {
    if (!bytes_at(stream, at, &length, sizeof length)) return false;
    at += 4;
  }
  place->end = at;
  if ((*done = length == 0)) return true;
  if (length < 0 || length > stream->size - at || !message(stream, at, frame)) return false;
  if (frame->body > stream->size - at - length) return false;
  *place = (struct place){.body = at + length, .end = at + length + frame->body};
  return true;
}

#endif
