/* compact_codes(): codes of a large table as places among those that are used. */
#include <stdlib.h>

#include "arrays.h"

/* What `places` and `used` get; how many codes are used, -1: a row or a code is out of range. `place_of`: room for
   one of each code, all 0. */
static Py_ssize_t compact(const struct array *codes, const struct array *rows, int32_t *places,
                          int32_t *used, int32_t *place_of, Py_ssize_t size) {
  Py_ssize_t count = 0;
  for (Py_ssize_t i = 0; i < rows->length; i++) {
    int32_t row = read_int32(rows->view.buf, i);
    if (row < 0 || row >= codes->length) return -1;
    int32_t code = read_int32(codes->view.buf, row);
    if (code < 0 || code >= size) return -1;
    place_of[places[i] = code] = 1;
  }
  for (int32_t code = 0; code < size; code++)
    if (place_of[code]) {
      used[count] = code;
      place_of[code] = (int32_t)count++;
    }
  for (Py_ssize_t i = 0; i < rows->length; i++) places[i] = place_of[places[i]];
  return count;
}

PyObject *columns_compact_codes(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *all, *of, *out_places, *out_used;
  struct array codes = {0}, rows = {0}, places = {0}, used = {0};
  Py_ssize_t count = -1;
  int32_t *place_of = NULL;
  if (!PyArg_ParseTuple(args, "OOOO", &all, &of, &out_places, &out_used)) return NULL;
  if (array_open(&codes, all, 4, -1, false) && array_open(&rows, of, 4, -1, false) &&
      array_open(&places, out_places, 4, rows.length, true) && array_open(&used, out_used, 4, -1, true)) {
    place_of = calloc((size_t)used.length + 1, sizeof *place_of);
    if (place_of == NULL) PyErr_NoMemory();
    else if ((count = compact(&codes, &rows, places.view.buf, used.view.buf, place_of, used.length)) < 0)
      PyErr_SetString(PyExc_ValueError, "a row or a code is out of range");
  }
  free(place_of);
  array_close(&codes);
  array_close(&rows);
  array_close(&places);
  array_close(&used);
  return count < 0 ? NULL : PyLong_FromSsize_t(count);
}
