/* KeyCodes: keys of 64 bits -> codes 0, 1, ... in order of arrival, for whole arrays. */
#include <stdlib.h>
#include <sys/random.h>

#include "arrays.h"

#define LEAST_SLOTS 64
#define CODES_MAX (UINT32_MAX - 1)

/* `number`: 0: free, else the key's code + 1. Without a gap, because there are many. */
struct __attribute__((packed)) slot {
  uint64_t key;
  uint32_t number;
};

typedef struct {
  PyObject_HEAD
  struct slot *slots;
  size_t size, count; /* slots, a power of two; keys */
  uint64_t secret;    /* where a key lies cannot be predicted from outside */
} KeyCodesObject;

static size_t place_of(const KeyCodesObject *self, uint64_t key) {
  uint64_t h = key ^ self->secret;
  h = (h ^ h >> 30) * 0xBF58476D1CE4E5B9u;
  h = (h ^ h >> 27) * 0x94D049BB133111EBu;
  return (size_t)(h ^ h >> 31) & (self->size - 1);
}

/* The slot of a key, or the free one where it belongs. */
static struct slot *find_slot(const KeyCodesObject *self, uint64_t key) {
  for (size_t at = place_of(self, key);; at = (at + 1) & (self->size - 1))
    if (self->slots[at].number == 0 || self->slots[at].key == key) return &self->slots[at];
}

/* Room for `count` keys, with the codes that `codes` has for the old ones; NULL: they stay. */
static bool rebuild(KeyCodesObject *self, size_t count, const uint32_t *codes) {
  size_t size = LEAST_SLOTS, had = self->size;
  while (3 * size < 4 * count + 4) size *= 2;
  struct slot *old = self->slots, *slots = calloc(size, sizeof *slots);
  if (slots == NULL) {
    PyErr_NoMemory();
    return false;
  }
  self->slots = slots;
  self->size = size;
  for (size_t i = 0; i < had; i++) {
    uint32_t number = old[i].number;
    if (number && codes != NULL) number = codes[number - 1];
    if (number) *find_slot(self, old[i].key) = (struct slot){old[i].key, number};
  }
  free(old);
  return true;
}

static PyObject *new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  (void)args, (void)keywords;
  KeyCodesObject *self = (KeyCodesObject *)PyType_GenericAlloc(type, 0);
  if (self == NULL) return NULL;
  bool good = getrandom(&self->secret, sizeof self->secret, 0) == sizeof self->secret;
  if (!good) PyErr_SetFromErrno(PyExc_OSError);
  if (good && rebuild(self, 0, NULL)) return (PyObject *)self;
  Py_DECREF((PyObject *)self);
  return NULL;
}

static void dealloc(PyObject *object) {
  PyTypeObject *type = Py_TYPE(object);
  free(((KeyCodesObject *)object)->slots);
  PyObject_Free(object);
  Py_DECREF(type);
}

static Py_ssize_t length(PyObject *object) { return (Py_ssize_t)((KeyCodesObject *)object)->count; }

static PyObject *find(PyObject *object, PyObject *args) {
  KeyCodesObject *self = (KeyCodesObject *)object;
  PyObject *wanted, *out;
  struct array keys = {0}, codes = {0};
  if (!PyArg_ParseTuple(args, "OO", &wanted, &out)) return NULL;
  bool good = array_open(&keys, wanted, 8, -1, false) &&
              array_open(&codes, out, 8, keys.length, true);
  for (Py_ssize_t i = 0; good && i < keys.length; i++)
    ((int64_t *)codes.view.buf)[i] = (int64_t)find_slot(self, (uint64_t)read_int64(&keys, i))->number - 1;
  array_close(&keys);
  array_close(&codes);
  if (!good) return NULL;
  Py_RETURN_NONE;
}

/* Codes of keys, new ones added; `first`: where each new one is first. Returns the number of new
   ones, -1: an exception is set. */
static Py_ssize_t number_keys(KeyCodesObject *self, const struct array *keys, int64_t *codes,
                              int64_t *first) {
  Py_ssize_t added = 0;
  for (Py_ssize_t i = 0; i < keys->length; i++) {
    uint64_t key = (uint64_t)read_int64(keys, i);
    struct slot *slot = find_slot(self, key);
    if (slot->number == 0) {
      if (self->count >= CODES_MAX) {
        PyErr_SetString(PyExc_OverflowError, "too many keys");
        return -1;
      }
      if (4 * (self->count + 1) > 3 * self->size) {
        if (!rebuild(self, 2 * self->count, NULL)) return -1;
        slot = find_slot(self, key);
      }
      *slot = (struct slot){key, (uint32_t)++self->count};
      first[added++] = i;
    }
    codes[i] = (int64_t)slot->number - 1;
  }
  return added;
}

static PyObject *code(PyObject *object, PyObject *args) {
  PyObject *wanted, *out, *out_first;
  struct array keys = {0}, codes = {0}, first = {0};
  Py_ssize_t added = -1;
  if (!PyArg_ParseTuple(args, "OOO", &wanted, &out, &out_first)) return NULL;
  if (array_open(&keys, wanted, 8, -1, false) && array_open(&codes, out, 8, keys.length, true) &&
      array_open(&first, out_first, 8, keys.length, true))
    added = number_keys((KeyCodesObject *)object, &keys, codes.view.buf, first.view.buf);
  array_close(&keys);
  array_close(&codes);
  array_close(&first);
  return added < 0 ? NULL : PyLong_FromSsize_t(added);
}

static PyObject *retain(PyObject *object, PyObject *mask) {
  KeyCodesObject *self = (KeyCodesObject *)object;
  struct array kept = {0};
  if (!array_open(&kept, mask, 1, (Py_ssize_t)self->count, false)) return NULL;
  uint32_t *codes = malloc((self->count + 1) * sizeof *codes), count = 0;
  for (size_t i = 0; codes != NULL && i < self->count; i++)
    codes[i] = ((const uint8_t *)kept.view.buf)[i] ? ++count : 0;
  array_close(&kept);
  if (codes == NULL) return PyErr_NoMemory();
  bool good = rebuild(self, count, codes);
  if (good) self->count = count;
  free(codes);
  if (!good) return NULL;
  Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"find", find, METH_VARARGS, "find(keys, codes): write the codes, -1 for unknown keys."},
    {"code", code, METH_VARARGS,
     "code(keys, codes, first): the same, unknown keys added; how many, and where each is first."},
    {"retain", retain, METH_O, "retain(mask): drop the other codes; the rest close the gaps."},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot slots[] = {{Py_tp_new, new},
                              {Py_tp_dealloc, dealloc},
                              {Py_tp_methods, methods},
                              {Py_sq_length, length},
                              {0, NULL}};
PyType_Spec key_codes_spec = {"skeletonhunter_native.KeyCodes", sizeof(KeyCodesObject), 0,
                              Py_TPFLAGS_DEFAULT, slots};
