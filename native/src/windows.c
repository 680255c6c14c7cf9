/* sum_panes(): a window of panes: sums of counts of each path, features of its round-trip times. */
#include <math.h>
#include <stdlib.h>

#include "arrays.h"

#define COUNTS 5
#define FEATURES 7
#define FEW 48 /* that are sorted by insertion */
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
  for (Py_ssize_t i = 0; i < window->bound; i++) window->end[i + 1] += window->end[i];
  for (Py_ssize_t i = 0; i < window->panes_count; i++) {
    const uint64_t *samples = window->panes[i].samples.view.buf;
    for (Py_ssize_t at = 0; at < window->panes[i].samples.length; at++)
      window->times[window->end[samples[at] >> 32]++] = (uint32_t)samples[at];
  }
  return true;
}

static int ascending(const void *one, const void *other) {
  uint32_t a = *(const uint32_t *)one, b = *(const uint32_t *)other;
  return (a > b) - (a < b);
}

static void sort(uint32_t *times, size_t count) {
  if (count > FEW) {
    qsort(times, count, sizeof *times, ascending);
    return;
  }
  for (size_t i = 1; i < count; i++) {
    uint32_t time = times[i];
    size_t at = i;
    for (; at > 0 && times[at - 1] > time; at--) times[at] = times[at - 1];
    times[at] = time;
  }
}

/* Time in us, or the square of its difference from a mean, which is less than 0 for the former. */
static double term(uint32_t time, double mean) {
  double us = time / 1e3, off = us - mean;
  return mean < 0 ? us : off * off;
}

/* Sums in the order of numpy's: the last digits are the same. */
static double sum_pairwise(const uint32_t *times, size_t count, double mean) {
  if (count < 8) {
    double sum = -0.0;
    for (size_t i = 0; i < count; i++) sum += term(times[i], mean);
    return sum;
  }
  if (count > BLOCK) {
    size_t half = count / 2 - count / 2 % 8;
    return sum_pairwise(times, half, mean) + sum_pairwise(times + half, count - half, mean);
  }
  double part[8];
  size_t i = 8;
  for (size_t j = 0; j < 8; j++) part[j] = term(times[j], mean);
  for (; i + 8 <= count; i += 8)
    for (size_t j = 0; j < 8; j++) part[j] += term(times[i + j], mean);
  double sum = ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
  for (; i < count; i++) sum += term(times[i], mean);
  return sum;
}

static double sum_of(const uint32_t *times, size_t count, double mean) {
  return term(times[0], mean) + (count > 1 ? sum_pairwise(times + 1, count - 1, mean) : 0.0);
}

static double quantile(const uint32_t *times, size_t count, double q) {
  double position = q * (double)(count - 1);
  size_t below = (size_t)position, above = below + 1 < count ? below + 1 : count - 1;
  double low = times[below] / 1e3, high = times[above] / 1e3;
  return low + (high - low) * (position - (double)below);
}

static void write_features(float *to, Py_ssize_t step, uint32_t *times, size_t count) {
  double values[FEATURES];
  if (count) {
    sort(times, count);
    double mean = values[MEAN] = sum_of(times, count, -1) / (double)count;
    values[DEVIATION] = sqrt(sum_of(times, count, mean) / (double)(count > 1 ? count - 1 : 1));
    values[P25] = quantile(times, count, 0.25);
    values[P50] = quantile(times, count, 0.5);
    values[P75] = quantile(times, count, 0.75);
    values[LEAST] = times[0] / 1e3;
    values[MOST] = times[count - 1] / 1e3;
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
                   window->end[path] - first);
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
  return rows < 0 ? NULL : PyLong_FromSsize_t(rows);
}
