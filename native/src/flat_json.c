/* flat_json(): columns of messages of one flat JSON object per line, as nearly all producers write
   them. A message of any other form is left to the reader of single rows, which says what is wrong:
   nested values, surrogates, a name twice in a row, a value of another type than its column. See
   skeletonhunter_native.pyi. */
#include "flat_column.h"
#include "flat_text.h"

#define COLUMNS_MAX 64

struct name {
  const char *text;
  Py_ssize_t length;
};

struct reader {
  struct name names[COLUMNS_MAX];
  struct column columns[COLUMNS_MAX];
  int follows[COLUMNS_MAX + 1]; /* of each column, the one that came last behind it; [count]: at first */
  int count;
  Py_ssize_t rows, most, shortest, longest, brackets;
};

static const char *skip_space(const char *at, const char *end) {
  while (at < end && (*at == ' ' || *at == '\t' || *at == '\r')) at++;
  return at;
}

/* Whether `text` and a quotation mark come next. Most texts are shorter than what calling memcmp costs. */
static inline bool is_next(const char *at, const char *end, const char *text, Py_ssize_t length) {
  if (end - at <= length || at[length] != '"') return false;
  for (; length >= 8; at += 8, text += 8, length -= 8) {
    uint64_t one, other;
    memcpy(&one, at, sizeof one);
    memcpy(&other, text, sizeof other);
    if (one != other) return false;
  }
  for (; length > 0; at++, text++, length--)
    if (*at != *text) return false;
  return true;
}

/* The column of a name; -1: it has none. */
static int column_of(const struct reader *reader, const char *at, const char *end) {
  for (int i = 0; i < reader->count; i++)
    if (reader->names[i].length == end - at && memcmp(reader->names[i].text, at, (size_t)(end - at)) == 0)
      return i;
  return -1;
}

/* Read a name, most often the one that came last behind the name before; its end, NULL: of another
   form. `before`: column of the name before, replaced. `found`: the column, NULL: the name has none. */
static const char *read_name(struct reader *reader, int *before, const char *at, const char *end,
                             Py_ssize_t *brackets, struct column **found) {
  int column = reader->follows[*before];
  const struct name *name = &reader->names[column];
  const char *stop;
  if (is_next(at, end, name->text, name->length)) {
    stop = at + name->length;
  } else {
    struct text_parts parts;
    stop = text_end(at, end, &parts);
    if (stop == NULL || parts.escapes) return NULL;
    *brackets -= parts.brackets;
    column = column_of(reader, at, stop);
  }
  *found = column < 0 ? NULL : &reader->columns[column];
  if (column >= 0) *before = reader->follows[*before] = column;
  return stop + 1;
}

/* Read a text, most often that of the row before; see read_value. */
static const char *read_text(struct column *column, Py_ssize_t row, const char *at, const char *end,
                             Py_ssize_t *brackets) {
  struct text_parts parts = {0};
  Py_ssize_t length = column == NULL ? 0 : column->newest_length;
  bool again = length > 0 && is_next(at, end, column->texts + column->newest, length);
  const char *stop = again ? at + length : text_end(at, end, &parts);
  if (stop == NULL || (column != NULL && column->type != 's')) return NULL;
  *brackets -= parts.brackets;
  return column == NULL || column_add_text(column, row, at, stop, parts) ? stop + 1 : NULL;
}

/* Read a value; its end, NULL: it is of another form. `column`: NULL for a name that is left out. */
static const char *read_value(struct column *column, Py_ssize_t row, const char *at, const char *end,
                              Py_ssize_t *brackets) {
  if (column != NULL && (column->type == 'x' || !column_begin(column, row))) return NULL; /* a name twice */
  if (at < end && *at == '"') return read_text(column, row, at + 1, end, brackets);
  if (end - at >= 4 && memcmp(at, "null", 4) == 0) return at + 4;
  if (column == NULL && end - at >= 4 && memcmp(at, "true", 4) == 0) return at + 4;
  if (column == NULL && end - at >= 5 && memcmp(at, "false", 5) == 0) return at + 5;
  if (column != NULL && column->type == 's') return NULL;
  struct number number;
  const char *stop = number_read(&number, at, end);
  if (stop == NULL || (column == NULL && !number_is_small(&number))) return NULL;
  return column == NULL || column_add_number(column, row, &number, at, stop) ? stop : NULL;
}

/* Read `"name": value` and the comma or brace behind it; NULL: of another form. */
static const char *read_field(struct reader *reader, int *before, const char *at, const char *end,
                              Py_ssize_t *brackets) {
  struct column *column;
  if (at == end || *at != '"') return NULL;
  if ((at = read_name(reader, before, at + 1, end, brackets, &column)) == NULL) return NULL;
  at = skip_space(at, end);
  if (at == end || *at != ':') return NULL;
  at = read_value(column, reader->rows, skip_space(at + 1, end), end, brackets);
  if (at == NULL) return NULL;
  at = skip_space(at, end);
  return at < end && (*at == ',' || *at == '}') ? at : NULL;
}

/* Read an object and the end of its line; NULL: of another form. */
static const char *read_row(struct reader *reader, const char *at, const char *end) {
  Py_ssize_t brackets = reader->brackets - 1;
  const char *line = at;
  at = skip_space(at, end);
  if (at == end || *at != '{') return NULL;
  int before = reader->count;
  do { /* an object without a name is no record */
    at = read_field(reader, &before, skip_space(at + 1, end), end, &brackets);
  } while (at != NULL && *at == ',');
  if (at == NULL) return NULL;
  at = skip_space(at + 1, end);
  if (at - line > reader->longest || brackets < 0 || (at < end && *at != '\n')) return NULL;
  return at < end ? at + 1 : at;
}

/* Append the rows of a message; how many, -1: it is of another form, and nothing is appended. */
static Py_ssize_t read_message(struct reader *reader, const char *at, const char *end) {
  Py_ssize_t first = reader->rows, room = (end - at) / reader->shortest;
  if (room > reader->most) room = reader->most;
  for (; at < end; reader->rows++) {
    if (reader->rows - first < room && (at = read_row(reader, at, end)) != NULL) continue;
    for (int i = 0; i < reader->count; i++) column_cut(&reader->columns[i], first);
    reader->rows = first;
    return -1;
  }
  return reader->rows - first;
}

static bool read_names(struct reader *reader, PyObject *names, const char *types, Py_ssize_t room) {
  reader->count = (int)PyTuple_Size(names);
  if (reader->count < 1 || reader->count > COLUMNS_MAX || strlen(types) != (size_t)reader->count) {
    PyErr_SetString(PyExc_ValueError, "no column, too many, or not one type for each");
    return false;
  }
  for (int i = 0; i < reader->count; i++) {
    char *text;
    if (PyBytes_AsStringAndSize(PyTuple_GetItem(names, i), &text, &reader->names[i].length) < 0)
      return false;
    reader->names[i].text = text;
    reader->columns[i] = (struct column){.type = types[i], .room = room, .last = -1};
    if (strchr("sdqix", types[i]) == NULL) {
      PyErr_SetString(PyExc_ValueError, "unknown type");
      return false;
    }
  }
  return true;
}

/* How many rows messages may have at most; -1: an exception is set. */
static Py_ssize_t most_rows(const struct reader *reader, PyObject *raws) {
  Py_ssize_t rows = 0;
  for (Py_ssize_t i = 0; i < PyList_Size(raws); i++) {
    char *raw;
    Py_ssize_t length;
    if (PyBytes_AsStringAndSize(PyList_GetItem(raws, i), &raw, &length) < 0) return -1;
    rows += length / reader->shortest;
  }
  return rows;
}

/* Append a new reference, which is taken; false: an exception is set. */
static bool append(PyObject *list, PyObject *made) {
  int failed = made == NULL || PyList_Append(list, made);
  Py_XDECREF(made);
  return !failed;
}

static PyObject *read_all(struct reader *reader, PyObject *raws) {
  PyObject *sizes = PyList_New(0), *columns = PyList_New(0), *both = NULL;
  bool good = sizes != NULL && columns != NULL;
  for (Py_ssize_t i = 0; good && i < PyList_Size(raws); i++) {
    char *raw;
    Py_ssize_t length;
    good = PyBytes_AsStringAndSize(PyList_GetItem(raws, i), &raw, &length) == 0 &&
           append(sizes, PyLong_FromSsize_t(read_message(reader, raw, raw + length)));
  }
  for (int i = 0; good && i < reader->count; i++)
    if (reader->columns[i].valid_count) good = append(columns, column_take(&reader->columns[i], i, reader->rows));
  if (good) both = PyTuple_Pack(2, sizes, columns);
  Py_XDECREF(sizes);
  Py_XDECREF(columns);
  return both;
}

PyObject *messages_flat_json(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *raws, *names, *found = NULL;
  const char *types;
  struct reader *reader = calloc(1, sizeof *reader);
  if (reader == NULL) return PyErr_NoMemory();
  if (PyArg_ParseTuple(args, "O!O!s(nnnn)", &PyList_Type, &raws, &PyTuple_Type, &names, &types,
                       &reader->most, &reader->shortest, &reader->longest, &reader->brackets)) {
    if (reader->shortest < 1) reader->shortest = 1;
    Py_ssize_t room = most_rows(reader, raws);
    if (room >= 0 && read_names(reader, names, types, room)) found = read_all(reader, raws);
  }
  for (int i = 0; i < reader->count && i < COLUMNS_MAX; i++) column_free(&reader->columns[i]);
  free(reader);
  return found;
}
