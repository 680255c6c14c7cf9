/* sum_panes(): a window of panes: sums of counts of each path, features of its round-trip times. */
#include <math.h>
#include <stdlib.h>

#include "arrays.h"
#include "times.h"

#define COUNTS 5
#define FEATURES 7
#define BLOCK 128

enum { MEAN, P25, P50, P75, LEAST, DEVIATION, MOST };

/* Of a pane: its paths, ascending, counts of each, and samples: path << 32 | time [ns]. */
struct pane {
  struct array path, count[COUNTS], samples;
};

struct window {
  struct pane *panes;
  Py_ssize_t panes_count;
  struct array path, counts, features; /* to be written; of each row `bound` values */
  Py_ssize_t bound;                    /* every path is below */
  uint32_t *sums;                      /* (bound, COUNTS) */
  uint8_t *present;                    /* (bound,) */
  uint32_t *end;                       /* (bound + 1,) one past the last time of each path */
  uint32_t *times;
  double *us;                          /* room for the times of one path */
};

static bool pane_open(struct pane *pane, PyObject *described) {
  if (!PyTuple_Check(described) || PyTuple_Size(described) != COUNTS + 2) {
    PyErr_SetString(PyExc_TypeError, "a pane is a tuple of seven");
    return false;
  }
  if (!array_open(&pane->path, PyTuple_GetItem(described, 0), 4, -1, false)) return false;
  for (int i = 0; i < COUNTS; i++)
    if (!array_open(&pane->count[i], PyTuple_GetItem(described, i + 1), 4, pane->path.length, false))
      return false;
  return array_open(&pane->samples, PyTuple_GetItem(described, COUNTS + 1), 8, -1, false);
}

static void pane_close(struct pane *pane) {
  array_close(&pane->path);
  for (int i = 0; i < COUNTS; i++) array_close(&pane->count[i]);
  array_close(&pane->samples);
}

static bool add_counts(struct window *window, const struct pane *pane) {
  const int32_t *path = pane->path.view.buf;
  const uint32_t *count[COUNTS];
  for (int i = 0; i < COUNTS; i++) count[i] = pane->count[i].view.buf;
  for (Py_ssize_t row = 0; row < pane->path.length; row++) {
    if (path[row] < 0 || path[row] >= window->bound) return false;
    uint32_t *sums = window->sums + COUNTS * (size_t)path[row];
    window->present[path[row]] = 1;
    for (int i = 0; i < COUNTS; i++) sums[i] += count[i][row];
  }
  return true;
}

/* Put the times of each path beside each other. */
static bool gather(struct window *window) {
  size_t whole = 0;
  for (Py_ssize_t i = 0; i < window->panes_count; i++) {
    const uint64_t *samples = window->panes[i].samples.view.buf;
    for (Py_ssize_t at = 0; at < window->panes[i].samples.length; at++, whole++) {
      uint64_t path = samples[at] >> 32;
      if (path >= (uint64_t)window->bound || !window->present[path]) {
        PyErr_SetString(PyExc_ValueError, "a sample of a path that no pane has");
        return false;
      }
      window->end[path + 1]++;
    }
  }
  if (whole > UINT32_MAX || (window->times = malloc((whole + 1) * sizeof *window->times)) == NULL) {
    PyErr_NoMemory();
    return false;
  }
  uint32_t most = 0;
  for (Py_ssize_t i = 0; i < window->bound; i++) {
    if (window->end[i + 1] > most) most = window->end[i + 1];
    window->end[i + 1] += window->end[i];
  }
  if ((window->us = malloc(((size_t)most + 1) * sizeof *window->us)) == NULL) {
    PyErr_NoMemory();
    return false;
  }
  for (Py_ssize_t i = 0; i < window->panes_count; i++) {
    const uint64_t *samples = window->panes[i].samples.view.buf;
    for (Py_ssize_t at = 0; at < window->panes[i].samples.length; at++)
      window->times[window->end[samples[at] >> 32]++] = (uint32_t)samples[at];
  }
  return true;
}

/* Sums in the order of numpy's: the last digits are the same. */
static double sum_pairwise(const double *values, size_t count) {
  if (count < 8) {
    double sum = -0.0;
    for (size_t i = 0; i < count; i++) sum += values[i];
    return sum;
  }
  if (count > BLOCK) {
    size_t half = count / 2 - count / 2 % 8;
    return sum_pairwise(values, half) + sum_pairwise(values + half, count - half);
  }
  double part[8];
  size_t i = 8;
  memcpy(part, values, sizeof part);
  for (; i + 8 <= count; i += 8)
    for (size_t j = 0; j < 8; j++) part[j] += values[i + j];
  double sum = ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
  for (; i < count; i++) sum += values[i];
  return sum;
}

static double sum_of(const double *values, size_t count) {
  return values[0] + (count > 1 ? sum_pairwise(values + 1, count - 1) : 0.0);
}

static double quantile(const double *us, size_t count, double q) {
  double position = q * (double)(count - 1);
  size_t below = (size_t)position, above = below + 1 < count ? below + 1 : count - 1;
  return us[below] + (us[above] - us[below]) * (position - (double)below);
}

/* `us`: room for as many values as there are times. */
static void write_features(float *to, Py_ssize_t step, uint32_t *times, size_t count, double *us) {
  double values[FEATURES];
  if (count) {
    times_sort(times, count);
    for (size_t i = 0; i < count; i++) us[i] = times[i] / 1e3;
    double mean = values[MEAN] = sum_of(us, count) / (double)count;
    values[P25] = quantile(us, count, 0.25);
    values[P50] = quantile(us, count, 0.5);
    values[P75] = quantile(us, count, 0.75);
    values[LEAST] = us[0];
    values[MOST] = us[count - 1];
    for (size_t i = 0; i < count; i++) us[i] = (us[i] - mean) * (us[i] - mean);
    values[DEVIATION] = sqrt(sum_of(us, count) / (double)(count > 1 ? count - 1 : 1));
  }
  for (int i = 0; i < FEATURES; i++) to[i * step] = count ? (float)values[i] : NAN;
}

/* Write the paths that are there; returns how many, -1: an exception is set. */
static Py_ssize_t sum_up(struct window *window) {
  for (Py_ssize_t i = 0; i < window->panes_count; i++)
    if (!add_counts(window, &window->panes[i])) {
      PyErr_SetString(PyExc_ValueError, "a path beyond the bound");
      return -1;
    }
  if (!gather(window)) return -1;
  Py_ssize_t row = 0;
  for (Py_ssize_t path = 0; path < window->bound; path++) {
    if (!window->present[path]) continue;
    uint32_t first = path ? window->end[path - 1] : 0, *counts = window->counts.view.buf;
    ((int32_t *)window->path.view.buf)[row] = (int32_t)path;
    for (int i = 0; i < COUNTS; i++)
      counts[i * window->bound + row] = window->sums[COUNTS * (size_t)path + (size_t)i];
    write_features((float *)window->features.view.buf + row, window->bound, window->times + first,
                   window->end[path] - first, window->us);
    row++;
  }
  return row;
}

PyObject *windows_sum_panes(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *panes, *path, *counts, *features;
  struct window window = {0};
  Py_ssize_t rows = -1, opened = 0;
  if (!PyArg_ParseTuple(args, "O!OOO", &PyList_Type, &panes, &path, &counts, &features)) return NULL;
  window.panes_count = PyList_Size(panes);
  bool good = array_open(&window.path, path, 4, -1, true);
  window.bound = good ? window.path.length : 0;
  good = good && array_open(&window.counts, counts, 4, COUNTS * window.bound, true) &&
         array_open(&window.features, features, 4, FEATURES * window.bound, true);
  size_t bound = (size_t)window.bound;
  window.panes = calloc((size_t)window.panes_count + 1, sizeof *window.panes);
  window.sums = calloc(COUNTS * bound + 1, sizeof *window.sums);
  window.present = calloc(bound + 1, 1);
  window.end = calloc(bound + 2, sizeof *window.end);
  if (good && (!window.panes || !window.sums || !window.present || !window.end)) {
    PyErr_NoMemory();
    good = false;
  }
  for (; good && opened < window.panes_count; opened++)
    good = pane_open(&window.panes[opened], PyList_GetItem(panes, opened));
  if (good) rows = sum_up(&window);
  for (Py_ssize_t i = 0; i < opened; i++) pane_close(&window.panes[i]);
  array_close(&window.path);
  array_close(&window.counts);
  array_close(&window.features);
  free(window.panes);
  free(window.sums);
  free(window.present);
  free(window.end);
  free(window.times);
  free(window.us);
  return rows < 0 ? NULL : PyLong_FromSsize_t(rows);
}
