/* join_columns(): the columns of many Arrow messages of one layout, put together. */
#include <stdlib.h>

#include "arrays.h"

/* Messages of one layout; see schemas/wire/arrow/layout.py. The numbers lie message by message. */
struct messages {
  PyObject *list;
  Py_ssize_t count, columns, buffers;
  struct array rows, nulls, starts, lengths;
  int64_t whole; /* rows of all */
};

/* Part of a message; `data` is NULL when it does not lie within. */
struct part {
  const uint8_t *data;
  int64_t length;
};

static int64_t rows_of(const struct messages *all, Py_ssize_t message) {
  return read_int64(&all->rows, message);
}

static struct part part_of(const struct messages *all, Py_ssize_t message, Py_ssize_t buffer) {
  PyObject *raw = PyList_GetItem(all->list, message);
  int64_t start = read_int64(&all->starts, message * all->buffers + buffer);
  int64_t length = read_int64(&all->lengths, message * all->buffers + buffer), size = PyBytes_Size(raw);
  if (start < 0 || length < 0 || start > size || length > size - start) return (struct part){NULL, 0};
  return (struct part){(const uint8_t *)PyBytes_AsString(raw) + start, length};
}

static bool open_messages(struct messages *all, PyObject *rows, PyObject *nulls, PyObject *starts,
                          PyObject *lengths) {
  all->count = PyList_Size(all->list);
  if (all->count == 0) {
    PyErr_SetString(PyExc_ValueError, "no messages");
    return false;
  }
  if (!array_open(&all->rows, rows, 8, all->count, false) ||
      !array_open(&all->nulls, nulls, 8, -1, false) ||
      !array_open(&all->starts, starts, 8, -1, false) ||
      !array_open(&all->lengths, lengths, 8, all->starts.length, false))
    return false;
  all->columns = all->nulls.length / all->count;
  all->buffers = all->starts.length / all->count;
  if (all->columns * all->count != all->nulls.length ||
      all->buffers * all->count != all->starts.length) {
    PyErr_SetString(PyExc_ValueError, "numbers of some messages are missing");
    return false;
  }
  for (Py_ssize_t i = 0; i < all->count; i++) {
    if (!PyBytes_Check(PyList_GetItem(all->list, i))) {
      PyErr_SetString(PyExc_TypeError, "a message is bytes");
      return false;
    }
    if (rows_of(all, i) < 0 || rows_of(all, i) > INT32_MAX - all->whole) {
      PyErr_SetString(PyExc_ValueError, "too many rows");
      return false;
    }
    all->whole += rows_of(all, i);
  }
  return true;
}

/* Each of the following writes one buffer of a column, and returns false where a message is not as
   its numbers say, or its values are not valid. */

/* Bits `at`, ... of `to`, which are 0, from `bits`; NULL: all are 1. Returns how many are 1. */
static int64_t copy_bits(uint8_t *to, int64_t at, const uint8_t *bits, int64_t count) {
  int64_t ones = 0;
  for (int64_t i = 0; i < count;) {
    int64_t some = at % 8 || i % 8 || count - i < 8 ? 1 : 8; /* a whole byte where two begin */
    unsigned mask = (1u << some) - 1, part = bits == NULL ? mask : bits[i / 8] >> i % 8 & mask;
    to[at / 8] |= (uint8_t)(part << at % 8);
    ones += __builtin_popcount(part);
    at += some;
    i += some;
  }
  return ones;
}

static bool write_validity(const struct messages *all, Py_ssize_t column, Py_ssize_t buffer,
                           uint8_t *to) {
  int64_t at = 0;
  memset(to, 0, ((size_t)all->whole + 7) / 8);
  for (Py_ssize_t i = 0; i < all->count; i++) {
    int64_t rows = rows_of(all, i), nulls = read_int64(&all->nulls, i * all->columns + column);
    struct part bits = part_of(all, i, buffer);
    if (bits.data == NULL || (nulls != 0 && bits.length < (rows + 7) / 8)) return false;
    if (rows - copy_bits(to, at, nulls ? bits.data : NULL, rows) != nulls) return false;
    at += rows;
  }
  return true;
}

static bool write_values(const struct messages *all, Py_ssize_t buffer, size_t width, uint8_t *to) {
  for (Py_ssize_t i = 0; i < all->count; i++) {
    struct part values = part_of(all, i, buffer);
    size_t size = width * (size_t)rows_of(all, i);
    if (values.data == NULL || (uint64_t)values.length < size) return false;
    memcpy(to, values.data, size);
    to += size;
  }
  return true;
}

/* The bytes of all texts of a column; -1: there are too many for one column, or it is not valid. */
static int64_t texts_size(const struct messages *all, Py_ssize_t buffer) {
  int64_t size = 0;
  for (Py_ssize_t i = 0; i < all->count; i++) {
    int64_t rows = rows_of(all, i);
    struct part offsets = part_of(all, i, buffer), texts = part_of(all, i, buffer + 1);
    if (offsets.data == NULL || texts.data == NULL || offsets.length / 4 < rows + 1) return -1;
    int32_t last = read_int32(offsets.data, rows);
    if (read_int32(offsets.data, 0) != 0 || last < 0 || last > texts.length) return -1;
    size += last;
    if (size > INT32_MAX) return -1;
  }
  return size;
}

static bool write_offsets(const struct messages *all, Py_ssize_t buffer, int32_t *to) {
  int32_t begin = 0;
  *to++ = 0;
  for (Py_ssize_t i = 0; i < all->count; i++) {
    int64_t rows = rows_of(all, i);
    const uint8_t *offsets = part_of(all, i, buffer).data;
    int32_t before = 0;
    bool falls = false;
    for (int64_t row = 1; row <= rows; row++) {
      int32_t offset = read_int32(offsets, row);
      falls |= offset < before;
      *to++ = (int32_t)((uint32_t)begin + (uint32_t)offset); /* used only if no one falls */
      before = offset;
    }
    if (falls) return false;
    begin += before;
  }
  return true;
}

/* Returns whether all of them are ASCII. */
static bool write_texts(const struct messages *all, Py_ssize_t buffer, uint8_t *to) {
  uint64_t bits = 0;
  for (Py_ssize_t i = 0; i < all->count; i++) {
    const uint8_t *from = part_of(all, i, buffer + 1).data;
    size_t size = (size_t)read_int32(part_of(all, i, buffer).data, rows_of(all, i)), at = 0;
    for (; at + 8 <= size; at += 8) {
      uint64_t eight;
      memcpy(&eight, from + at, 8);
      memcpy(to + at, &eight, 8);
      bits |= eight;
    }
    for (; at < size; at++) bits |= to[at] = from[at];
    to += size;
  }
  return (bits & 0x8080808080808080u) == 0;
}

/* (validity, offsets, data, whether it is ASCII) of a column; NULL without an exception: irregular.
   `number`, `first`: of the column and of its first buffer; `width` of a value, 0: texts. */
static PyObject *joined(const struct messages *all, Py_ssize_t number, Py_ssize_t first,
                        Py_ssize_t width) {
  bool regular = true, ascii = true;
  PyObject *validity = NULL, *offsets = NULL, *data = NULL, *made = NULL;
  int64_t nulls = 0, size = width ? width * all->whole : texts_size(all, first + 1);
  for (Py_ssize_t i = 0; i < all->count; i++) nulls |= read_int64(&all->nulls, i * all->columns + number);
  if (size < 0) goto end;
  if (nulls) {
    validity = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(all->whole + 7) / 8);
    if (validity == NULL) goto end;
    regular = write_validity(all, number, first, (uint8_t *)PyBytes_AsString(validity));
  }
  if (!width && regular) {
    offsets = PyBytes_FromStringAndSize(NULL, 4 * (Py_ssize_t)(all->whole + 1));
    if (offsets == NULL) goto end;
    regular = write_offsets(all, first + 1, (int32_t *)PyBytes_AsString(offsets));
  }
  if (!regular || (data = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size)) == NULL) goto end;
  uint8_t *to = (uint8_t *)PyBytes_AsString(data);
  if (width) regular = write_values(all, first + 1, (size_t)width, to);
  else ascii = write_texts(all, first + 1, to);
  if (regular)
    made = PyTuple_Pack(4, validity == NULL ? Py_None : validity, offsets == NULL ? Py_None : offsets,
                        data, ascii ? Py_True : Py_False);
end:
  Py_XDECREF(validity);
  Py_XDECREF(offsets);
  Py_XDECREF(data);
  return made;
}

static PyObject *all_joined(const struct messages *all, const struct array *wanted) {
  PyObject *list = PyList_New(0);
  for (Py_ssize_t at = 0; list != NULL && at < wanted->length; at += 3) {
    int64_t number = read_int64(wanted, at), first = read_int64(wanted, at + 1),
            width = read_int64(wanted, at + 2), buffers = width ? 2 : 3;
    if (number < 0 || number >= all->columns || first < 0 || first > all->buffers - buffers ||
        width < 0 || width > 8) {
      PyErr_SetString(PyExc_IndexError, "no such column");
      Py_CLEAR(list);
      break;
    }
    PyObject *column = joined(all, number, first, width);
    if (column == NULL && !PyErr_Occurred()) {
      Py_DECREF(list);
      return Py_NewRef(Py_None);
    }
    if (column == NULL || PyList_Append(list, column) < 0) Py_CLEAR(list);
    Py_XDECREF(column);
  }
  return list;
}

PyObject *messages_join_columns(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *rows, *nulls, *starts, *lengths, *columns, *made = NULL;
  struct messages all = {0};
  struct array wanted = {0};
  if (!PyArg_ParseTuple(args, "O!OOOOO", &PyList_Type, &all.list, &rows, &nulls, &starts, &lengths,
                        &columns))
    return NULL;
  if (open_messages(&all, rows, nulls, starts, lengths) &&
      array_open(&wanted, columns, 8, -1, false)) {
    if (wanted.length % 3) PyErr_SetString(PyExc_ValueError, "three numbers make a column");
    else made = all_joined(&all, &wanted);
  }
  array_close(&all.rows);
  array_close(&all.nulls);
  array_close(&all.starts);
  array_close(&all.lengths);
  array_close(&wanted);
  return made;
}
