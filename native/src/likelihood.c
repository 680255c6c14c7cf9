/* log_f(): as the log_f of loss.py and of latency.py. */
#include "likelihood.h"

#include "vectors.h"

#define SURVIVAL (1.0 - 1e-12) /* as in loss.py */

VECTORS static void of_loss(double answered, double lost, double healthy, const double *damage,
                            const double *survival, Py_ssize_t count, double *likely) {
  double left = exp(healthy);
  for (Py_ssize_t i = 0; i < count; i++) {
    double survive = left * survival[i];
    likely[i] = answered * (healthy - damage[i]) + lost * log(1.0 - (survive < SURVIVAL ? survive : SURVIVAL));
  }
}

VECTORS static void of_latency(const double *parameters, double excess, double noise, const double *damage,
                               Py_ssize_t count, double *likely) {
  double varies = parameters[0], freedom = parameters[1], most = parameters[2];
  for (Py_ssize_t i = 0; i < count; i++) {
    double relative = varies * damage[i] / noise, off = (excess - damage[i]) / noise;
    double spread = 1.0 + relative * relative;
    double tailed = (freedom + 1.0) * log1p(off * off / spread / freedom);
    likely[i] = -0.5 * ((tailed < most ? tailed : most) + log(spread));
  }
}

VECTORS void survivals(const double *damage, Py_ssize_t count, double *survival) {
  for (Py_ssize_t i = 0; i < count; i++) survival[i] = exp(-damage[i]);
}

void log_f(const struct likelihood *model, Py_ssize_t path, const double *damage, const double *survival,
           Py_ssize_t count, double *likely) {
  double first = ((const double *)model->first.view.buf)[path];
  double second = ((const double *)model->second.view.buf)[path];
  if (model->kind == LATENCY) of_latency(model->parameters, first, second, damage, count, likely);
  else of_loss(first, second, model->parameters[0], damage, survival, count, likely);
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
