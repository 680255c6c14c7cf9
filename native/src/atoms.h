/* Paths as mixtures; localizer/strategies/hypothesis/atoms.py says of what. */
#ifndef ATOMS_H
#define ATOMS_H

#include "likelihood.h"

#define MOST 64           /* atoms of a path */
#define NO_WEIGHT -0.5e30 /* below: an atom that is none, a way that cannot be */

/* Atoms of the paths: logarithms of weights, and damages, (paths, most); the likeliest come first. */
struct atoms {
  struct array weight, damage;
  Py_ssize_t paths, most;
};

/* Weights and damages of the paths of a likelihood; false: an exception is set. */
bool atoms_open(struct atoms *atoms, struct likelihood *model, PyObject *described, PyObject *weight,
                PyObject *damage, bool writable);

void atoms_close(struct atoms *atoms, struct likelihood *model);

/* Whether each is a path; else an exception is set. */
bool atoms_have(const struct atoms *atoms, const struct array *rows);

/* Damages that are added to a path, and room to compute with: what mix() needs. */
struct added {
  double *more, *survival;                      /* (count,) damage, exp(-damage) */
  double *damage, *grown, *likely, *top, *sums; /* (most, count) three, (count,) two */
};

/* Doubles that follow `more`. */
#define ADDED_ROOM(count, most) ((count) * (3 * (size_t)(most) + 4))

/* From `count` damages at `room`; returns what is behind the room. */
double *added_make(struct added *added, double *room, Py_ssize_t count, Py_ssize_t most);

/* ln likelihood (count,) of a path whose damage grows by the first `count` of those added. */
void mix(const struct likelihood *model, const struct atoms *atoms, Py_ssize_t path, const struct added *added,
         Py_ssize_t count, double *out);

#endif
