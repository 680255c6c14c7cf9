/* Functions for H, paths x segments: the segments of each path as columns of slots, 0: none. See
   localizer/fabric/incidence/segment_paths.py. */
#include "arrays.h"

/* Slots (W, P) of int32, column by column `stride` bytes apart; numbers of segments are below `segments`. */
struct slots {
  Py_buffer view;
  Py_ssize_t paths, width, stride, segments;
};

static bool slots_open(struct slots *slots, PyObject *codes, Py_ssize_t segments) {
  if (PyObject_GetBuffer(codes, &slots->view, PyBUF_STRIDES) < 0) {
    slots->view.buf = NULL;
    return false;
  }
  if (slots->view.ndim == 2 && slots->view.itemsize == 4 &&
      (slots->view.strides[1] == 4 || slots->view.shape[1] < 2)) {
    slots->width = slots->view.shape[0];
    slots->paths = slots->view.shape[1];
    slots->stride = slots->view.strides[0];
    slots->segments = segments;
    return true;
  }
  PyErr_SetString(PyExc_ValueError, "slots are not columns of int32");
  PyBuffer_Release(&slots->view);
  slots->view.buf = NULL;
  return false;
}

static void slots_close(struct slots *slots) {
  if (slots->view.buf != NULL) PyBuffer_Release(&slots->view);
}

static const uint8_t *column_of(const struct slots *slots, Py_ssize_t column) {
  return (const uint8_t *)slots->view.buf + slots->stride * column;
}

static int32_t slot_of(const struct slots *slots, Py_ssize_t column, Py_ssize_t path) {
  return read_int32(column_of(slots, column), path);
}

static PyObject *out_of_range(void) {
  PyErr_SetString(PyExc_ValueError, "a segment or path is out of range");
  return NULL;
}

/* How many paths each segment has, added to `ends` one place further on. */
static bool count_paths(const struct slots *slots, int64_t *ends) {
  for (Py_ssize_t column = 0; column < slots->width; column++)
    for (Py_ssize_t path = 0; path < slots->paths; path++) {
      int32_t segment = slot_of(slots, column, path);
      if (segment < 0 || segment >= slots->segments) return false;
      ends[segment + 1] += segment != 0;
    }
  for (Py_ssize_t segment = 0; segment < slots->segments; segment++) ends[segment + 1] += ends[segment];
  return true;
}

PyObject *segments_count(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *codes, *out;
  struct slots slots = {0};
  struct array ends = {0};
  bool good = false;
  if (!PyArg_ParseTuple(args, "OO", &codes, &out) || !array_open(&ends, out, 8, -1, true)) return NULL;
  if (ends.length > 0 && slots_open(&slots, codes, ends.length - 1)) {
    good = count_paths(&slots, ends.view.buf);
    if (!good) out_of_range();
  }
  slots_close(&slots);
  array_close(&ends);
  if (good) Py_RETURN_NONE;
  return PyErr_Occurred() ? NULL : out_of_range();
}

/* Write the paths of each segment, rising; `starts` gets where each one ends. */
static bool fill_paths(const struct slots *slots, int64_t *starts, int32_t *paths, Py_ssize_t room) {
  for (Py_ssize_t path = 0; path < slots->paths; path++)
    for (Py_ssize_t column = 0; column < slots->width; column++) {
      int32_t segment = slot_of(slots, column, path);
      if (segment == 0) continue;
      if (segment < 0 || segment >= slots->segments) return false;
      int64_t at = starts[segment]++;
      if (at < 0 || at >= room) return false;
      paths[at] = (int32_t)path;
    }
  return true;
}

PyObject *segments_paths(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *codes, *begin, *out;
  struct slots slots = {0};
  struct array starts = {0}, found = {0};
  bool good = false;
  if (!PyArg_ParseTuple(args, "OOO", &codes, &begin, &out)) return NULL;
  if (array_open(&starts, begin, 8, -1, true) && array_open(&found, out, 4, -1, true) &&
      slots_open(&slots, codes, starts.length)) {
    good = fill_paths(&slots, starts.view.buf, found.view.buf, found.length);
    if (!good) out_of_range();
  }
  slots_close(&slots);
  array_close(&found);
  array_close(&starts);
  if (!good) return NULL;
  Py_RETURN_NONE;
}

/* Sums over the paths of each segment, in their order. */
static bool sum_paths(const struct array *edges, const struct array *paths, const double *values,
                      Py_ssize_t count, double *sums) {
  int64_t begin = read_int64(edges, 0);
  for (Py_ssize_t segment = 0; segment + 1 < edges->length; segment++) {
    int64_t end = read_int64(edges, segment + 1);
    double sum = 0.0;
    if (begin < 0 || end < begin || end > paths->length) return false;
    for (int64_t i = begin; i < end; i++) {
      int32_t path = read_int32(paths->view.buf, i);
      if (path < 0 || path >= count) return false;
      sum += values[path];
    }
    sums[segment] = sum;
    begin = end;
  }
  return true;
}

PyObject *segments_sum(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *bounds, *of, *weights, *out;
  struct array edges = {0}, paths = {0}, values = {0}, sums = {0};
  bool good = false;
  if (!PyArg_ParseTuple(args, "OOOO", &bounds, &of, &weights, &out)) return NULL;
  if (array_open(&edges, bounds, 8, -1, false) && array_open(&paths, of, 4, -1, false) &&
      array_open(&values, weights, 8, -1, false) &&
      array_open(&sums, out, 8, edges.length > 0 ? edges.length - 1 : 0, true)) {
    good = edges.length > 0 &&
           sum_paths(&edges, &paths, values.view.buf, values.length, sums.view.buf);
    if (!good) out_of_range();
  }
  array_close(&edges);
  array_close(&paths);
  array_close(&values);
  array_close(&sums);
  if (!good) return NULL;
  Py_RETURN_NONE;
}

/* Add the values of some paths to the sums of their segments, column by column. */
static bool add_paths(const struct slots *slots, const struct array *rows, const double *values, double *sums) {
  for (Py_ssize_t column = 0; column < slots->width; column++)
    for (Py_ssize_t i = 0; i < rows->length; i++) {
      int64_t path = read_int64(rows, i);
      if (path < 0 || path >= slots->paths) return false;
      int32_t segment = slot_of(slots, column, (Py_ssize_t)path);
      if (segment < 0 || segment >= slots->segments) return false;
      sums[segment] += values[i];
    }
  return true;
}

PyObject *segments_add(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *codes, *some, *weights, *out;
  struct slots slots = {0};
  struct array rows = {0}, values = {0}, sums = {0};
  bool good = false;
  if (!PyArg_ParseTuple(args, "OOOO", &codes, &some, &weights, &out)) return NULL;
  if (array_open(&rows, some, 8, -1, false) && array_open(&values, weights, 8, rows.length, false) &&
      array_open(&sums, out, 8, -1, true) && slots_open(&slots, codes, sums.length)) {
    good = add_paths(&slots, &rows, values.view.buf, sums.view.buf);
    if (!good) out_of_range();
  }
  slots_close(&slots);
  array_close(&rows);
  array_close(&values);
  array_close(&sums);
  if (!good) return NULL;
  Py_RETURN_NONE;
}
