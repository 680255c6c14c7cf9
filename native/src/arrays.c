#include "arrays.h"

bool array_open(struct array *array, PyObject *object, size_t size, Py_ssize_t count,
                bool writable) {
  int flags = writable ? PyBUF_WRITABLE : PyBUF_SIMPLE;
  if (PyObject_GetBuffer(object, &array->view, flags) < 0) {
    array->view.buf = NULL;
    return false;
  }
  array->length = array->view.len / (Py_ssize_t)size;
  if (count < 0 || array->view.len == count * (Py_ssize_t)size) return true;
  PyErr_Format(PyExc_ValueError, "a buffer of %zd bytes in the place of %zd values of %zu bytes",
               array->view.len, count, size);
  array_close(array);
  return false;
}

void array_close(struct array *array) {
  if (array->view.buf != NULL) PyBuffer_Release(&array->view);
  array->view.buf = NULL;
}
