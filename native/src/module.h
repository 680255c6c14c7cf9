/* The Python types: Key, Poller, Answers, Socket, TextIds, KeyCodes. */
#ifndef MODULE_H
#define MODULE_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include "poller.h"

typedef struct {
  PyObject_HEAD
  struct mac_keys keys;
} KeyObject;

typedef struct {
  PyObject_HEAD
  struct poller *poller;
  PyObject *answers; /* list of AnswersObject; kept until close */
  PyObject *sockets; /* dict of SocketObject by token; kept while they are served */
  uint64_t last_token;
  bool waiting;        /* in wait(), without the interpreter's lock */
  uint8_t random[256]; /* for nonces */
  size_t random_left;
} PollerObject;

typedef struct {
  PyObject_HEAD
  PollerObject *poller;
  KeyObject *key;
  struct answers answers;
  uint64_t token;
} AnswersObject;

typedef struct {
  PyObject_HEAD
  AnswersObject *answers; /* NULL: closed */
  struct udp_socket socket;
} SocketObject;

extern PyTypeObject *key_type, *answers_type, *socket_type;
extern PyType_Spec key_spec, poller_spec, answers_spec, socket_spec, text_ids_spec, key_codes_spec;

/* Whether the poller may be used now; else an exception is set. */
bool poller_usable(PollerObject *poller);

/* Answers for sockets of `poller`: the arguments of Poller.answers. */
PyObject *answers_make(PollerObject *poller, PyObject *args);

/* What happened since the last call, as a result; NULL without an exception: nothing. */
PyObject *answers_take_counts(AnswersObject *answers);

/* The module's functions; see skeletonhunter_native.pyi. */
PyObject *records_arrow_batch(PyObject *module, PyObject *args);
PyObject *atoms_split(PyObject *module, PyObject *args);
PyObject *atoms_gain(PyObject *module, PyObject *args);
PyObject *atoms_mix(PyObject *module, PyObject *args);
PyObject *columns_compact_codes(PyObject *module, PyObject *args);
PyObject *columns_code_texts(PyObject *module, PyObject *args);
PyObject *messages_arrow_frames(PyObject *module, PyObject *args);
PyObject *messages_chunk_is_valid(PyObject *module, PyObject *args);
PyObject *messages_flat_json(PyObject *module, PyObject *args);
PyObject *messages_join_columns(PyObject *module, PyObject *args);
PyObject *rows_are_valid(PyObject *module, PyObject *args);
PyObject *segments_add(PyObject *module, PyObject *args);
PyObject *segments_count(PyObject *module, PyObject *args);
PyObject *segments_paths(PyObject *module, PyObject *args);
PyObject *segments_sum(PyObject *module, PyObject *args);
PyObject *panes_sum_pings(PyObject *module, PyObject *args);
PyObject *windows_sum_panes(PyObject *module, PyObject *args);

/* Read the address "a.b.c.d"; false: an exception is set. */
bool read_address(PyObject *text, struct address *address);

#endif
