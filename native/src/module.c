/* Poller: the loop's waiting, and the module itself. See skeletonhunter_native.pyi. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <unistd.h>

#include "module.h"

#define INTERFACE 11 /* raise it with every change that the Python side has to know of */

PyTypeObject *key_type, *answers_type, *socket_type;

bool poller_usable(PollerObject *poller) {
  if (poller->poller == NULL)
    PyErr_SetString(PyExc_ValueError, "the poller is closed");
  else if (poller->waiting)
    PyErr_SetString(PyExc_RuntimeError, "the poller waits in another thread");
  else
    return true;
  return false;
}

static PyObject *poller_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
  (void)args, (void)keywords;
  PollerObject *self = (PollerObject *)PyType_GenericAlloc(type, 0);
  if (self == NULL) return NULL;
  self->answers = PyList_New(0);
  self->sockets = PyDict_New();
  self->poller = calloc(1, sizeof *self->poller);
  if (self->poller != NULL) self->poller->epoll = -1;
  if (self->answers == NULL || self->sockets == NULL || self->poller == NULL) {
    Py_DECREF((PyObject *)self);
    return PyErr_NoMemory();
  }
  self->poller->epoll = epoll_create1(EPOLL_CLOEXEC);
  uint32_t base; /* sequences cannot be guessed from outside */
  if (self->poller->epoll < 0 || getrandom(&base, sizeof base, 0) != sizeof base) {
    PyErr_SetFromErrno(PyExc_OSError);
    Py_DECREF((PyObject *)self);
    return NULL;
  }
  self->poller->probes.next_sequence = (uint64_t)base << 32;
  return (PyObject *)self;
}

static void release(PollerObject *self) {
  if (self->poller != NULL && self->poller->epoll >= 0) close(self->poller->epoll);
  if (self->poller != NULL) probes_free(&self->poller->probes);
  free(self->poller);
  self->poller = NULL;
  Py_CLEAR(self->sockets);
  Py_CLEAR(self->answers);
}

static void poller_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  release((PollerObject *)self);
  PyObject_Free(self);
  Py_DECREF(type);
}

static PyObject *poller_close(PyObject *self, PyObject *none) {
  (void)none;
  PollerObject *poller = (PollerObject *)self;
  if (poller->poller == NULL) Py_RETURN_NONE;
  if (!poller_usable(poller)) return NULL;
  release(poller);
  Py_RETURN_NONE;
}

static PyObject *done(int error) {
  if (error == 0) Py_RETURN_NONE;
  errno = error;
  return PyErr_SetFromErrno(PyExc_OSError);
}

static PyObject *watch(PyObject *self, PyObject *args) {
  int fd, write;
  if (!PyArg_ParseTuple(args, "ip", &fd, &write) || !poller_usable((PollerObject *)self))
    return NULL;
  return done(poller_watch(((PollerObject *)self)->poller, fd, write != 0));
}

static PyObject *unwatch(PyObject *self, PyObject *args) {
  int fd;
  if (!PyArg_ParseTuple(args, "i", &fd) || !poller_usable((PollerObject *)self)) return NULL;
  return done(poller_remove(((PollerObject *)self)->poller, fd));
}

static PyObject *make_answers(PyObject *self, PyObject *args) {
  PollerObject *poller = (PollerObject *)self;
  if (!poller_usable(poller)) return NULL;
  PyObject *made = answers_make(poller, args);
  if (made != NULL && PyList_Append(poller->answers, made) < 0) Py_CLEAR(made);
  return made;
}

static const char *text(uint32_t ip, char room[INET_ADDRSTRLEN]) {
  return inet_ntop(AF_INET, &ip, room, INET_ADDRSTRLEN);
}

static PyObject *as_python(const struct result *from) {
  char peer[INET_ADDRSTRLEN], offender[INET_ADDRSTRLEN];
  const struct packet *fields = &from->fields;
  unsigned long long token = from->token, sequence = fields->sequence, nonce = fields->nonce;
  if (from->kind < RESULT_ROUND_TRIP || from->kind == RESULT_FAILED) text(from->peer.ip, peer);
  switch (from->kind) {
    case RESULT_REPLY:
      return Py_BuildValue("Ki(iKLLKiLL)(y#(si)LOL)", token, from->kind, (int)fields->kind, sequence,
                           (long long)fields->monotonic_ns, (long long)fields->wall_ns, nonce,
                           (int)fields->dscp, (long long)fields->received_ns,
                           (long long)fields->sent_ns, "", (Py_ssize_t)0, peer,
                           (int)from->peer.port, (long long)from->received_ns,
                           from->kernel ? Py_True : Py_False, (long long)from->read_ns);
    case RESULT_ICMP:
      return Py_BuildValue("Kiy#(si)sii", token, from->kind, (const char *)from->quoted,
                           (Py_ssize_t)from->quoted_length, peer, (int)from->peer.port,
                           from->offender ? text(from->offender, offender) : "", (int)from->type,
                           (int)from->code);
    case RESULT_PROBED:
      return Py_BuildValue("Ki(si)L", token, from->kind, peer, (int)from->peer.port,
                           (long long)from->read_ns);
    case RESULT_QUEUE_PAIR:
      return Py_BuildValue("Ki(si)iiKLLKL", token, from->kind, peer, (int)from->peer.port, from->key,
                           (int)fields->dscp, sequence, (long long)fields->monotonic_ns,
                           (long long)fields->wall_ns, nonce, (long long)fields->received_ns);
    case RESULT_ROUND_TRIP:
      return Py_BuildValue("KiKLLLOLLL", token, from->kind, (unsigned long long)from->tag,
                           (long long)from->mono_ns, (long long)from->stamped_ns,
                           (long long)from->received_ns, from->kernel ? Py_True : Py_False,
                           (long long)from->read_ns, (long long)fields->received_ns,
                           (long long)fields->sent_ns);
    case RESULT_FAILED:
      return Py_BuildValue("KiK(si)sii", token, from->kind, (unsigned long long)from->tag, peer,
                           (int)from->peer.port,
                           from->offender ? text(from->offender, offender) : "", (int)from->type,
                           (int)from->code);
    case RESULT_UNANSWERED:
      return Py_BuildValue("KiKO", token, from->kind, (unsigned long long)from->tag,
                           from->stalled ? Py_True : Py_False);
  }
  PyErr_SetString(PyExc_SystemError, "a result of no kind");
  return NULL;
}

/* Append a new reference, which is taken; false: an exception is set. */
static bool append(PyObject *list, PyObject *made) {
  if (made == NULL) return false;
  int failed = PyList_Append(list, made);
  Py_DECREF(made);
  return failed == 0;
}

static PyObject *take(PollerObject *self) {
  PyObject *results = PyList_New(0), *ready = PyList_New(0);
  struct results *queue = &self->poller->results;
  bool good = results != NULL && ready != NULL;
  for (int i = 0; good && i < queue->count; i++) good = append(results, as_python(&queue->entries[i]));
  queue->count = 0;
  for (Py_ssize_t i = 0; good && i < PyList_Size(self->answers); i++) {
    PyObject *counts = answers_take_counts((AnswersObject *)PyList_GetItem(self->answers, i));
    good = counts != NULL ? append(results, counts) : !PyErr_Occurred();
  }
  for (int i = 0; good && i < self->poller->ready_count; i++)
    good = append(ready, PyLong_FromLong(self->poller->ready[i]));
  PyObject *both = good ? PyTuple_Pack(2, results, ready) : NULL;
  Py_XDECREF(results);
  Py_XDECREF(ready);
  return both;
}

static PyObject *wait_for(PyObject *self, PyObject *args) {
  PollerObject *poller = (PollerObject *)self;
  long long timeout_ns;
  if (!PyArg_ParseTuple(args, "L", &timeout_ns) || !poller_usable(poller)) return NULL;
  for (Py_ssize_t i = 0; i < PyList_Size(poller->answers); i++) {
    AnswersObject *each = (AnswersObject *)PyList_GetItem(poller->answers, i);
    each->answers.keys = each->key->keys; /* the key may have been replaced */
  }
  int error;
  poller->waiting = true;
  Py_BEGIN_ALLOW_THREADS
  error = poller_wait(poller->poller, timeout_ns);
  Py_END_ALLOW_THREADS
  poller->waiting = false;
  if (error) return done(error);
  if (PyErr_CheckSignals() < 0) return NULL; /* the results stay for the next call */
  return take(poller);
}

static PyMethodDef methods[] = {
    {"watch", watch, METH_VARARGS, "watch(fd, write): wait() returns when it is ready."},
    {"unwatch", unwatch, METH_VARARGS, "unwatch(fd): undo watch; before it is closed."},
    {"answers", make_answers, METH_VARARGS,
     "answers(key, rate, burst, fresh_ns, sources, flow_rest_ns): who gets an answer, for some sockets."},
    {"wait", wait_for, METH_VARARGS,
     "wait(timeout_ns): serve; below 0: no bound. Results, and ready descriptors."},
    {"close", poller_close, METH_NOARGS, "Release the descriptor."},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot slots[] = {
    {Py_tp_new, poller_new}, {Py_tp_dealloc, poller_dealloc}, {Py_tp_methods, methods}, {0, NULL}};
PyType_Spec poller_spec = {"skeletonhunter_native.Poller", sizeof(PollerObject), 0,
                           Py_TPFLAGS_DEFAULT, slots};

static PyMethodDef functions[] = {
    {"arrow_batch", records_arrow_batch, METH_VARARGS,
     "arrow_batch(index, types, records, common): numbers of the columns with values, message."},
    {"arrow_frames", messages_arrow_frames, METH_VARARGS,
     "arrow_frames(raw, most): frames of an Arrow stream; None: it is refused."},
    {"chunk_is_valid", messages_chunk_is_valid, METH_VARARGS,
     "chunk_is_valid(raw, schema, widths, rows, name_bytes, decoded_bytes): False: it is not certain."},
    {"join_columns", messages_join_columns, METH_VARARGS,
     "join_columns(raws, rows, nulls, starts, lengths, columns): columns of all messages as one."},
    {"compact_codes", columns_compact_codes, METH_VARARGS,
     "compact_codes(codes, rows, places, used): places of codes among those that are used; how many."},
    {"code_texts", columns_code_texts, METH_VARARGS,
     "code_texts(column, codes, firsts): texts as codes in the order they first come; how many."},
    {"flat_json", messages_flat_json, METH_VARARGS,
     "flat_json(raws, names, types, limits): rows of each message, columns of all."},
    {"split_atoms", atoms_split, METH_VARARGS,
     "split_atoms(likelihood, weight, damage, rows, chances, added): let culprits change atoms of paths."},
    {"atoms_gain", atoms_gain, METH_VARARGS,
     "atoms_gain(likelihood, weight, damage, sorts, crossed, shares, gain): ln likelihood ratios of sorts."},
    {"mix_atoms", atoms_mix, METH_VARARGS,
     "mix_atoms(likelihood, weight, damage, rows, more, out): ln likelihood if the damage grows."},
    {"count_segments", segments_count, METH_VARARGS,
     "count_segments(slots, ends): where the paths of each segment end."},
    {"segment_paths", segments_paths, METH_VARARGS,
     "segment_paths(slots, starts, out): the paths of each segment, rising."},
    {"sum_segments", segments_sum, METH_VARARGS,
     "sum_segments(edges, paths, values, sums): sums over the paths of each segment."},
    {"add_segments", segments_add, METH_VARARGS,
     "add_segments(slots, rows, values, sums): add some paths to the sums of their segments."},
    {"sum_pings", panes_sum_pings, METH_VARARGS,
     "sum_pings(parts, start_ns, path, counts, mean, samples): write a pane; its paths and samples."},
    {"sum_panes", windows_sum_panes, METH_VARARGS,
     "sum_panes(panes, path, counts, features): write a window; how many paths it has."},
    {"rows_are_valid", rows_are_valid, METH_VARARGS,
     "rows_are_valid(rows, texts, numbers): whether all values of columns obey their rules."},
    {NULL, NULL, 0, NULL},
};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "skeletonhunter_native", NULL, -1,
                                        functions, NULL, NULL, NULL, NULL};

/* Make a type that only Python uses. */
static bool add_type(PyObject *module, const char *name, PyType_Spec *spec) {
  PyObject *type = PyType_FromSpec(spec);
  bool good = type != NULL && PyModule_AddObjectRef(module, name, type) == 0;
  Py_XDECREF(type);
  return good;
}

PyMODINIT_FUNC PyInit_skeletonhunter_native(void) {
  PyObject *module = PyModule_Create(&definition);
  if (module == NULL) return NULL;
  key_type = (PyTypeObject *)PyType_FromSpec(&key_spec);
  answers_type = (PyTypeObject *)PyType_FromSpec(&answers_spec);
  socket_type = (PyTypeObject *)PyType_FromSpec(&socket_spec);
  if (key_type == NULL || answers_type == NULL || socket_type == NULL ||
      !add_type(module, "Poller", &poller_spec) ||
      !add_type(module, "TextIds", &text_ids_spec) ||
      !add_type(module, "KeyCodes", &key_codes_spec) ||
      PyModule_AddObjectRef(module, "Key", (PyObject *)key_type) < 0 ||
      PyModule_AddObjectRef(module, "Answers", (PyObject *)answers_type) < 0 ||
      PyModule_AddObjectRef(module, "Socket", (PyObject *)socket_type) < 0 ||
      PyModule_AddIntConstant(module, "INTERFACE", INTERFACE) < 0) {
    Py_DECREF(module);
    return NULL;
  }
  return module;
}
