/* split_atoms(), mix_atoms() */
#include <stdlib.h>

#include "atoms.h"
#include "vectors.h"

#define WAYS 3 /* a component is crossed never, once or twice */

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
  double heavy[WAYS * MOST], damaged[WAYS * MOST], survival[WAYS * MOST], likely[WAYS * MOST];
  struct chosen chosen = {.most = atoms->most};
  Py_ssize_t count = 0;
  for (int times = 0; times < WAYS; times++)
    for (Py_ssize_t i = 0; chances[times] > NO_WEIGHT && i < atoms->most && weight[i] > NO_WEIGHT; i++, count++) {
      heavy[count] = weight[i] + chances[times];
      damaged[count] = damage[i] + times * added;
    }
  if (model->kind == LOSS) survivals(damaged, count, survival);
  log_f(model, path, damaged, survival, count, likely);
  for (Py_ssize_t i = 0; i < count; i++) choose(&chosen, heavy[i], damaged[i], heavy[i] + likely[i]);
  for (Py_ssize_t i = 0; i < chosen.count; i++) weight[i] = chosen.weight[i], damage[i] = chosen.damage[i];
}

double *added_make(struct added *added, double *room, Py_ssize_t count, Py_ssize_t most) {
  added->more = room, added->survival = room += count;
  added->top = room += count, added->sums = room += count;
  added->damage = room += count, added->grown = room += most * count, added->likely = room += most * count;
  survivals(added->more, count, added->survival);
  return room + most * count;
}

/* ln of the sum over `live` atoms of exp(likely), (live, count); top and sums: room for `count`. */
VECTORS static void log_sums(const double *likely, Py_ssize_t live, Py_ssize_t count, double *top, double *sums,
                             double *out) {
  for (Py_ssize_t i = 0; i < count; i++) top[i] = likely[i], sums[i] = 0.0;
  for (Py_ssize_t atom = 1; atom < live; atom++)
    for (Py_ssize_t i = 0; i < count; i++)
      top[i] = likely[atom * count + i] > top[i] ? likely[atom * count + i] : top[i];
  for (Py_ssize_t atom = 0; atom < live; atom++)
    for (Py_ssize_t i = 0; i < count; i++) sums[i] += exp(likely[atom * count + i] - top[i]);
  for (Py_ssize_t i = 0; i < count; i++) out[i] = log(sums[i]) + top[i];
}

void mix(const struct likelihood *model, const struct atoms *atoms, Py_ssize_t path, const struct added *added,
         Py_ssize_t count, double *out) {
  const double *weight = (const double *)atoms->weight.view.buf + path * atoms->most;
  const double *damage = (const double *)atoms->damage.view.buf + path * atoms->most;
  double survival[MOST];
  Py_ssize_t live = 0;
  while (live < atoms->most && weight[live] > NO_WEIGHT) live++;
  survivals(damage, live, survival);
  for (Py_ssize_t atom = 0; atom < live; atom++)
    for (Py_ssize_t i = 0; i < count; i++) {
      added->damage[atom * count + i] = damage[atom] + added->more[i];
      added->grown[atom * count + i] = survival[atom] * added->survival[i];
    }
  log_f(model, path, added->damage, added->grown, live * count, added->likely);
  for (Py_ssize_t atom = 0; atom < live; atom++)
    for (Py_ssize_t i = 0; i < count; i++) added->likely[atom * count + i] += weight[atom];
  if (live > 1) log_sums(added->likely, live, count, added->top, added->sums, out);
  else memcpy(out, added->likely, sizeof *out * (size_t)count);
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
  struct added added;
  double *room = malloc(sizeof *room * ((size_t)count + ADDED_ROOM((size_t)count, atoms->most) + 1));
  if (room == NULL) {
    PyErr_NoMemory();
    return false;
  }
  memcpy(room, more->view.buf, sizeof *room * (size_t)count);
  added_make(&added, room, count, atoms->most);
  for (Py_ssize_t i = 0; i < rows->length; i++)
    mix(model, atoms, (Py_ssize_t)read_int64(rows, i), &added, count, likely + i * count);
  free(room);
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

