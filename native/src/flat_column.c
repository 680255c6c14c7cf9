#include "flat_column.h"

#include <math.h>

#define EXACT_DIGITS 19              /* a number of so many fits 64 bits */
#define EXACT_WHOLE 9007199254740992 /* 2^53: above it a float64 is not every whole number */
#define NUMBER_MAX 64

static const double powers_of_ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,
                                       1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19};

static bool is_digit(const char *at, const char *end) { return at < end && *at >= '0' && *at <= '9'; }

static const char *digits_read(struct number *number, const char *at, const char *end) {
  for (; is_digit(at, end); at++, number->digits++)
    if (number->digits < EXACT_DIGITS) number->value = 10 * number->value + (uint64_t)(*at - '0');
  return at;
}

const char *number_read(struct number *number, const char *at, const char *end) {
  *number = (struct number){.is_whole = true};
  if (at < end && *at == '-') number->negative = true, at++;
  if (!is_digit(at, end) || (*at == '0' && is_digit(at + 1, end))) return NULL;
  at = digits_read(number, at, end);
  if (at < end && *at == '.') {
    if (!is_digit(++at, end)) return NULL;
    int before = number->digits;
    at = digits_read(number, at, end);
    number->decimals = number->digits - before;
    number->is_whole = false;
  }
  if (at < end && (*at == 'e' || *at == 'E')) {
    at++;
    if (at < end && (*at == '+' || *at == '-')) at++;
    if (!is_digit(at, end)) return NULL;
    while (is_digit(at, end)) at++;
    number->is_whole = false;
    number->has_exponent = true;
  }
  return at;
}

/* Both a whole number below 2^53 and a power of ten up to 22 are exact, so their quotient is rounded
   once (Clinger, How to read floating point numbers accurately, 1990). */
static bool as_double(const struct number *number, const char *begin, const char *end, double *value) {
  bool is_exact = number->digits <= EXACT_DIGITS && number->value <= EXACT_WHOLE && !number->has_exponent;
  if (is_exact) {
    *value = (double)number->value / powers_of_ten[number->decimals];
    if (number->negative) *value = -*value;
    return true;
  }
  if (number->is_whole || end - begin >= NUMBER_MAX) return false;
  char text[NUMBER_MAX];
  memcpy(text, begin, (size_t)(end - begin));
  text[end - begin] = '\0';
  *value = PyOS_string_to_double(text, NULL, NULL);
  if (PyErr_Occurred()) PyErr_Clear(); /* the reader of single rows says it */
  else return isfinite(*value);
  return false;
}

/* Room for the first value of a column; false: no memory. */
static bool open_column(struct column *column) {
  if (column->valid != NULL) return true;
  size_t rows = (size_t)column->room, width = column->type == 'i' ? 4 : 8;
  column->valid = calloc(rows / 8 + 1, 1);
  if (column->type == 's') column->offsets = malloc((rows + 1) * sizeof *column->offsets);
  else column->numbers = calloc(rows + 1, width);
  return column->valid != NULL && (column->offsets != NULL || column->numbers != NULL);
}

static void set_valid(struct column *column, Py_ssize_t row) {
  column->valid[row / 8] |= (uint8_t)(1u << row % 8);
  column->valid_count++;
}

/* Rows without a text up to `row` begin where the texts end. */
static void fill_offsets(struct column *column, Py_ssize_t row) {
  while (column->filled <= row) column->offsets[column->filled++] = (int32_t)column->texts_length;
}

static bool reserve_text(struct column *column, size_t more) {
  size_t wanted = column->texts_length + more;
  if (column->texts != NULL && wanted <= column->texts_room) return true;
  if (wanted > INT32_MAX) return false;
  size_t room = wanted < 4096 ? 4096 : 2 * wanted;
  char *texts = realloc(column->texts, room);
  if (texts == NULL) return false;
  column->texts = texts;
  column->texts_room = room;
  return true;
}

bool column_add_text(struct column *column, Py_ssize_t row, const char *begin, const char *end,
                     struct text_parts parts) {
  if (!open_column(column) || !reserve_text(column, (size_t)(end - begin))) return false;
  fill_offsets(column, row);
  size_t length = (size_t)(end - begin);
  char *to = column->texts + column->texts_length;
  if (parts.escapes) length = (size_t)(text_unescape(to, begin, end) - to);
  else memcpy(to, begin, length);
  column->newest = column->texts_length;
  column->newest_length = parts.escapes || parts.brackets ? 0 : (Py_ssize_t)length;
  column->texts_length += length;
  set_valid(column, row);
  return true;
}

bool column_add_number(struct column *column, Py_ssize_t row, const struct number *number, const char *begin,
                       const char *end) {
  bool is_minus_zero = number->is_whole && number->negative && number->value == 0;
  if (is_minus_zero || !open_column(column)) return false;
  if (column->type == 'd') {
    double value;
    if (!as_double(number, begin, end, &value)) return false;
    memcpy(column->numbers + sizeof value * (size_t)row, &value, sizeof value);
  } else {
    if (!number->is_whole || number->digits > EXACT_DIGITS || number->value > INT64_MAX) return false;
    int64_t value = number->negative ? -(int64_t)number->value : (int64_t)number->value;
    int32_t small = (int32_t)value;
    if (column->type == 'q') memcpy(column->numbers + sizeof value * (size_t)row, &value, sizeof value);
    else if (small != value) return false;
    else memcpy(column->numbers + sizeof small * (size_t)row, &small, sizeof small);
  }
  set_valid(column, row);
  return true;
}

void column_cut(struct column *column, Py_ssize_t row) {
  if (column->valid != NULL) {
    for (Py_ssize_t at = row; at <= column->last; at++) {
      column->valid_count -= column->valid[at / 8] >> at % 8 & 1;
      column->valid[at / 8] &= (uint8_t)~(1u << at % 8);
    }
    if (column->filled > row) {
      column->texts_length = (size_t)column->offsets[row];
      column->filled = row;
    }
  }
  column->last = -1;
  column->newest_length = 0;
}

PyObject *column_take(struct column *column, int index, Py_ssize_t rows) {
  bool whole = column->valid_count == rows;
  Py_ssize_t width = column->type == 'i' ? 4 : 8;
  if (column->type != 's')
    return Py_BuildValue("iy#y#O", index, whole ? NULL : (char *)column->valid, (rows + 7) / 8,
                         (char *)column->numbers, width * rows, Py_None);
  fill_offsets(column, rows);
  return Py_BuildValue("iy#y#y#", index, whole ? NULL : (char *)column->valid, (rows + 7) / 8,
                       (char *)column->offsets, (Py_ssize_t)sizeof *column->offsets * (rows + 1),
                       column->texts != NULL ? column->texts : "", (Py_ssize_t)column->texts_length);
}

void column_free(struct column *column) {
  free(column->valid);
  free(column->numbers);
  free(column->offsets);
  free(column->texts);
}
