/* TextIds: numbers of texts, looked up for whole columns and folded into ids of rows. */
#include <stdlib.h>

#include "text_columns.h"

#define NEIGHBOURS_MAX 64 /* beyond them a text counts as unknown: nobody can make a look-up slow */
#define LEAST_SLOTS 1024
#define COLUMNS_MAX 4

/* A text and its number; `length` is -1 where there is none. */
struct slot {
  uint64_t hash, number, at;
  int32_t length;
};

typedef struct {
  PyObject_HEAD
  struct slot *slots;
  uint8_t *texts;
  size_t size, count, used, capacity; /* slots, texts; bytes of texts and room for them */
  struct text_secrets secrets;
} TextIdsObject;

/* Columns of one field: of each row the first text counts that is neither null nor empty. */
struct field {
  struct column columns[COLUMNS_MAX];
  Py_ssize_t count;
};

/* The slot of a text, or the free one that it may have; NULL: neither is near. */
static struct slot *find(const TextIdsObject *self, const uint8_t *text, size_t length,
                         uint64_t hash) {
  for (size_t i = 0; i < NEIGHBOURS_MAX; i++) {
    struct slot *slot = &self->slots[(hash + i) & (self->size - 1)];
    if (slot->length < 0) return slot;
    if (slot->hash == hash && (size_t)slot->length == length &&
        text_same(self->texts + slot->at, text, length))
      return slot;
  }
  return NULL;
}

static bool resize(TextIdsObject *self, size_t size) {
  struct slot *old = self->slots, *slots = malloc(size * sizeof *slots);
  size_t had = self->size;
  if (slots == NULL) {
    PyErr_NoMemory();
    return false;
  }
  for (size_t i = 0; i < size; i++) slots[i].length = -1;
  self->slots = slots;
  self->size = size;
  self->count = 0;
  for (size_t i = 0; i < had; i++) {
    if (old[i].length < 0) continue;
    struct slot *slot = find(self, self->texts + old[i].at, (size_t)old[i].length, old[i].hash);
    if (slot == NULL) continue; /* it is forgotten, and can be added again */
    *slot = old[i];
    self->count++;
  }
  free(old);
  return true;
}

static PyObject *clear(PyObject *object, PyObject *none) {
  (void)none;
  TextIdsObject *self = (TextIdsObject *)object;
  free(self->slots);
  free(self->texts);
  self->slots = NULL;
  self->texts = NULL;
  self->size = self->count = self->used = self->capacity = 0;
  if (!resize(self, LEAST_SLOTS)) return NULL;
  Py_RETURN_NONE;
}

static PyObject *new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  (void)args, (void)keywords;
  TextIdsObject *self = (TextIdsObject *)PyType_GenericAlloc(type, 0);
  if (self == NULL) return NULL;
  PyObject *done = text_secrets_draw(&self->secrets) ? clear((PyObject *)self, NULL) : NULL;
  if (done == NULL) {
    Py_DECREF((PyObject *)self);
    return NULL;
  }
  Py_DECREF(done);
  return (PyObject *)self;
}

static void dealloc(PyObject *object) {
  PyTypeObject *type = Py_TYPE(object);
  free(((TextIdsObject *)object)->slots);
  free(((TextIdsObject *)object)->texts);
  PyObject_Free(object);
  Py_DECREF(type);
}

static bool keep_text(TextIdsObject *self, const char *text, size_t length) {
  if (self->capacity - self->used < length) {
    size_t capacity = 2 * (self->used + length) + 4096;
    uint8_t *texts = realloc(self->texts, capacity);
    if (texts == NULL) return false;
    self->texts = texts;
    self->capacity = capacity;
  }
  if (length) memcpy(self->texts + self->used, text, length);
  self->used += length;
  return true;
}

static PyObject *add(PyObject *object, PyObject *args) {
  TextIdsObject *self = (TextIdsObject *)object;
  const char *text;
  Py_ssize_t length;
  unsigned long long number;
  if (!PyArg_ParseTuple(args, "y#K", &text, &length, &number)) return NULL;
  if (length > INT32_MAX) {
    PyErr_SetString(PyExc_OverflowError, "the text is too long");
    return NULL;
  }
  if (2 * (self->count + 1) > self->size && !resize(self, 2 * self->size)) return NULL;
  uint64_t hash = text_hash(&self->secrets, (const uint8_t *)text, (size_t)length);
  struct slot *slot = find(self, (const uint8_t *)text, (size_t)length, hash);
  if (slot != NULL && slot->length < 0) {
    size_t at = self->used;
    if (!keep_text(self, text, (size_t)length)) return PyErr_NoMemory();
    *slot = (struct slot){hash, number, at, (int32_t)length};
    self->count++;
  }
  Py_RETURN_NONE;
}

static PyObject *usage(PyObject *object, PyObject *none) {
  (void)none;
  TextIdsObject *self = (TextIdsObject *)object;
  return Py_BuildValue("nn", (Py_ssize_t)self->count, (Py_ssize_t)self->used);
}

/* Finaliser of splitmix64. */
static uint64_t mix(uint64_t h) {
  h = (h ^ h >> 30) * 0xBF58476D1CE4E5B9u;
  h = (h ^ h >> 27) * 0x94D049BB133111EBu;
  return h ^ h >> 31;
}

static bool field_open(struct field *field, PyObject *described, Py_ssize_t rows) {
  if (!PyList_Check(described) || PyList_Size(described) > COLUMNS_MAX) {
    PyErr_SetString(PyExc_TypeError, "a field is a list of few columns");
    return false;
  }
  for (Py_ssize_t i = 0; i < PyList_Size(described); i++, field->count++)
    if (!column_open(&field->columns[i], PyList_GetItem(described, i), rows)) return false;
  return true;
}

static void field_close(struct field *field) {
  for (Py_ssize_t i = 0; i < COLUMNS_MAX; i++) column_close(&field->columns[i]);
}

/* Fold a field's numbers into `ids`, and append the texts that are unknown to `unknown`. */
static bool fold_field(const TextIdsObject *self, const struct field *field, uint64_t *ids,
                       Py_ssize_t rows, PyObject *unknown) {
  static const uint8_t none[1];
  const uint8_t *before = NULL, *text = none;
  Py_ssize_t length_before = 0, length = 0;
  uint64_t number = 0;
  for (Py_ssize_t row = 0; row < rows; row++) {
    length = 0;
    for (Py_ssize_t i = 0; length == 0 && i < field->count; i++)
      if ((length = text_at(&field->columns[i], row, &text)) < 0) return false;
    if (before == NULL || length != length_before || !text_same(text, before, (size_t)length)) {
      struct slot *slot = find(self, text, (size_t)length, text_hash(&self->secrets, text, (size_t)length));
      if (slot == NULL || slot->length < 0) {
        PyObject *bytes = PyBytes_FromStringAndSize((const char *)text, length);
        int failed = bytes == NULL ? -1 : PyList_Append(unknown, bytes);
        Py_XDECREF(bytes);
        if (failed) return false;
      } else {
        number = slot->number;
      }
      before = text;
      length_before = length;
    }
    ids[row] = mix(ids[row] ^ number);
  }
  return true;
}

static PyObject *fold(PyObject *object, PyObject *args) {
  PyObject *out, *fields, *unknown = NULL;
  struct array ids = {0};
  if (!PyArg_ParseTuple(args, "OO!", &out, &PyList_Type, &fields) ||
      !array_open(&ids, out, 8, -1, true))
    return NULL;
  bool good = (unknown = PyList_New(0)) != NULL;
  for (Py_ssize_t i = 0; good && i < PyList_Size(fields); i++) {
    struct field field = {0};
    good = field_open(&field, PyList_GetItem(fields, i), ids.length) &&
           fold_field((TextIdsObject *)object, &field, ids.view.buf, ids.length, unknown);
    field_close(&field);
  }
  array_close(&ids);
  if (!good) {
    Py_XDECREF(unknown);
    return NULL;
  }
  return unknown;
}

static PyMethodDef methods[] = {
    {"add", add, METH_VARARGS, "add(text, number): know a text, unless too many are alike."},
    {"clear", clear, METH_NOARGS, "Forget all texts."},
    {"usage", usage, METH_NOARGS, "Known texts, and their bytes."},
    {"fold", fold, METH_VARARGS,
     "fold(ids, fields): fold texts into ids; returns those that are unknown: ids is of no use then."},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot slots[] = {
    {Py_tp_new, new}, {Py_tp_dealloc, dealloc}, {Py_tp_methods, methods}, {0, NULL}};
PyType_Spec text_ids_spec = {"skeletonhunter_native.TextIds", sizeof(TextIdsObject), 0,
                             Py_TPFLAGS_DEFAULT, slots};
