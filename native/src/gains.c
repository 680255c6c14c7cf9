/* atoms_gain(): what paths gain if a candidate is bad. */
#include <math.h>
#include <stdlib.h>

#include "atoms.h"

#define LEAST 1e-300 /* as in mixture.py */

/* Of each of some sorts: its path, and the probabilities that it crosses its candidates once and twice. */
struct sorts {
  struct array row, once, twice;
};

/* Sizes and shares at which candidates are tried, and room for one path. */
struct tried {
  Py_ssize_t count;
  const double *shares;
  double *more, *grown; /* (1 + 2 count,) 0, what one crossing adds, what two add */
  double *likely;       /* (1 + 2 count,) of the path */
  double *none, *one, *two, *top; /* (count,) shares of the likelihood by crossings, and its logarithm */
  double *room;
};

/* What the path gains if it is crossed once and, where `twice`, twice. */
static void path_gains(const struct likelihood *model, const struct atoms *atoms, struct tried *tried,
                       Py_ssize_t path, bool twice) {
  Py_ssize_t count = tried->count;
  mix(model, atoms, path, tried->more, tried->grown, 1 + (twice ? 2 : 1) * count, tried->room, tried->likely);
  for (Py_ssize_t i = 0; i < count; i++) {
    double one = tried->likely[1 + i] - tried->likely[0];
    double two = twice ? tried->likely[1 + count + i] - tried->likely[0] : 0.0;
    double top = one > two ? one : two;
    if (top < 0.0) top = 0.0;
    tried->top[i] = top;
    tried->none[i] = exp(-top), tried->one[i] = exp(one - top), tried->two[i] = exp(two - top);
    tried->likely[1 + i] = one;
    if (twice) tried->likely[1 + count + i] = two;
  }
}

static void sort_gains(const struct tried *tried, double once, double twice, double *out) {
  for (Py_ssize_t i = 0; i < tried->count; i++) {
    double share = tried->shares[i];
    double a = once * share + twice * 2 * share * (1 - share), b = twice * share * share;
    double never = 1 - a - b, likely = (never > 0.0 ? never : 0.0) * tried->none[i] + a * tried->one[i];
    if (b > 0.0) likely += b * tried->two[i];
    if (b == 1) out[i] = tried->likely[1 + tried->count + i]; /* exact, however small */
    else if (a == 1) out[i] = tried->likely[1 + i];
    else out[i] = log(likely > LEAST ? likely : LEAST) + tried->top[i];
  }
}

static void gains(const struct likelihood *model, const struct atoms *atoms, const struct sorts *sorts,
                  struct tried *tried, double *out) {
  const double *once = sorts->once.view.buf, *twice = sorts->twice.view.buf;
  for (Py_ssize_t from = 0, to; from < sorts->row.length; from = to) {
    int64_t path = read_int64(&sorts->row, from);
    bool any = false;
    for (to = from; to < sorts->row.length && read_int64(&sorts->row, to) == path; to++) any |= twice[to] > 0.0;
    path_gains(model, atoms, tried, (Py_ssize_t)path, any);
    for (Py_ssize_t i = from; i < to; i++) sort_gains(tried, once[i], twice[i], out + i * tried->count);
  }
}

/* False: an exception is set. `room` is to be freed. */
static bool try_sizes(struct tried *tried, const struct array *crossed, const struct array *shares,
                      Py_ssize_t most, double **room) {
  size_t count = (size_t)(tried->count = crossed->length), sums = 1 + 2 * count;
  double *next = *room = malloc(sizeof *next * (3 * sums + 4 * count + (size_t)most * sums));
  if (next == NULL) {
    PyErr_NoMemory();
    return false;
  }
  const double *each = crossed->view.buf;
  double **parts[] = {&tried->more, &tried->grown, &tried->likely};
  double **of_size[] = {&tried->none, &tried->one, &tried->two, &tried->top};
  for (int i = 0; i < 3; i++) *parts[i] = next, next += sums;
  for (int i = 0; i < 4; i++) *of_size[i] = next, next += count;
  tried->room = next;
  tried->shares = shares->view.buf;
  tried->more[0] = 0.0;
  for (size_t i = 0; i < count; i++) tried->more[1 + i] = each[i], tried->more[1 + count + i] = 2 * each[i];
  for (size_t i = 0; i < sums; i++) tried->grown[i] = exp(-tried->more[i]);
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
