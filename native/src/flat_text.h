/* Texts of JSON, UTF-8. */
#ifndef FLAT_TEXT_H
#define FLAT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a text holds besides plain bytes. */
struct text_parts {
  ptrdiff_t brackets;
  bool escapes;
};

/* The closing quotation mark of a text that begins at `at`, behind the opening one; NULL: it has none,
   is not UTF-8, or has control characters or escapes that are none or one half of a surrogate pair. */
const char *text_end(const char *at, const char *end, struct text_parts *parts);

/* Write a text without its escapes; returns the end of what is written, not more than was read. */
char *text_unescape(char *to, const char *at, const char *end);

#endif
