/* rows_are_valid(): whether all values of some columns obey simple rules. */
#include "arrays.h"

#define ALLOWED_MAX 32

/* A column from the row `first` on; `valid`: bits, 0: null. */
struct values {
  struct array valid, numbers, texts;
  Py_ssize_t first;
  bool required;
};

struct allowed {
  const char *text[ALLOWED_MAX];
  Py_ssize_t length[ALLOWED_MAX], count;
};

static bool is_null(const struct values *column, Py_ssize_t at) {
  const uint8_t *valid = column->valid.view.buf;
  return valid != NULL && !(valid[at / 8] >> at % 8 & 1);
}

static bool open_values(struct values *column, PyObject *valid, PyObject *numbers, size_t width,
                        Py_ssize_t rows, Py_ssize_t extra) {
  if ((valid != Py_None && !array_open(&column->valid, valid, 1, -1, false)) ||
      !array_open(&column->numbers, numbers, width, -1, false))
    return false;
  if (column->first >= 0 && rows + extra <= column->numbers.length - column->first &&
      (valid == Py_None || (column->first + rows + 7) / 8 <= column->valid.length))
    return true;
  PyErr_SetString(PyExc_ValueError, "a column has too few values or bits");
  return false;
}

static void close_values(struct values *column) {
  array_close(&column->valid);
  array_close(&column->numbers);
  array_close(&column->texts);
}

static bool read_allowed(struct allowed *allowed, PyObject *texts) {
  allowed->count = 0;
  if (texts == Py_None) return true;
  if (!PyTuple_Check(texts) || PyTuple_Size(texts) > ALLOWED_MAX) {
    PyErr_SetString(PyExc_TypeError, "allowed texts are a tuple of few");
    return false;
  }
  for (; allowed->count < PyTuple_Size(texts); allowed->count++) {
    char *text;
    Py_ssize_t at = allowed->count;
    if (PyBytes_AsStringAndSize(PyTuple_GetItem(texts, at), &text, &allowed->length[at]) < 0)
      return false;
    allowed->text[at] = text;
  }
  return true;
}

static bool is_allowed(const struct allowed *allowed, const uint8_t *text, Py_ssize_t length) {
  for (Py_ssize_t i = 0; i < allowed->count; i++)
    if (allowed->length[i] == length && memcmp(allowed->text[i], text, (size_t)length) == 0) return true;
  return allowed->count == 0;
}

/* Whether each text has its length, and is allowed. Texts of rows in turn are often the same. */
static bool texts_are_valid(const struct values *column, Py_ssize_t rows, Py_ssize_t most,
                            const struct allowed *allowed) {
  const uint8_t *offsets = column->numbers.view.buf, *texts = column->texts.view.buf, *known = NULL;
  Py_ssize_t least = column->required ? 1 : 0, known_length = 0;
  int32_t begin = read_int32(offsets, column->first);
  for (Py_ssize_t at = column->first; at < column->first + rows; at++) {
    int32_t end = read_int32(offsets, at + 1);
    Py_ssize_t length = (Py_ssize_t)end - begin;
    if (begin < 0 || length < 0 || end > column->texts.length) return false;
    if (is_null(column, at)) {
      if (column->required) return false;
    } else if (length < least || length > most) {
      return false;
    } else if (allowed->count &&
               (known == NULL || length != known_length || memcmp(texts + begin, known, (size_t)length))) {
      if (!is_allowed(allowed, texts + begin, length)) return false;
      known = texts + begin;
      known_length = length;
    }
    begin = end;
  }
  return true;
}

/* A NaN is within no range. */
static bool numbers_are_valid(const struct values *column, Py_ssize_t rows, char type, double low,
                              double high) {
  const uint8_t *from = column->numbers.view.buf;
  bool valid = true;
  for (Py_ssize_t at = column->first; at < column->first + rows; at++) {
    double value;
    if (type == 'd') memcpy(&value, from + sizeof value * (size_t)at, sizeof value);
    else value = type == 'i' ? read_int32(from, at) : (double)read_int64(&column->numbers, at);
    if (is_null(column, at)) valid &= !column->required;
    else valid &= value >= low && value <= high;
  }
  return valid;
}

/* 1, 0, or -1: an exception is set. */
static int check_texts(PyObject *described, Py_ssize_t rows) {
  PyObject *valid, *offsets, *data, *texts;
  struct values column = {0};
  struct allowed allowed;
  Py_ssize_t most;
  int required, result = -1;
  if (!PyTuple_Check(described)) PyErr_SetString(PyExc_TypeError, "a column is a tuple");
  else if (PyArg_ParseTuple(described, "OOOnpnO", &valid, &offsets, &data, &column.first, &required,
                            &most, &texts) &&
           open_values(&column, valid, offsets, 4, rows, 1) &&
           array_open(&column.texts, data, 1, -1, false) && read_allowed(&allowed, texts)) {
    column.required = required;
    result = texts_are_valid(&column, rows, most, &allowed);
  }
  close_values(&column);
  return result;
}

static int check_numbers(PyObject *described, Py_ssize_t rows) {
  PyObject *valid, *numbers;
  struct values column = {0};
  double low, high;
  int required, type, result = -1;
  if (!PyTuple_Check(described)) PyErr_SetString(PyExc_TypeError, "a column is a tuple");
  else if (PyArg_ParseTuple(described, "OOnpCdd", &valid, &numbers, &column.first, &required, &type,
                            &low, &high)) {
    if (type != 'i' && type != 'q' && type != 'd') PyErr_SetString(PyExc_ValueError, "unknown type");
    else if (open_values(&column, valid, numbers, type == 'i' ? 4 : 8, rows, 0)) {
      column.required = required;
      result = numbers_are_valid(&column, rows, (char)type, low, high);
    }
  }
  close_values(&column);
  return result;
}

PyObject *rows_are_valid(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *texts, *numbers;
  Py_ssize_t rows;
  int valid = 1;
  if (!PyArg_ParseTuple(args, "nO!O!", &rows, &PyList_Type, &texts, &PyList_Type, &numbers))
    return NULL;
  if (rows < 0) {
    PyErr_SetString(PyExc_ValueError, "a negative number of rows");
    return NULL;
  }
  for (Py_ssize_t i = 0; valid == 1 && i < PyList_Size(texts); i++)
    valid = check_texts(PyList_GetItem(texts, i), rows);
  for (Py_ssize_t i = 0; valid == 1 && i < PyList_Size(numbers); i++)
    valid = check_numbers(PyList_GetItem(numbers, i), rows);
  return valid < 0 ? NULL : PyBool_FromLong(valid);
}
