/* A column that grows row by row, and numbers of JSON. */
#ifndef FLAT_COLUMN_H
#define FLAT_COLUMN_H

#include <stdlib.h>
#include <string.h>

#include "flat_text.h"
#include "module.h"

/* A column in the layout of Arrow.

   type         s texts, d float64, q int64, i int32, x none
   room         rows that it may have; nothing is allocated before its first value
   last         the newest row in which its name was read; -1: none
   valid_count  values that are not null
   filled       texts only: rows of which `offsets` has the begin
   newest       texts only: where the newest text without brackets and escapes begins; its length, 0:
                there is none */
struct column {
  char type;
  Py_ssize_t room, last, valid_count, filled;
  uint8_t *valid;
  uint8_t *numbers;
  int32_t *offsets;
  char *texts;
  size_t texts_length, texts_room, newest;
  Py_ssize_t newest_length;
};

/* A number as it is written.

   digits       of it without sign and point; the first 19 at most are in `value`
   decimals     how many of them are behind the point
   is_whole     neither point nor exponent */
struct number {
  uint64_t value;
  int digits, decimals;
  bool negative, is_whole, has_exponent;
};

/* Read a number of JSON; its end, NULL: there is none. */
const char *number_read(struct number *number, const char *at, const char *end);

/* Whether any reader of JSON takes it. */
static inline bool number_is_small(const struct number *number) {
  return number->digits < 19 && !number->has_exponent;
}

/* A name was read in a row; false: the second time. */
static inline bool column_begin(struct column *column, Py_ssize_t row) {
  bool first = column->last != row;
  column->last = row;
  return first;
}

/* False: no memory, or more bytes than offsets reach. */
bool column_add_text(struct column *column, Py_ssize_t row, const char *begin, const char *end,
                     struct text_parts parts);

/* False: the number is not exactly one of the column's type, or there is no memory. */
bool column_add_number(struct column *column, Py_ssize_t row, const struct number *number, const char *begin,
                       const char *end);

/* Forget the rows from `row` on. */
void column_cut(struct column *column, Py_ssize_t row);

/* (index, bitmap or None, numbers or offsets, texts or None); NULL: an exception is set. */
PyObject *column_take(struct column *column, int index, Py_ssize_t rows);

void column_free(struct column *column);

#endif
