#include "likelihood.h"

#include <math.h>

#define SURVIVAL (1.0 - 1e-12) /* as in loss.py */

/* A product of survivals is a sum of damages: one exponential serves many damages. */
static double of_loss(double answered, double lost, double survive, double survival) {
  return answered * survive + lost * log(1.0 - (survival < SURVIVAL ? survival : SURVIVAL));
}

static double of_latency(const double *parameters, double excess, double noise, double damage) {
  double varies = parameters[0], freedom = parameters[1], most = parameters[2];
  double relative = varies * damage / noise, off = (excess - damage) / noise;
  double spread = 1.0 + relative * relative;
  double tailed = (freedom + 1.0) * log1p(off * off / spread / freedom);
  return -0.5 * ((tailed < most ? tailed : most) + log(spread));
}

void log_f(const struct likelihood *model, Py_ssize_t path, double damage, const double *more,
           const double *grown, Py_ssize_t count, double *likely) {
  double first = ((const double *)model->first.view.buf)[path];
  double second = ((const double *)model->second.view.buf)[path];
  if (model->kind == LATENCY) {
    for (Py_ssize_t i = 0; i < count; i++)
      likely[i] = of_latency(model->parameters, first, second, damage + more[i]);
    return;
  }
  double survive = model->parameters[0] - damage, survival = exp(survive);
  for (Py_ssize_t i = 0; i < count; i++)
    likely[i] = of_loss(first, second, survive - more[i], survival * grown[i]);
}

bool likelihood_open(struct likelihood *model, PyObject *described) {
  PyObject *first, *second;
  double *parameters = model->parameters;
  if (!PyArg_ParseTuple(described, "iOOddd", &model->kind, &first, &second, &parameters[0], &parameters[1],
                        &parameters[2]))
    return false;
  if (model->kind != LOSS && model->kind != LATENCY) {
    PyErr_SetString(PyExc_ValueError, "a likelihood of no kind");
    return false;
  }
  return array_open(&model->first, first, 8, -1, false) &&
         array_open(&model->second, second, 8, model->first.length, false);
}

void likelihood_close(struct likelihood *model) {
  array_close(&model->first);
  array_close(&model->second);
}
