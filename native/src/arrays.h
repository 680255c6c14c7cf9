/* Arrays that Python passes: buffers of whole values of one size. */
#ifndef ARRAYS_H
#define ARRAYS_H

#include <string.h>

#include "module.h"

/* Values in a buffer; `view.buf` is NULL where there is none. */
struct array {
  Py_buffer view;
  Py_ssize_t length;
};

/* View `object` as values of `size` bytes; `count` of them, -1: any number, and bytes may be left over,
   as behind columns of Arrow. False: an exception is set. `writable`: they are to be written. */
bool array_open(struct array *array, PyObject *object, size_t size, Py_ssize_t count, bool writable);

void array_close(struct array *array);

static inline int32_t read_int32(const uint8_t *from, Py_ssize_t index) {
  int32_t value;
  memcpy(&value, from + sizeof value * (size_t)index, sizeof value);
  return value;
}

static inline int64_t read_int64(const struct array *array, Py_ssize_t index) {
  int64_t value;
  memcpy(&value, (const uint8_t *)array->view.buf + sizeof value * (size_t)index, sizeof value);
  return value;
}

#endif
