#include "flat_text.h"

#include <string.h>

enum { PLAIN, BRACKET, OTHER };

/* What a byte is within a text. */
static const uint8_t kind_of[256] = {
    [0 ... 31] = OTHER, ['"'] = OTHER, ['\\'] = OTHER, ['['] = BRACKET, ['{'] = BRACKET,
    [128 ... 255] = OTHER,
};

static bool is_rest(const char *at, const char *end, int count) {
  if (end - at < count) return false;
  for (; count > 0; count--, at++)
    if (((uint8_t)*at & 0xC0) != 0x80) return false;
  return true;
}

/* Bytes of the character of UTF-8 that begins at `at` with a byte above 127; 0: it is none. */
static int utf8_length(const char *at, const char *end) {
  uint8_t first = (uint8_t)at[0], second = end - at > 1 ? (uint8_t)at[1] : 0;
  if (first >= 0xC2 && first < 0xE0) return is_rest(at + 1, end, 1) ? 2 : 0;
  if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second >= 0xA0)) return 0;
  if (first >= 0xE0 && first < 0xF0) return is_rest(at + 1, end, 2) ? 3 : 0;
  if ((first == 0xF0 && second < 0x90) || (first == 0xF4 && second >= 0x90)) return 0;
  if (first >= 0xF0 && first < 0xF5) return is_rest(at + 1, end, 3) ? 4 : 0;
  return 0;
}

/* The value of four hexadecimal digits; -1: there are none. */
static int code_unit(const char *at, const char *end) {
  int value = 0;
  if (end - at < 4) return -1;
  for (const char *stop = at + 4; at < stop; at++) {
    int lower = *at | 0x20;
    if (*at >= '0' && *at <= '9') value = 16 * value + *at - '0';
    else if (lower >= 'a' && lower <= 'f') value = 16 * value + lower - 'a' + 10;
    else return -1;
  }
  return value;
}

/* Bytes of the escape that begins at a backslash; 0: it is none, or one of a pair of surrogates. */
static int escape_length(const char *at, const char *end) {
  if (end - at < 2 || at[1] == '\0') return 0;
  if (at[1] != 'u') return strchr("\"\\/bfnrt", at[1]) != NULL ? 2 : 0;
  int unit = code_unit(at + 2, end);
  return unit < 0 || (unit >= 0xD800 && unit < 0xE000) ? 0 : 6;
}

const char *text_end(const char *at, const char *end, struct text_parts *parts) {
  *parts = (struct text_parts){0};
  for (;;) {
    while (at < end && kind_of[(uint8_t)*at] == PLAIN) at++;
    if (at == end || *at == '"') return at == end ? NULL : at;
    int length = 1;
    if (kind_of[(uint8_t)*at] == BRACKET) {
      parts->brackets++;
    } else if (*at == '\\') {
      length = escape_length(at, end);
      parts->escapes = true;
    } else {
      length = utf8_length(at, end);
    }
    if (length == 0) return NULL;
    at += length;
  }
}

static char *write_utf8(char *to, int unit) {
  if (unit < 0x80) {
    *to++ = (char)unit;
  } else if (unit < 0x800) {
    *to++ = (char)(0xC0 | unit >> 6);
    *to++ = (char)(0x80 | (unit & 0x3F));
  } else {
    *to++ = (char)(0xE0 | unit >> 12);
    *to++ = (char)(0x80 | (unit >> 6 & 0x3F));
    *to++ = (char)(0x80 | (unit & 0x3F));
  }
  return to;
}

static char unescaped(char escape) {
  switch (escape) {
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
  }
  return escape;
}

char *text_unescape(char *to, const char *at, const char *end) {
  while (at < end) {
    if (*at != '\\') {
      *to++ = *at++;
    } else if (at[1] == 'u') {
      to = write_utf8(to, code_unit(at + 2, end));
      at += 6;
    } else {
      *to++ = unescaped(at[1]);
      at += 2;
    }
  }
  return to;
}
