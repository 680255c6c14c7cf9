/* How likely what was measured of a path is, given what culprits do to it. */
#ifndef LIKELIHOOD_H
#define LIKELIHOOD_H

#include "arrays.h"

enum { LOSS, LATENCY };

/* How likely the measurements of each path are. LOSS: what was answered and lost, and the logarithm of a healthy
   round trip's survival. LATENCY: excess and noise [us], and the parameters of latency.py. */
struct likelihood {
  int kind;
  struct array first, second;
  double parameters[3];
};

/* From (kind, first, second, parameter, parameter, parameter); false: an exception is set. */
bool likelihood_open(struct likelihood *model, PyObject *described);

void likelihood_close(struct likelihood *model);

/* exp(-damage), (count,). */
void survivals(const double *damage, Py_ssize_t count, double *survival);

/* ln likelihood (count,) of a path, were its damage so; `survival`: exp(-damage), of which LOSS takes the
   logarithm of what is left. */
void log_f(const struct likelihood *model, Py_ssize_t path, const double *damage, const double *survival,
           Py_ssize_t count, double *likely);

#endif
