/* code_texts(): the texts of a column as codes 0, 1, ... in the order in which they first come. */
#include <stdlib.h>

#include "text_columns.h"

#define LEAST_SLOTS 256

/* A text, by its code; -1: the slot is free. Texts of up to eight bytes are their tails. */
struct slot {
  uint64_t hash, tail;
  int32_t length, code;
};

struct table {
  struct slot *slots;
  size_t size; /* a power of two */
  struct text_secrets secrets;
};

/* False: an exception is set. */
static bool resize(struct table *table, size_t size) {
  struct slot *old = table->slots, *slots = malloc(size * sizeof *slots);
  if (slots == NULL) {
    PyErr_NoMemory();
    return false;
  }
  for (size_t i = 0; i < size; i++) slots[i].code = -1;
  for (size_t i = 0; i < table->size; i++) {
    if (old[i].code < 0) continue;
    size_t at = old[i].hash & (size - 1);
    while (slots[at].code >= 0) at = (at + 1) & (size - 1);
    slots[at] = old[i];
  }
  free(old);
  table->slots = slots;
  table->size = size;
  return true;
}

/* The slot of a text, or the free one where it belongs; `firsts`: the row of each code's text. */
static struct slot *find(const struct table *table, const struct column *column,
                         const int32_t *firsts, const uint8_t *text, const struct slot *wanted) {
  for (size_t at = wanted->hash & (table->size - 1);; at = (at + 1) & (table->size - 1)) {
    struct slot *slot = &table->slots[at];
    const uint8_t *known = NULL;
    if (slot->code < 0) return slot;
    if (slot->tail != wanted->tail || slot->length != wanted->length) continue;
    if (wanted->length <= 8) return slot;
    text_at(column, firsts[slot->code], &known);
    if (text_same(text, known, (size_t)wanted->length)) return slot;
  }
}

/* How many texts there are; -1: an exception is set. */
static Py_ssize_t code(struct table *table, const struct column *column, int32_t *codes,
                       int32_t *firsts, Py_ssize_t rows) {
  const uint8_t *before = NULL, *text = NULL;
  struct slot wanted = {0, 0, -1, 0};
  Py_ssize_t count = 0;
  int32_t number = 0;
  for (Py_ssize_t row = 0; row < rows; row++) {
    Py_ssize_t length = text_at(column, row, &text);
    if (length < 0) return -1;
    uint64_t tail = text_tail(text, (size_t)length);
    if (length != wanted.length || tail != wanted.tail ||
        (length > 8 && !text_same(text, before, (size_t)length))) {
      if (2 * ((size_t)count + 1) > table->size && !resize(table, 4 * table->size)) return -1;
      wanted = (struct slot){text_hash(&table->secrets, text, (size_t)length), tail, (int32_t)length,
                             (int32_t)count};
      struct slot *slot = find(table, column, firsts, text, &wanted);
      if (slot->code < 0) {
        *slot = wanted;
        firsts[count++] = (int32_t)row;
      }
      number = slot->code;
      before = text;
    }
    codes[row] = number;
  }
  return count;
}

PyObject *columns_code_texts(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *described, *out_codes, *out_firsts;
  struct array codes = {0}, firsts = {0};
  struct column column = {0};
  struct table table = {0};
  Py_ssize_t count = -1;
  if (!PyArg_ParseTuple(args, "OOO", &described, &out_codes, &out_firsts)) return NULL;
  if (array_open(&codes, out_codes, 4, -1, true) &&
      array_open(&firsts, out_firsts, 4, codes.length, true) &&
      column_open(&column, described, codes.length) && text_secrets_draw(&table.secrets) &&
      resize(&table, LEAST_SLOTS))
    count = code(&table, &column, codes.view.buf, firsts.view.buf, codes.length);
  free(table.slots);
  column_close(&column);
  array_close(&codes);
  array_close(&firsts);
  return count < 0 ? NULL : PyLong_FromSsize_t(count);
}
