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

/* ln likelihood (count,) of a path whose damage grows by `more`; `grown`: exp(-more); `room`: (most, count). */
void mix(const struct likelihood *model, const struct atoms *atoms, Py_ssize_t path, const double *more,
         const double *grown, Py_ssize_t count, double *room, double *out);

#endif
