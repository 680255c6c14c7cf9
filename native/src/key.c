/* Key(secret, second=None): HMAC's hash states, which cannot be read from Python. */
#include "module.h"

static bool add(struct mac_keys *keys, PyObject *secret) {
  char *bytes;
  Py_ssize_t length;
  if (PyBytes_AsStringAndSize(secret, &bytes, &length) < 0) return false;
  mac_key_make(&keys->key[keys->count++], (const uint8_t *)bytes, (size_t)length);
  return true;
}

static PyObject *key_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  PyObject *secret, *second = Py_None;
  if (keywords != NULL && PyDict_Size(keywords) > 0) {
    PyErr_SetString(PyExc_TypeError, "no keyword arguments");
    return NULL;
  }
  if (!PyArg_ParseTuple(args, "O|O", &secret, &second)) return NULL;
  KeyObject *self = (KeyObject *)PyType_GenericAlloc(type, 0);
  if (self == NULL) return NULL;
  if (!add(&self->keys, secret) || (second != Py_None && !add(&self->keys, second))) {
    Py_DECREF((PyObject *)self);
    return NULL;
  }
  return (PyObject *)self;
}

static PyObject *key_replace(PyObject *self, PyObject *newer) {
  if (!Py_IS_TYPE(newer, key_type)) {
    PyErr_SetString(PyExc_TypeError, "not a Key");
    return NULL;
  }
  ((KeyObject *)self)->keys = ((KeyObject *)newer)->keys;
  Py_RETURN_NONE;
}

static void key_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  volatile uint8_t *secret = (volatile uint8_t *)&((KeyObject *)self)->keys;
  for (size_t i = 0; i < sizeof(struct mac_keys); i++) secret[i] = 0;
  PyObject_Free(self);
  Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"replace", key_replace, METH_O, "Become a copy of another key."},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot slots[] = {
    {Py_tp_new, key_new}, {Py_tp_dealloc, key_dealloc}, {Py_tp_methods, methods}, {0, NULL}};
PyType_Spec key_spec = {"skeletonhunter_native.Key", sizeof(KeyObject), 0, Py_TPFLAGS_DEFAULT,
                        slots};
