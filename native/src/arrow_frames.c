/* arrow_frames(): the frames of an Arrow IPC stream, as schemas/wire/arrow/frames.py reads them. Whatever
   is refused there is not read here either: Python says what is wrong with it. */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "module.h"

enum { SCHEMA = 1, DICTIONARY = 2, RECORDS = 3 };

struct stream {
  const uint8_t *raw;
  int64_t size;
};

/* Bytes at a position; false: they are not all inside. */
static bool bytes_at(const struct stream *stream, int64_t at, void *to, size_t size) {
  if (at < 0 || at > stream->size - (int64_t)size) return false;
  memcpy(to, stream->raw + at, size);
  return true;
}

/* Where the offset at a position leads to. */
static bool follow(const struct stream *stream, int64_t at, int64_t *to) {
  uint32_t offset;
  if (!bytes_at(stream, at, &offset, sizeof offset)) return false;
  *to = at + offset;
  return true;
}

/* Position of a field of a flatbuffer's table, 0: it is absent. */
static bool field(const struct stream *stream, int64_t table, int number, int64_t *at) {
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

/* Rows of a record batch whose buffers lie inside of its body, apart, and are not compressed. */
static bool records(const struct stream *stream, int64_t table, int64_t body, int64_t *rows) {
  int64_t compression, buffers, length;
  if (!field(stream, table, 3, &compression) || compression) return false;
  if (!field(stream, table, 2, &buffers) || !field(stream, table, 0, &length)) return false;
  if (buffers) {
    int64_t vector, left = body;
    uint32_t count;
    if (!follow(stream, buffers, &vector)) return false;
    if (!bytes_at(stream, vector, &count, sizeof count)) return false;
    for (uint32_t i = 0; i < count; i++) {
      int64_t size;
      if (!bytes_at(stream, vector + 4 + 16 * (int64_t)i + 8, &size, sizeof size)) return false;
      if (size < 0 || size > left) return false;
      left -= size;
    }
  }
  *rows = 0;
  return !length || (bytes_at(stream, length, rows, sizeof *rows) && *rows >= 0);
}

static bool dictionary(const struct stream *stream, int64_t table, int64_t body) {
  int64_t data, delta, batch, rows;
  uint8_t is_delta = 0;
  if (!field(stream, table, 1, &data) || !field(stream, table, 2, &delta)) return false;
  if (delta && (!bytes_at(stream, delta, &is_delta, 1) || is_delta)) return false;
  return !data || (follow(stream, data, &batch) && records(stream, batch, body, &rows));
}

/* What a frame holds: type and position of its header, and the length of its body. */
struct frame {
  uint8_t kind;
  int64_t header, body;
};

static bool message(const struct stream *stream, int64_t start, struct frame *frame) {
  int64_t table, kind, header, body;
  if (!follow(stream, start, &table) || !field(stream, table, 1, &kind) ||
      !field(stream, table, 2, &header) || !field(stream, table, 3, &body) || !kind || !header)
    return false;
  frame->body = 0;
  return bytes_at(stream, kind, &frame->kind, 1) && follow(stream, header, &frame->header) &&
         (!body || bytes_at(stream, body, &frame->body, sizeof frame->body)) && frame->body >= 0;
}

struct found {
  int64_t schema[2], rows;
  bool dictionaries;
  PyObject *batches; /* list of (start, end) */
};

static bool add_batch(struct found *found, int64_t start, int64_t end) {
  PyObject *batch = Py_BuildValue("(LL)", (long long)start, (long long)end);
  bool added = batch != NULL && PyList_Append(found->batches, batch) == 0;
  Py_XDECREF(batch);
  return added;
}

/* The next frame, of which `position` is the start and gets the end. False: not read; `done` is set at
   the mark of the end. */
static bool next(const struct stream *stream, struct found *found, int64_t *position, bool *done) {
  int64_t start = *position, at = start, rows;
  int32_t length;
  struct frame frame;
  if (!bytes_at(stream, at, &length, sizeof length)) return false;
  at += 4;
  if (length == -1) {
    if (!bytes_at(stream, at, &length, sizeof length)) return false;
    at += 4;
  }
  if ((*done = length == 0)) return true;
  if (length < 0 || length > stream->size - at || !message(stream, at, &frame)) return false;
  if (frame.body > stream->size - at - length) return false;
  *position = at + length + frame.body;
  if (found->schema[1] == 0) {
    found->schema[0] = start;
    found->schema[1] = *position;
    return frame.kind == SCHEMA;
  }
  if (frame.kind == DICTIONARY) {
    found->dictionaries = true;
    return dictionary(stream, frame.header, frame.body);
  }
  if (frame.kind != RECORDS || !records(stream, frame.header, frame.body, &rows)) return false;
  if (rows > INT64_MAX - found->rows) return false;
  found->rows += rows;
  return add_batch(found, start, *position);
}

PyObject *messages_arrow_frames(PyObject *module, PyObject *args) {
  (void)module;
  Py_buffer raw;
  int most;
  if (!PyArg_ParseTuple(args, "y*i", &raw, &most)) return NULL;
  struct stream stream = {.raw = raw.buf, .size = raw.len};
  struct found found = {.batches = PyList_New(0)};
  int64_t position = 0;
  bool good = found.batches != NULL, done = false;
  for (int count = 0; good && !done && position < stream.size; count++)
    good = next(&stream, &found, &position, &done) && (done || count < most);
  PyBuffer_Release(&raw);
  PyObject *out = NULL;
  if (good && found.schema[1])
    out = Py_BuildValue("((LL)OLO)", (long long)found.schema[0], (long long)found.schema[1], found.batches,
                        (long long)found.rows, found.dictionaries ? Py_True : Py_False);
  else if (!PyErr_Occurred())
    out = Py_NewRef(Py_None);
  Py_XDECREF(found.batches);
  return out;
}
