/* arrow_batch(): records of Python -> one record batch. */
#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "module.h"

#define COLUMNS_MAX 255 /* their numbers are bytes */

/* Values of the records, rows of columns; borrowed, NULL: null. */
struct cells {
  PyObject **values;
  Py_ssize_t rows, columns;
};

/* Put a record's values in their columns; names that `index` has not are left out. False: an
   exception is set. Nothing here runs code of Python's, so borrowed values stay. */
static bool place(struct cells *cells, PyObject *record, PyObject *index, Py_ssize_t row) {
  PyObject *name, *value;
  Py_ssize_t at = 0;
  if (!PyDict_CheckExact(record)) {
    PyErr_SetString(PyExc_TypeError, "a record is a dict");
    return false;
  }
  while (PyDict_Next(record, &at, &name, &value)) {
    if (!PyUnicode_CheckExact(name)) {
      PyErr_SetString(PyExc_TypeError, "names of columns are str");
      return false;
    }
    PyObject *number = PyDict_GetItemWithError(index, name);
    if (number == NULL) {
      if (PyErr_Occurred()) return false;
      continue;
    }
    Py_ssize_t column = PyLong_AsSsize_t(number);
    if (column == -1 && PyErr_Occurred()) return false;
    if (column < 0 || column >= cells->columns) {
      PyErr_SetString(PyExc_IndexError, "the index names a column that has no type");
      return false;
    }
    cells->values[row * cells->columns + column] = value == Py_None ? NULL : value;
  }
  return true;
}

static PyObject *cell(const struct cells *cells, Py_ssize_t row, Py_ssize_t column) {
  return cells->values[row * cells->columns + column];
}

static bool write_number(uint8_t *to, char type, PyObject *value) {
  if (type == COLUMN_FLOAT64) {
    double number = 0;
    if (value != NULL && PyLong_Check(value)) number = PyLong_AsDouble(value);
    else if (value != NULL && PyFloat_Check(value)) number = PyFloat_AsDouble(value);
    else if (value != NULL) PyErr_SetString(PyExc_TypeError, "a value is not a number");
    memcpy(to, &number, sizeof number);
    return !(value != NULL && PyErr_Occurred());
  }
  long long number = 0;
  if (value != NULL && PyLong_Check(value)) number = PyLong_AsLongLong(value);
  else if (value != NULL) PyErr_SetString(PyExc_TypeError, "a value is not an integer");
  if (value != NULL && PyErr_Occurred()) return false;
  if (type == COLUMN_INT64) {
    memcpy(to, &number, sizeof number);
  } else {
    int32_t small = (int32_t)number;
    if (small != number) PyErr_SetString(PyExc_OverflowError, "a value does not fit into 32 bits");
    memcpy(to, &small, sizeof small);
    return small == number;
  }
  return true;
}

static bool write_numbers(struct batch *batch, const struct cells *cells, Py_ssize_t column,
                          char type) {
  size_t width = type == COLUMN_INT32 ? sizeof(int32_t) : sizeof(int64_t);
  uint8_t *to = batch_buffer(batch, width * (size_t)cells->rows);
  for (Py_ssize_t row = 0; to != NULL && row < cells->rows; row++, to += width)
    if (!write_number(to, type, cell(cells, row, column))) return false;
  return true;
}

static bool write_strings(struct batch *batch, const struct cells *cells, Py_ssize_t column) {
  size_t size = 0, offsets = sizeof(int32_t) * ((size_t)cells->rows + 1);
  uint8_t *to = batch_buffer(batch, offsets);
  for (Py_ssize_t row = 0; row <= cells->rows; row++) {
    int32_t offset = (int32_t)size;
    if (to != NULL) memcpy(to + sizeof offset * (size_t)row, &offset, sizeof offset);
    if (row == cells->rows) break;
    PyObject *value = cell(cells, row, column);
    Py_ssize_t length = 0; /* strings keep their UTF-8, which for ASCII is they themselves */
    if (value != NULL && PyUnicode_AsUTF8AndSize(value, &length) == NULL) return false;
    size += (size_t)length;
    if (size > INT32_MAX) {
      PyErr_SetString(PyExc_OverflowError, "the strings of a column are too long");
      return false;
    }
  }
  to = batch_buffer(batch, size);
  for (Py_ssize_t row = 0; to != NULL && row < cells->rows; row++) {
    PyObject *value = cell(cells, row, column);
    Py_ssize_t length = 0;
    const char *text = value == NULL ? NULL : PyUnicode_AsUTF8AndSize(value, &length);
    if (length) memcpy(to, text, (size_t)length);
    to += length;
  }
  return true;
}

/* Add a column unless all of it is null; 1: it was added, -1: an exception is set. */
static int write_column(struct batch *batch, const struct cells *cells, Py_ssize_t column,
                        char type, uint8_t *bits) {
  int64_t nulls = 0;
  memset(bits, 0, ((size_t)cells->rows + 7) / 8);
  for (Py_ssize_t row = 0; row < cells->rows; row++) {
    if (cell(cells, row, column) == NULL) nulls++;
    else bits[row / 8] |= (uint8_t)(1u << row % 8);
  }
  if (nulls == cells->rows) return 0;
  batch_column(batch, bits, nulls);
  bool good = type == COLUMN_STRING ? write_strings(batch, cells, column)
                                    : write_numbers(batch, cells, column, type);
  return good ? 1 : -1;
}

static PyObject *message(const struct batch *batch, const uint8_t *filled) {
  PyObject *raw = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)batch_size(batch));
  if (raw == NULL) return NULL;
  batch_write(batch, (uint8_t *)PyBytes_AsString(raw));
  return Py_BuildValue("y#N", (const char *)filled, (Py_ssize_t)batch->columns, raw);
}

static PyObject *columns_of(const struct cells *cells, const char *types) {
  uint8_t filled[COLUMNS_MAX], *bits = malloc((size_t)cells->rows / 8 + 1);
  struct batch batch = {.rows = cells->rows, .failed = bits == NULL};
  PyObject *made = NULL;
  for (Py_ssize_t column = 0; column < cells->columns && !batch.failed; column++) {
    int added = write_column(&batch, cells, column, types[column], bits);
    if (added < 0) goto end;
    if (added) filled[batch.columns - 1] = (uint8_t)column;
  }
  made = batch.failed ? PyErr_NoMemory() : message(&batch, filled);
end:
  batch_free(&batch);
  free(bits);
  return made;
}

PyObject *records_arrow_batch(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *index, *records, *common;
  const char *types;
  Py_ssize_t columns;
  if (!PyArg_ParseTuple(args, "O!s#O!O!", &PyDict_Type, &index, &types, &columns, &PyList_Type,
                        &records, &PyList_Type, &common))
    return NULL;
  struct cells cells = {.rows = PyList_Size(records), .columns = columns};
  Py_ssize_t shared = PyList_Size(common);
  if (columns > COLUMNS_MAX || (shared != 0 && shared != cells.rows) ||
      strspn(types, "sdqi") != (size_t)columns) {
    PyErr_SetString(PyExc_ValueError, "too many columns, of unknown types, or records in part");
    return NULL;
  }
  cells.values = calloc((size_t)(cells.rows * columns) + 1, sizeof *cells.values);
  if (cells.values == NULL) return PyErr_NoMemory();
  PyObject *made = NULL;
  for (Py_ssize_t row = 0; row < cells.rows; row++)
    if ((shared && !place(&cells, PyList_GetItem(common, row), index, row)) ||
        !place(&cells, PyList_GetItem(records, row), index, row))
      goto end;
  made = columns_of(&cells, types);
end:
  free(cells.values);
  return made;
}
