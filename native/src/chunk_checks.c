/* chunk_is_valid(): whether a chunk of skh.windows is one of the usual kind, and whole. It is for what this
   release writes: whatever else comes, valid or not, is left to Python. */
#include "arrays.h"
#include "arrow_stream.h"

enum { COLUMNS_MAX = 64, V5 = 4, SMALL = 1024 * 1024 };

/* Values in a stream; `length` [count]. */
struct span {
  int64_t at, bytes, length;
};

/* A dictionary of texts: of the longest [B]; `offsets` and `texts` lie in the stream. */
struct texts {
  struct span offsets;
  int64_t longest;
};

struct limits {
  int64_t rows, name_bytes, decoded_bytes;
};

/* Nodes and buffers of a record batch. */
struct batch {
  int64_t body, end, rows, nodes, buffers;
  uint32_t node_count, buffer_count;
};

static bool vector(const struct stream *stream, int64_t table, int number, size_t width, int64_t *first,
                   uint32_t *count) {
  int64_t at;
  if (!field(stream, table, number, &at) || !at || !follow(stream, at, first)) return false;
  if (!bytes_at(stream, *first, count, sizeof *count)) return false;
  *first += 4;
  return (int64_t)*count <= (stream->size - *first) / (int64_t)width;
}

static bool read_batch(const struct stream *stream, int64_t table, const struct place *place,
                       struct batch *batch) {
  int64_t compression, rows;
  batch->body = place->body;
  batch->end = place->end;
  batch->rows = 0;
  return field(stream, table, 3, &compression) && !compression && field(stream, table, 0, &rows) &&
         (!rows || bytes_at(stream, rows, &batch->rows, sizeof batch->rows)) && batch->rows >= 0 &&
         vector(stream, table, 1, 16, &batch->nodes, &batch->node_count) &&
         vector(stream, table, 2, 16, &batch->buffers, &batch->buffer_count);
}

/* Whether a column has a value in each of the rows. */
static bool is_full(const struct stream *stream, const struct batch *batch, uint32_t column) {
  int64_t node[2];
  return column < batch->node_count &&
         bytes_at(stream, batch->nodes + 16 * (int64_t)column, node, sizeof node) &&
         node[0] == batch->rows && node[1] == 0;
}

static bool buffer_at(const struct stream *stream, const struct batch *batch, uint32_t number,
                      struct span *span) {
  int64_t buffer[2], room = batch->end - batch->body;
  if (number >= batch->buffer_count ||
      !bytes_at(stream, batch->buffers + 16 * (int64_t)number, buffer, sizeof buffer))
    return false;
  if (buffer[0] < 0 || buffer[0] > room || buffer[1] < 0 || buffer[1] > room - buffer[0]) return false;
  span->at = batch->body + buffer[0];
  span->bytes = buffer[1];
  return true;
}

/* Whether buffers are apart, so that nothing grows when they are read. */
static bool are_apart(const struct stream *stream, const struct batch *batch) {
  int64_t left = batch->end - batch->body;
  for (uint32_t i = 0; i < batch->buffer_count; i++) {
    struct span span;
    if (!buffer_at(stream, batch, i, &span) || span.bytes > left) return false;
    left -= span.bytes;
  }
  return true;
}

static bool is_ascii(const uint8_t *from, int64_t size) {
  uint64_t any = 0;
  int64_t at = 0;
  for (; at + 8 <= size; at += 8) {
    uint64_t word;
    memcpy(&word, from + at, sizeof word);
    any |= word;
  }
  for (; at < size; at++) any |= from[at];
  return (any & 0x8080808080808080u) == 0;
}

/* Length of a text of a dictionary [B]; offsets were checked. */
static int64_t length_of(const struct stream *stream, const struct texts *texts, int64_t number) {
  const uint8_t *offsets = stream->raw + texts->offsets.at;
  return (int64_t)read_int32(offsets, number + 1) - read_int32(offsets, number);
}

static bool read_texts(const struct stream *stream, const struct batch *batch, struct texts *texts) {
  struct span data;
  *texts = (struct texts){.offsets = {.length = batch->rows}};
  if (batch->node_count != 1 || batch->buffer_count != 3 || !is_full(stream, batch, 0) ||
      !are_apart(stream, batch))
    return false;
  if (batch->rows == 0) return true;
  if (!buffer_at(stream, batch, 1, &texts->offsets) || !buffer_at(stream, batch, 2, &data)) return false;
  texts->offsets.length = batch->rows;
  if (texts->offsets.bytes / 4 <= batch->rows) return false;
  const uint8_t *offsets = stream->raw + texts->offsets.at;
  int32_t begin = read_int32(offsets, 0), first = begin;
  if (begin < 0) return false;
  for (int64_t i = 1; i <= batch->rows; i++) {
    int32_t end = read_int32(offsets, (Py_ssize_t)i);
    if (end < begin) return false;
    if (end - begin > texts->longest) texts->longest = end - begin;
    begin = end;
  }
  return begin <= data.bytes && is_ascii(stream->raw + data.at + first, begin - first);
}

/* Whether all indices are of texts; takes what these are worth from `left` [B], upper bound. */
static bool indices_are_valid(const struct stream *stream, const struct span *indices, int64_t rows,
                              const struct texts *texts, int64_t *left) {
  if (indices->bytes / 4 < rows) return false;
  const uint8_t *from = stream->raw + indices->at;
  uint32_t most = 0; /* a negative index is a large one */
  for (int64_t i = 0; i < rows; i++) {
    uint32_t index = (uint32_t)read_int32(from, (Py_ssize_t)i);
    most = index > most ? index : most;
  }
  if (rows && most >= texts->offsets.length) return false;
  int64_t decoded = texts->longest * rows;
  if (decoded > SMALL) {
    decoded = 0;
    for (int64_t i = 0; i < rows; i++) decoded += length_of(stream, texts, read_int32(from, (Py_ssize_t)i));
  }
  *left -= decoded + 8 * rows;
  return *left >= 0;
}

static bool rows_are_whole(const struct stream *stream, const struct batch *batch, const uint8_t *widths,
                           uint32_t columns, const struct texts *texts, const struct limits *limits) {
  int64_t left = limits->decoded_bytes;
  if (batch->node_count != columns || batch->buffer_count != 2 * columns || batch->rows > limits->rows ||
      !are_apart(stream, batch))
    return false;
  for (uint32_t column = 0; column < columns; column++) {
    struct span values;
    if (!is_full(stream, batch, column) || !buffer_at(stream, batch, 2 * column + 1, &values)) return false;
    if (widths[column] == 0) {
      if (!indices_are_valid(stream, &values, batch->rows, texts++, &left)) return false;
    } else if (values.bytes / widths[column] < batch->rows) {
      return false;
    }
  }
  return true;
}

static bool is_newest(const struct stream *stream, int64_t start) {
  int64_t table, version;
  int16_t value = 0;
  return follow(stream, start, &table) && field(stream, table, 0, &version) && version &&
         bytes_at(stream, version, &value, sizeof value) && value == V5;
}

/* The next frame, of one kind. */
static bool expect(const struct stream *stream, int64_t *position, uint8_t kind, struct frame *frame,
                   struct place *place) {
  bool done;
  int64_t start = *position;
  if (!frame_at(stream, start, frame, place, &done) || done || frame->kind != kind) return false;
  *position = place->end;
  return is_newest(stream, start + 8); /* behind the mark of continuation, which is there: see below */
}

/* The dictionary of a number that comes next. */
static bool next_texts(const struct stream *stream, int64_t *position, int64_t number,
                       const struct limits *limits, struct texts *texts) {
  struct frame frame;
  struct place place;
  struct batch batch;
  int64_t id, data, delta, table, found = 0;
  uint8_t is_delta = 0;
  if (!expect(stream, position, DICTIONARY, &frame, &place)) return false;
  if (!field(stream, frame.header, 0, &id) || !field(stream, frame.header, 1, &data) ||
      !field(stream, frame.header, 2, &delta) || !data)
    return false;
  if (id && !bytes_at(stream, id, &found, sizeof found)) return false;
  if (delta && !bytes_at(stream, delta, &is_delta, 1)) return false;
  return found == number && !is_delta && follow(stream, data, &table) &&
         read_batch(stream, table, &place, &batch) && read_texts(stream, &batch, texts) &&
         texts->longest <= limits->name_bytes;
}

/* Whether every frame begins with the mark of continuation, and nothing follows the rows. */
static bool is_marked(const struct stream *stream, int64_t position) {
  int32_t mark = 0;
  return bytes_at(stream, position, &mark, sizeof mark) && mark == -1;
}

static bool is_valid(const struct stream *stream, int64_t position, const uint8_t *widths, uint32_t columns,
                     const struct limits *limits) {
  struct texts texts[COLUMNS_MAX];
  struct frame frame;
  struct place place;
  struct batch batch;
  int64_t number = 0;
  bool done;
  for (uint32_t column = 0; column < columns; column++) {
    if (widths[column]) continue;
    if (!is_marked(stream, position) || !next_texts(stream, &position, number, limits, &texts[number]))
      return false;
    number++;
  }
  if (!is_marked(stream, position) || !expect(stream, &position, RECORDS, &frame, &place) ||
      !read_batch(stream, frame.header, &place, &batch) ||
      !rows_are_whole(stream, &batch, widths, columns, texts, limits))
    return false;
  return position == stream->size || (frame_at(stream, position, &frame, &place, &done) && done);
}

PyObject *messages_chunk_is_valid(PyObject *module, PyObject *args) {
  (void)module;
  Py_buffer raw, schema, widths;
  long long rows, name_bytes, decoded_bytes;
  if (!PyArg_ParseTuple(args, "y*y*y*LLL", &raw, &schema, &widths, &rows, &name_bytes, &decoded_bytes))
    return NULL;
  struct limits limits = {.rows = rows, .name_bytes = name_bytes, .decoded_bytes = decoded_bytes};
  struct stream stream = {.raw = raw.buf, .size = raw.len};
  bool valid = widths.len <= COLUMNS_MAX && raw.len >= schema.len &&
               memcmp(raw.buf, schema.buf, (size_t)schema.len) == 0 &&
               is_valid(&stream, schema.len, widths.buf, (uint32_t)widths.len, &limits);
  PyBuffer_Release(&raw);
  PyBuffer_Release(&schema);
  PyBuffer_Release(&widths);
  return PyBool_FromLong(valid);
}
