/* split_atoms(), mix_atoms() */
#include "atoms.h"

#include <math.h>
#include <stdlib.h>

#define WAYS 3        /* a component is crossed never, once or twice */
#define NO_PART -50.0 /* ln of a part that no sum shows */

/* Atoms while the likeliest are chosen, in order. */
struct chosen {
  double weight[MOST], damage[MOST], likely[MOST];
  Py_ssize_t count, most;
};

static void choose(struct chosen *chosen, double weight, double damage, double likely) {
  Py_ssize_t at = chosen->count;
  if (at == chosen->most) {
    if (likely <= chosen->likely[at - 1]) return;
    at--;
  } else {
    chosen->count++;
  }
  for (; at > 0 && chosen->likely[at - 1] < likely; at--) {
    chosen->weight[at] = chosen->weight[at - 1];
    chosen->damage[at] = chosen->damage[at - 1];
    chosen->likely[at] = chosen->likely[at - 1];
  }
  chosen->weight[at] = weight, chosen->damage[at] = damage, chosen->likely[at] = likely;
}

static void split(const struct likelihood *model, struct atoms *atoms, Py_ssize_t path, const double *chances,
                  double added) {
  double *weight = (double *)atoms->weight.view.buf + path * atoms->most;
  double *damage = (double *)atoms->damage.view.buf + path * atoms->most;
  double more[WAYS] = {0.0, added, 2.0 * added}, grown[WAYS] = {1.0}, likely[WAYS];
  struct chosen chosen = {.most = atoms->most};
  int ways = chances[WAYS - 1] > NO_WEIGHT ? WAYS : WAYS - 1;
  grown[1] = exp(-added), grown[2] = grown[1] * grown[1];
  for (Py_ssize_t i = 0; i < atoms->most && weight[i] > NO_WEIGHT; i++) {
    log_f(model, path, damage[i], more, grown, ways, likely);
    for (int times = 0; times < ways; times++)
      if (chances[times] > NO_WEIGHT) {
        double all = weight[i] + chances[times];
        choose(&chosen, all, damage[i] + more[times], all + likely[times]);
      }
  }
  for (Py_ssize_t i = 0; i < chosen.count; i++) weight[i] = chosen.weight[i], damage[i] = chosen.damage[i];
}

void mix(const struct likelihood *model, const struct atoms *atoms, Py_ssize_t path, const double *more,
         const double *grown, Py_ssize_t count, double *room, double *out) {
  const double *weight = (const double *)atoms->weight.view.buf + path * atoms->most;
  const double *damage = (const double *)atoms->damage.view.buf + path * atoms->most;
  Py_ssize_t live = 0;
  for (; live < atoms->most && weight[live] > NO_WEIGHT; live++)
    log_f(model, path, damage[live], more, grown, count, room + live * count);
  for (Py_ssize_t i = 0; i < count; i++) {
    double top = -INFINITY, sum = 0.0;
    for (Py_ssize_t atom = 0; atom < live; atom++) {
      double likely = room[atom * count + i] += weight[atom];
      if (likely > top) top = likely;
    }
    for (Py_ssize_t atom = 0; live > 1 && atom < live; atom++) {
      double below = room[atom * count + i] - top;
      if (below > NO_PART) sum += exp(below);
    }
    out[i] = live > 1 ? log(sum) + top : top;
  }
}

void atoms_close(struct atoms *atoms, struct likelihood *model) {
  likelihood_close(model);
  array_close(&atoms->weight);
  array_close(&atoms->damage);
}

bool atoms_open(struct atoms *atoms, struct likelihood *model, PyObject *described, PyObject *weight,
                PyObject *damage, bool writable) {
  if (!likelihood_open(model, described)) return false;
  atoms->paths = model->first.length;
  if (!array_open(&atoms->weight, weight, 8, -1, writable) ||
      !array_open(&atoms->damage, damage, 8, atoms->weight.length, writable))
    return false;
  atoms->most = atoms->paths ? atoms->weight.length / atoms->paths : 1;
  if (atoms->most >= 1 && atoms->most <= MOST && atoms->weight.length == atoms->paths * atoms->most) return true;
  PyErr_SetString(PyExc_ValueError, "atoms of other paths, or too many of them");
  return false;
}

bool atoms_have(const struct atoms *atoms, const struct array *rows) {
  for (Py_ssize_t i = 0; i < rows->length; i++)
    if (read_int64(rows, i) < 0 || read_int64(rows, i) >= atoms->paths) {
      PyErr_SetString(PyExc_ValueError, "a row is out of range");
      return false;
    }
  return true;
}

PyObject *atoms_split(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *described, *weight, *damage, *of_rows, *of_chances, *of_added;
  struct likelihood model = {0};
  struct atoms atoms = {0};
  struct array rows = {0}, chances = {0}, added = {0};
  if (!PyArg_ParseTuple(args, "O!OOOOO", &PyTuple_Type, &described, &weight, &damage, &of_rows, &of_chances,
                        &of_added))
    return NULL;
  bool good = atoms_open(&atoms, &model, described, weight, damage, true) &&
              array_open(&rows, of_rows, 8, -1, false) && atoms_have(&atoms, &rows) &&
              array_open(&chances, of_chances, 8, WAYS * rows.length, false) &&
              array_open(&added, of_added, 8, rows.length, false);
  for (Py_ssize_t i = 0; good && i < rows.length; i++)
    split(&model, &atoms, (Py_ssize_t)read_int64(&rows, i), (const double *)chances.view.buf + WAYS * i,
          ((const double *)added.view.buf)[i]);
  array_close(&rows);
  array_close(&chances);
  array_close(&added);
  atoms_close(&atoms, &model);
  if (!good) return NULL;
  Py_RETURN_NONE;
}

/* False: an exception is set. */
static bool mix_all(const struct likelihood *model, const struct atoms *atoms, const struct array *rows,
                    const struct array *more, double *likely) {
  Py_ssize_t count = more->length;
  double *grown = malloc(sizeof *grown * (size_t)(count * (atoms->most + 1) + 1));
  if (grown == NULL) {
    PyErr_NoMemory();
    return false;
  }
  for (Py_ssize_t i = 0; i < count; i++) grown[i] = exp(-((const double *)more->view.buf)[i]);
  for (Py_ssize_t i = 0; i < rows->length; i++)
    mix(model, atoms, (Py_ssize_t)read_int64(rows, i), more->view.buf, grown, count, grown + count,
        likely + i * count);
  free(grown);
  return true;
}

PyObject *atoms_mix(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *described, *weight, *damage, *of_rows, *of_more, *of_likely;
  struct likelihood model = {0};
  struct atoms atoms = {0};
  struct array rows = {0}, more = {0}, likely = {0};
  if (!PyArg_ParseTuple(args, "O!OOOOO", &PyTuple_Type, &described, &weight, &damage, &of_rows, &of_more,
                        &of_likely))
    return NULL;
  bool good = atoms_open(&atoms, &model, described, weight, damage, false) &&
              array_open(&rows, of_rows, 8, -1, false) && atoms_have(&atoms, &rows) &&
              array_open(&more, of_more, 8, -1, false) &&
              array_open(&likely, of_likely, 8, rows.length * more.length, true);
  good = good && mix_all(&model, &atoms, &rows, &more, likely.view.buf);
  array_close(&rows);
  array_close(&more);
  array_close(&likely);
  atoms_close(&atoms, &model);
  if (!good) return NULL;
  Py_RETURN_NONE;
}

