/* atoms_gain(): what paths gain if a candidate is bad. */
#include <stdlib.h>

#include "atoms.h"
#include "vectors.h"

#define LEAST 1e-300 /* as in mixture.py */

/* Of each of some sorts: its path, and the probabilities that it crosses its candidates once and twice. */
struct sorts {
  struct array row, once, twice;
};

/* Sizes and shares at which candidates are tried, and room for one path. */
struct tried {
  Py_ssize_t count;
  const double *shares;
  struct added added;             /* nothing, what one crossing adds, what two add: (1 + 2 count,) */
  double *likely;                 /* (1 + 2 count,) of the path; behind the first: ratios to it */
  double *none, *one, *two, *top; /* (count,) parts of the likelihood by crossings, and its logarithm */
};

/* What the path gains if it is crossed once and, where `twice`, twice. */
VECTORS static void path_gains(Py_ssize_t count, bool twice, struct tried *tried) {
  double before = tried->likely[0], *one = tried->likely + 1, *two = one + count, *top = tried->top;
  for (Py_ssize_t i = 0; i < count; i++) {
    one[i] -= before;
    two[i] = twice ? two[i] - before : 0.0;
    top[i] = one[i] > two[i] ? one[i] : two[i];
    top[i] = top[i] > 0.0 ? top[i] : 0.0;
  }
  for (Py_ssize_t i = 0; i < count; i++) tried->none[i] = exp(-top[i]);
  for (Py_ssize_t i = 0; i < count; i++) tried->one[i] = exp(one[i] - top[i]);
  for (Py_ssize_t i = 0; twice && i < count; i++) tried->two[i] = exp(two[i] - top[i]);
}

VECTORS static void sort_gains(const struct tried *tried, double once, double twice, double *out) {
  Py_ssize_t count = tried->count;
  const double *one = tried->likely + 1, *two = one + count;
  for (Py_ssize_t i = 0; i < count; i++) {
    double share = tried->shares[i];
    double a = once * share + twice * 2 * share * (1 - share), b = twice * share * share;
    double never = 1 - a - b, likely = (never > 0.0 ? never : 0.0) * tried->none[i] + a * tried->one[i];
    if (twice > 0.0) likely += b * tried->two[i];
    out[i] = log(likely > LEAST ? likely : LEAST) + tried->top[i];
  }
  if (once < 1.0 && twice < 1.0) return;
  for (Py_ssize_t i = 0; i < count; i++) /* exact, however small */
    if (tried->shares[i] == 1.0) out[i] = twice < 1.0 ? one[i] : two[i];
}

static void gains(const struct likelihood *model, const struct atoms *atoms, const struct sorts *sorts,
                  struct tried *tried, double *out) {
  const double *once = sorts->once.view.buf, *twice = sorts->twice.view.buf;
  for (Py_ssize_t from = 0, to; from < sorts->row.length; from = to) {
    int64_t path = read_int64(&sorts->row, from);
    bool any = false;
    for (to = from; to < sorts->row.length && read_int64(&sorts->row, to) == path; to++) any |= twice[to] > 0.0;
    mix(model, atoms, (Py_ssize_t)path, &tried->added, 1 + (any ? 2 : 1) * tried->count, tried->likely);
    path_gains(tried->count, any, tried);
    for (Py_ssize_t i = from; i < to; i++) sort_gains(tried, once[i], twice[i], out + i * tried->count);
  }
}

/* False: an exception is set. `room` is to be freed. */
static bool try_sizes(struct tried *tried, const struct array *crossed, const struct array *shares,
                      Py_ssize_t most, double **room) {
  size_t count = (size_t)(tried->count = crossed->length), sums = 1 + 2 * count;
  double *next = *room = malloc(sizeof *next * (2 * sums + ADDED_ROOM(sums, most) + 4 * count));
  if (next == NULL) {
    PyErr_NoMemory();
    return false;
  }
  const double *each = crossed->view.buf;
  next[0] = 0.0;
  for (size_t i = 0; i < count; i++) next[1 + i] = each[i], next[1 + count + i] = 2 * each[i];
  tried->likely = added_make(&tried->added, next, (Py_ssize_t)sums, most);
  tried->none = tried->likely + sums, tried->one = tried->none + count;
  tried->two = tried->one + count, tried->top = tried->two + count;
  tried->shares = shares->view.buf;
  return true;
}

PyObject *atoms_gain(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *described, *weight, *damage, *of_row, *of_once, *of_twice, *of_crossed, *of_shares, *of_gain;
  struct likelihood model = {0};
  struct atoms atoms = {0};
  struct sorts sorts = {{{0}, 0}, {{0}, 0}, {{0}, 0}};
  struct array crossed = {0}, shares = {0}, gain = {0};
  struct tried tried = {0};
  double *room = NULL;
  if (!PyArg_ParseTuple(args, "O!OO(OOO)OOO", &PyTuple_Type, &described, &weight, &damage, &of_row, &of_once,
                        &of_twice, &of_crossed, &of_shares, &of_gain))
    return NULL;
  bool good = atoms_open(&atoms, &model, described, weight, damage, false) &&
              array_open(&sorts.row, of_row, 8, -1, false) && atoms_have(&atoms, &sorts.row) &&
              array_open(&sorts.once, of_once, 8, sorts.row.length, false) &&
              array_open(&sorts.twice, of_twice, 8, sorts.row.length, false) &&
              array_open(&crossed, of_crossed, 8, -1, false) &&
              array_open(&shares, of_shares, 8, crossed.length, false) &&
              array_open(&gain, of_gain, 8, sorts.row.length * crossed.length, true) &&
              try_sizes(&tried, &crossed, &shares, atoms.most, &room);
  if (good) gains(&model, &atoms, &sorts, &tried, gain.view.buf);
  free(room);
  array_close(&sorts.row);
  array_close(&sorts.once);
  array_close(&sorts.twice);
  array_close(&crossed);
  array_close(&shares);
  array_close(&gain);
  atoms_close(&atoms, &model);
  if (!good) return NULL;
  Py_RETURN_NONE;
}
