/* arrow_frames(): the frames of an Arrow IPC stream, as schemas/wire/arrow/frames.py reads them. Whatever
   is refused there is not read here either: Python says what is wrong with it. */
#include "arrow_stream.h"
#include "module.h"

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
  int64_t start = *position, rows;
  struct frame frame;
  struct place place;
  if (!frame_at(stream, start, &frame, &place, done)) return false;
  if (*done) return true;
  *position = place.end;
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
