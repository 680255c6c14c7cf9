/* Columns of texts that Python passes, and how their texts are compared. */
#ifndef TEXT_COLUMNS_H
#define TEXT_COLUMNS_H

#include <sys/random.h>

#include "arrays.h"

/* A column of texts, from the row `first` on; `valid`: bits, 0: null. Of a text that is the same in
   all rows there are no offsets. */
struct column {
  struct array valid, offsets, data;
  Py_ssize_t first;
};

/* Of the process only: they make collisions unpredictable. */
struct text_secrets {
  uint64_t start, factor;
};

/* View (bitmap or None, int32 offsets, texts, first row), or one text, as a column of so many rows.
   False: an exception is set. */
bool column_open(struct column *column, PyObject *described, Py_ssize_t rows);

void column_close(struct column *column);

/* False: an exception is set. */
static inline bool text_secrets_draw(struct text_secrets *secrets) {
  if (getrandom(secrets, sizeof *secrets, 0) != sizeof *secrets) {
    PyErr_SetFromErrno(PyExc_OSError);
    return false;
  }
  secrets->factor |= 1;
  return true;
}

static inline uint64_t text_load(const uint8_t *from) {
  uint64_t eight;
  memcpy(&eight, from, sizeof eight);
  return eight;
}

/* The last eight bytes, or all of a shorter text: with its length they tell it from others as long. */
static inline uint64_t text_tail(const uint8_t *text, size_t length) {
  if (length >= 8) return text_load(text + length - 8);
  if (length >= 4) {
    uint32_t first, last;
    memcpy(&first, text, sizeof first);
    memcpy(&last, text + length - 4, sizeof last);
    return first | (uint64_t)last << 32;
  }
  return length ? text[0] | (uint64_t)text[length / 2] << 8 | (uint64_t)text[length - 1] << 16 : 0;
}

/* Names differ in their last letters mostly. */
static inline bool text_same(const uint8_t *one, const uint8_t *other, size_t length) {
  if (text_tail(one, length) != text_tail(other, length)) return false;
  for (size_t at = 0; at + 8 < length; at += 8)
    if (text_load(one + at) != text_load(other + at)) return false;
  return true;
}

static inline uint64_t text_multiply(uint64_t a, uint64_t b) {
  unsigned __int128 product = (unsigned __int128)a * b;
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t text_hash(const struct text_secrets *secrets, const uint8_t *text,
                                 size_t length) {
  uint64_t hash = secrets->start ^ length;
  for (size_t at = 0; at + 8 < length; at += 8)
    hash = text_multiply(hash ^ text_load(text + at), secrets->factor);
  return text_multiply(hash ^ text_tail(text, length), secrets->factor);
}

/* The text of a row, empty: null; its length, or -1: an exception is set. */
static inline Py_ssize_t text_at(const struct column *column, Py_ssize_t row, const uint8_t **text) {
  const uint8_t *valid = column->valid.view.buf, *data = column->data.view.buf;
  int32_t begin = 0, end = (int32_t)column->data.length;
  if (column->offsets.view.buf != NULL) {
    Py_ssize_t at = column->first + row;
    begin = read_int32(column->offsets.view.buf, at);
    end = read_int32(column->offsets.view.buf, at + 1);
    if (begin < 0 || end < begin || end > column->data.length) {
      PyErr_SetString(PyExc_ValueError, "an offset lies outside of the texts");
      return -1;
    }
    if (valid != NULL && !(valid[at / 8] >> at % 8 & 1)) end = begin;
  }
  *text = data + begin;
  return end - begin;
}

#endif
