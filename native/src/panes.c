/* sum_pings(): a pane: counts of each path in one second, and its round-trip times. */
#include <stdlib.h>

#include "arrays.h"
#include "times.h"

#define COLUMNS 6
#define COUNTS 5
#define SECOND_NS 1000000000
#define FEW 48 /* that are sorted by insertion */

enum { PATH, TIME, RTT, SENT, LOST, REFUSED };
enum { RECORDS, ALL_SENT, ALL_LOST, ALL_REFUSED, ANSWERED };

/* Columns of records; `time` is int64, the others are of 32 bits. */
struct part {
  struct array column[COLUMNS];
};

/* A record in the order in which copies of it are preferred: its time tells which are copies. */
struct record {
  uint32_t time, lost, rtt, refused, sent;
};

struct pane {
  struct part *parts;
  Py_ssize_t parts_count;
  int64_t start_ns;
  size_t records, bound;                      /* every path is below `bound` */
  uint32_t *end;                              /* (bound + 1,) one past the last record of each path */
  struct record *sorted;                      /* by path */
  struct array path, counts, mean, samples;   /* to be written, of `records` rows */
  Py_ssize_t rows, answered;
};

static bool part_open(struct part *part, PyObject *described) {
  if (!PyTuple_Check(described) || PyTuple_Size(described) != COLUMNS) {
    PyErr_SetString(PyExc_TypeError, "a part is a tuple of six");
    return false;
  }
  for (int i = 0; i < COLUMNS; i++)
    if (!array_open(&part->column[i], PyTuple_GetItem(described, i), i == TIME ? 8 : 4,
                    i == PATH ? -1 : part->column[PATH].length, false))
      return false;
  return true;
}

static void part_close(struct part *part) {
  for (int i = 0; i < COLUMNS; i++) array_close(&part->column[i]);
}

/* Count the records of each path. */
static bool count(struct pane *pane) {
  for (Py_ssize_t i = 0; i < pane->parts_count; i++) {
    const struct array *path = &pane->parts[i].column[PATH];
    pane->records += (size_t)path->length;
    for (Py_ssize_t row = 0; row < path->length; row++) {
      int32_t each = read_int32(path->view.buf, row);
      if (each < 0) {
        PyErr_SetString(PyExc_ValueError, "a path below 0");
        return false;
      }
      if ((size_t)each >= pane->bound) pane->bound = (size_t)each + 1;
    }
  }
  pane->end = calloc(pane->bound + 2, sizeof *pane->end);
  pane->sorted = malloc((pane->records + 1) * sizeof *pane->sorted);
  if (pane->records > UINT32_MAX || pane->end == NULL || pane->sorted == NULL) {
    PyErr_NoMemory();
    return false;
  }
  for (Py_ssize_t i = 0; i < pane->parts_count; i++) {
    const struct array *path = &pane->parts[i].column[PATH];
    for (Py_ssize_t row = 0; row < path->length; row++)
      pane->end[read_int32(path->view.buf, row) + 1]++;
  }
  for (size_t i = 0; i < pane->bound; i++) pane->end[i + 1] += pane->end[i];
  return true;
}

static uint32_t value(const struct part *part, int column, Py_ssize_t row) {
  return (uint32_t)read_int32(part->column[column].view.buf, row);
}

/* Put the records of each path beside each other. */
static bool gather(struct pane *pane) {
  for (Py_ssize_t i = 0; i < pane->parts_count; i++) {
    const struct part *part = &pane->parts[i];
    for (Py_ssize_t row = 0; row < part->column[PATH].length; row++) {
      int64_t time = read_int64(&part->column[TIME], row);
      uint64_t since = (uint64_t)time - (uint64_t)pane->start_ns; /* large where it is before */
      if (since >= SECOND_NS) {
        PyErr_SetString(PyExc_ValueError, "a record of another second");
        return false;
      }
      pane->sorted[pane->end[value(part, PATH, row)]++] = (struct record){
          (uint32_t)since, value(part, LOST, row), value(part, RTT, row),
          value(part, REFUSED, row), value(part, SENT, row)};
    }
  }
  return true;
}

static int preferred(const void *one, const void *other) {
  const struct record *a = one, *b = other;
  if (a->time != b->time) return a->time < b->time ? -1 : 1;
  if (a->lost != b->lost) return a->lost < b->lost ? -1 : 1;
  if (a->rtt != b->rtt) return a->rtt < b->rtt ? -1 : 1;
  if (a->refused != b->refused) return a->refused < b->refused ? -1 : 1;
  return (a->sent > b->sent) - (a->sent < b->sent);
}

static void sort(struct record *records, size_t count) {
  if (count > FEW) {
    qsort(records, count, sizeof *records, preferred);
    return;
  }
  for (size_t i = 1; i < count; i++) {
    struct record record = records[i];
    size_t at = i;
    for (; at > 0 && preferred(&records[at - 1], &record) > 0; at--) records[at] = records[at - 1];
    records[at] = record;
  }
}

/* Write the row of a path; `times`: room for one of each record. */
static void write_path(struct pane *pane, size_t path, struct record *records, size_t count,
                       uint32_t *times) {
  uint32_t sums[COUNTS] = {0}, *counts = pane->counts.view.buf;
  double total_ns = 0;
  sort(records, count);
  for (size_t i = 0; i < count; i++) {
    const struct record *each = &records[i];
    if (i > 0 && each->time == records[i - 1].time) continue; /* a copy */
    sums[RECORDS]++;
    sums[ALL_SENT] += each->sent;
    sums[ALL_LOST] += each->lost;
    sums[ALL_REFUSED] += each->refused;
    if (each->rtt == NO_TIME) continue;
    total_ns += each->rtt;
    times[sums[ANSWERED]++] = each->rtt;
  }
  times_sort(times, sums[ANSWERED]);
  for (uint32_t i = 0; i < sums[ANSWERED]; i++)
    ((uint64_t *)pane->samples.view.buf)[pane->answered++] = (uint64_t)path << 32 | times[i];
  ((int32_t *)pane->path.view.buf)[pane->rows] = (int32_t)path;
  for (size_t i = 0; i < COUNTS; i++) counts[i * pane->records + (size_t)pane->rows] = sums[i];
  ((float *)pane->mean.view.buf)[pane->rows++] =
      (float)(total_ns / (1e3 * (sums[ANSWERED] ? sums[ANSWERED] : 1)));
}

static bool write_rows(struct pane *pane) {
  uint32_t most = 0, first = 0;
  for (size_t path = 0; path < pane->bound; first = pane->end[path++])
    if (pane->end[path] - first > most) most = pane->end[path] - first;
  uint32_t *times = malloc(((size_t)most + 1) * sizeof *times);
  if (times == NULL) {
    PyErr_NoMemory();
    return false;
  }
  first = 0;
  for (size_t path = 0; path < pane->bound; first = pane->end[path++])
    if (pane->end[path] > first)
      write_path(pane, path, pane->sorted + first, pane->end[path] - first, times);
  free(times);
  return true;
}

PyObject *panes_sum_pings(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *parts, *path, *counts, *mean, *samples;
  long long start_ns;
  struct pane pane = {0};
  Py_ssize_t opened = 0;
  if (!PyArg_ParseTuple(args, "O!LOOOO", &PyList_Type, &parts, &start_ns, &path, &counts, &mean,
                        &samples))
    return NULL;
  pane.start_ns = start_ns;
  pane.parts_count = PyList_Size(parts);
  bool good = (pane.parts = calloc((size_t)pane.parts_count + 1, sizeof *pane.parts)) != NULL;
  if (!good) PyErr_NoMemory();
  while (good && opened < pane.parts_count) {
    good = part_open(&pane.parts[opened], PyList_GetItem(parts, opened));
    opened++;
  }
  good = good && count(&pane);
  Py_ssize_t rows = (Py_ssize_t)pane.records;
  good = good && array_open(&pane.path, path, 4, rows, true) &&
         array_open(&pane.counts, counts, 4, COUNTS * rows, true) &&
         array_open(&pane.mean, mean, 4, rows, true) &&
         array_open(&pane.samples, samples, 8, rows, true) && gather(&pane) && write_rows(&pane);
  for (Py_ssize_t i = 0; i < opened; i++) part_close(&pane.parts[i]);
  array_close(&pane.path);
  array_close(&pane.counts);
  array_close(&pane.mean);
  array_close(&pane.samples);
  free(pane.parts);
  free(pane.end);
  free(pane.sorted);
  return good ? Py_BuildValue("nn", pane.rows, pane.answered) : NULL;
}
