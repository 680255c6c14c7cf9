/* Columns of texts that Python passes. */
#include "text_columns.h"

bool column_open(struct column *column, PyObject *described, Py_ssize_t rows) {
  PyObject *valid, *offsets, *data;
  if (PyBytes_Check(described)) return array_open(&column->data, described, 1, -1, false);
  if (!PyTuple_Check(described)) {
    PyErr_SetString(PyExc_TypeError, "a column is a tuple, or a text");
    return false;
  }
  if (!PyArg_ParseTuple(described, "OOOn", &valid, &offsets, &data, &column->first) ||
      (valid != Py_None && !array_open(&column->valid, valid, 1, -1, false)) ||
      !array_open(&column->offsets, offsets, 4, -1, false) ||
      !array_open(&column->data, data, 1, -1, false))
    return false;
  if (column->first >= 0 && rows < column->offsets.length - column->first &&
      (valid == Py_None || (column->first + rows + 7) / 8 <= column->valid.length))
    return true;
  PyErr_SetString(PyExc_ValueError, "a column has too few offsets or bits");
  return false;
}

void column_close(struct column *column) {
  array_close(&column->valid);
  array_close(&column->offsets);
  array_close(&column->data);
}
