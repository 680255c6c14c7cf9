/* Answers: who gets an answer. Socket: one that is served, for answers and requests. */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "module.h"

#define TTL_MAX 255
#define DSCP_MAX 63
#define TIMEOUT_MAX_NS 3600000000000

bool read_address(PyObject *text, struct address *address) {
  Py_ssize_t length;
  const char *ip = PyUnicode_AsUTF8AndSize(text, &length);
  if (ip == NULL) return false;
  if (inet_pton(AF_INET, ip, &address->ip) == 1) return true;
  PyErr_Format(PyExc_ValueError, "%R is no IPv4 address", text);
  return false;
}

PyObject *answers_make(PollerObject *poller, PyObject *args) {
  PyObject *key;
  double rate, burst;
  long long fresh_ns, flow_rest_ns;
  int sources;
  if (!PyArg_ParseTuple(args, "OddLiL", &key, &rate, &burst, &fresh_ns, &sources, &flow_rest_ns))
    return NULL;
  if (!Py_IS_TYPE(key, key_type)) {
    PyErr_SetString(PyExc_TypeError, "not a Key");
    return NULL;
  }
  if (sources < 1 || sources > 1 << 20 || fresh_ns < 0 || fresh_ns > INT64_MAX / 4 ||
      flow_rest_ns < 0) {
    PyErr_SetString(PyExc_ValueError, "sources, fresh_ns or flow_rest_ns out of range");
    return NULL;
  }
  uint32_t seed;
  if (getrandom(&seed, sizeof seed, 0) != sizeof seed) return PyErr_SetFromErrno(PyExc_OSError);
  AnswersObject *made = (AnswersObject *)PyType_GenericAlloc(answers_type, 0);
  if (made == NULL) return NULL;
  if (!rate_limit_make(&made->answers.limit, rate, burst, sources, seed) ||
      !recent_flows_make(&made->answers.flows, flow_rest_ns)) {
    Py_DECREF((PyObject *)made);
    return PyErr_NoMemory();
  }
  made->answers.fresh_ns = fresh_ns;
  made->token = ++poller->last_token;
  Py_INCREF(key);
  made->key = (KeyObject *)key;
  Py_INCREF((PyObject *)poller);
  made->poller = poller;
  return (PyObject *)made;
}

PyObject *answers_take_counts(AnswersObject *self) {
  static const struct answer_counts none;
  struct answer_counts *now = &self->answers.counts;
  if (memcmp(now, &none, sizeof none) == 0) return NULL;
  PyObject *made = Py_BuildValue(
      "KiKKKKKKKKL", (unsigned long long)self->token, 0, (unsigned long long)now->answered,
      (unsigned long long)now->not_ours, (unsigned long long)now->bad_mac,
      (unsigned long long)now->late, (unsigned long long)now->stale,
      (unsigned long long)now->rate, (unsigned long long)now->unsendable,
      (unsigned long long)now->strange, (long long)self->answers.skew_ns);
  *now = none;
  return made;
}

/* serve(fd, ip, port, stamps) */
static PyObject *answers_serve(PyObject *self, PyObject *args) {
  AnswersObject *answers = (AnswersObject *)self;
  PyObject *ip;
  int fd, stamps;
  unsigned short port;
  if (!PyArg_ParseTuple(args, "iOHp", &fd, &ip, &port, &stamps)) return NULL;
  if (!poller_usable(answers->poller)) return NULL;
  SocketObject *made = (SocketObject *)PyType_GenericAlloc(socket_type, 0);
  if (made == NULL) return NULL;
  made->socket = (struct udp_socket){.fd = fd, .token = ++answers->poller->last_token,
                                     .own = {.port = port}, .stamps = stamps != 0,
                                     .answers = &answers->answers,
                                     .probes = &answers->poller->poller->probes};
  PyObject *token = NULL;
  if (!read_address(ip, &made->socket.own)) goto failed;
  token = PyLong_FromUnsignedLongLong(made->socket.token);
  if (token == NULL || PyDict_SetItem(answers->poller->sockets, token, (PyObject *)made) < 0)
    goto failed;
  errno = poller_serve(answers->poller->poller, &made->socket);
  if (errno) {
    PyErr_SetFromErrno(PyExc_OSError);
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyDict_DelItem(answers->poller->sockets, token);
    PyErr_Restore(type, value, trace);
    goto failed;
  }
  Py_DECREF(token);
  Py_INCREF(self);
  made->answers = answers;
  return (PyObject *)made;
failed:
  Py_XDECREF(token);
  Py_DECREF((PyObject *)made);
  return NULL;
}

static PyObject *answers_token(PyObject *self, void *closure) {
  (void)closure;
  return PyLong_FromUnsignedLongLong(((AnswersObject *)self)->token);
}

static void answers_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  AnswersObject *answers = (AnswersObject *)self;
  rate_limit_free(&answers->answers.limit);
  recent_flows_free(&answers->answers.flows);
  memset(&answers->answers.keys, 0, sizeof answers->answers.keys);
  Py_XDECREF((PyObject *)answers->key);
  Py_XDECREF((PyObject *)answers->poller);
  PyObject_Free(self);
  Py_DECREF(type);
}

static bool nonce(PollerObject *poller, uint64_t *made) {
  if (poller->random_left < sizeof *made) {
    if (getrandom(poller->random, sizeof poller->random, 0) != sizeof poller->random) return false;
    poller->random_left = sizeof poller->random;
  }
  poller->random_left -= sizeof *made;
  memcpy(made, poller->random + poller->random_left, sizeof *made);
  return true;
}

static bool number(PyObject *from, long long low, long long high, long long *value) {
  *value = PyLong_AsLongLong(from);
  if (*value == -1 && PyErr_Occurred()) return false;
  if (*value >= low && *value <= high) return true;
  PyErr_SetString(PyExc_ValueError, "a field of the request is out of range");
  return false;
}

/* What request() and probe() begin with; false: an exception is set. */
static bool sendable(SocketObject *own, PyObject *ip, struct address *to) {
  if (own->answers == NULL) {
    PyErr_SetString(PyExc_ValueError, "the socket is closed");
    return false;
  }
  if (!poller_usable(own->answers->poller)) return false;
  own->answers->answers.keys = own->answers->key->keys;
  if (read_address(ip, to)) return true;
  if (PyErr_ExceptionMatches(PyExc_ValueError)) {
    errno = EINVAL; /* as any destination to which the kernel does not send */
    PyErr_SetFromErrno(PyExc_OSError);
  }
  return false;
}

static PyObject *arguments(const char *message) {
  PyErr_SetString(PyExc_TypeError, message);
  return NULL;
}

/* request(kind, sequence, ip, port, dscp, ttl, which) -> nonce */
static PyObject *socket_send(PyObject *self, PyObject *const *args, Py_ssize_t count) {
  SocketObject *own = (SocketObject *)self;
  long long kind, port, dscp, ttl, which;
  struct address to;
  if (count != 7) return arguments("request() takes 7 arguments");
  unsigned long long sequence = PyLong_AsUnsignedLongLong(args[1]);
  if (sequence == (unsigned long long)-1 && PyErr_Occurred()) return NULL;
  if (!sendable(own, args[2], &to) || !number(args[0], KIND_PROBE, KIND_QUEUE_PAIR, &kind) ||
      !number(args[3], 0, UINT16_MAX, &port) || !number(args[4], 0, DSCP_MAX, &dscp) ||
      !number(args[5], 0, TTL_MAX, &ttl) || !number(args[6], INT64_MIN, INT64_MAX, &which))
    return NULL;
  struct packet fields = {.kind = (uint8_t)kind, .dscp = (uint8_t)dscp, .sequence = sequence,
                          .monotonic_ns = monotonic_ns(), .wall_ns = wall_ns(),
                          .received_ns = which};
  if (!nonce(own->answers->poller, &fields.nonce)) return PyErr_SetFromErrno(PyExc_OSError);
  to.port = (uint16_t)port;
  errno = socket_request(&own->socket, &fields, to, (int)ttl);
  if (errno) return PyErr_SetFromErrno(PyExc_OSError);
  return PyLong_FromUnsignedLongLong(fields.nonce);
}

/* probe(tag, ip, port, dscp, timeout_ns, grid_ns) */
static PyObject *socket_send_probe(PyObject *self, PyObject *const *args, Py_ssize_t count) {
  SocketObject *own = (SocketObject *)self;
  struct probe wanted = {0};
  long long port, dscp, timeout_ns, grid_ns;
  if (count != 6) return arguments("probe() takes 6 arguments");
  wanted.tag = PyLong_AsUnsignedLongLong(args[0]);
  if (wanted.tag == (uint64_t)-1 && PyErr_Occurred()) return NULL;
  if (!sendable(own, args[1], &wanted.to) || !number(args[2], 0, UINT16_MAX, &port) ||
      !number(args[3], 0, DSCP_MAX, &dscp) || !number(args[4], 1, TIMEOUT_MAX_NS, &timeout_ns) ||
      !number(args[5], 1, TIMEOUT_MAX_NS, &grid_ns))
    return NULL;
  PollerObject *poller = own->answers->poller;
  if (!nonce(poller, &wanted.nonce)) return PyErr_SetFromErrno(PyExc_OSError);
  wanted.to.port = (uint16_t)port;
  wanted.timeout_ns = timeout_ns;
  errno = socket_probe(&own->socket, &poller->poller->results, &wanted, (int)dscp, grid_ns);
  if (errno) return PyErr_SetFromErrno(PyExc_OSError);
  Py_RETURN_NONE;
}

/* forget(tag) */
static PyObject *socket_forget(PyObject *self, PyObject *number_of) {
  SocketObject *own = (SocketObject *)self;
  unsigned long long tag = PyLong_AsUnsignedLongLong(number_of);
  if (tag == (unsigned long long)-1 && PyErr_Occurred()) return NULL;
  if (own->answers != NULL) {
    if (!poller_usable(own->answers->poller)) return NULL;
    if (tag != 0) probes_forget(own->socket.probes, &own->socket, tag);
  }
  Py_RETURN_NONE;
}

static PyObject *socket_close(PyObject *self, PyObject *none) {
  (void)none;
  SocketObject *own = (SocketObject *)self;
  if (own->answers == NULL) Py_RETURN_NONE;
  PollerObject *poller = own->answers->poller;
  if (poller->poller != NULL) {
    if (!poller_usable(poller)) return NULL;
    poller_remove(poller->poller, own->socket.fd);
    probes_forget(own->socket.probes, &own->socket, 0);
    PyObject *token = PyLong_FromUnsignedLongLong(own->socket.token);
    if (token == NULL || PyDict_DelItem(poller->sockets, token) < 0) PyErr_Clear();
    Py_XDECREF(token);
  }
  AnswersObject *answers = own->answers;
  own->answers = NULL;
  own->socket.answers = NULL;
  Py_DECREF((PyObject *)answers);
  Py_RETURN_NONE;
}

static PyObject *socket_token(PyObject *self, void *closure) {
  (void)closure;
  return PyLong_FromUnsignedLongLong(((SocketObject *)self)->socket.token);
}

static void socket_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  Py_XDECREF((PyObject *)((SocketObject *)self)->answers);
  PyObject_Free(self);
  Py_DECREF(type);
}

static PyMethodDef answers_methods[] = {
    {"serve", answers_serve, METH_VARARGS, "serve(fd, ip, port, stamps): a Socket."},
    {NULL, NULL, 0, NULL},
};
static PyGetSetDef answers_getters[] = {{"token", answers_token, NULL, NULL, NULL},
                                        {NULL, NULL, NULL, NULL, NULL}};
static PyType_Slot answers_slots[] = {{Py_tp_dealloc, answers_dealloc},
                                      {Py_tp_methods, answers_methods},
                                      {Py_tp_getset, answers_getters},
                                      {0, NULL}};
PyType_Spec answers_spec = {"skeletonhunter_native.Answers", sizeof(AnswersObject), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, answers_slots};

static PyMethodDef socket_methods[] = {
    {"request", (PyCFunction)(void (*)(void))socket_send, METH_FASTCALL,
     "request(kind, sequence, ip, port, dscp, ttl, which): the nonce. No probe."},
    {"probe", (PyCFunction)(void (*)(void))socket_send_probe, METH_FASTCALL,
     "probe(tag, ip, port, dscp, timeout_ns, grid_ns): becomes one result."},
    {"forget", socket_forget, METH_O, "forget(tag): that probe becomes no result any more."},
    {"close", socket_close, METH_NOARGS, "Serve it no more; the descriptor stays open."},
    {NULL, NULL, 0, NULL},
};
static PyGetSetDef socket_getters[] = {{"token", socket_token, NULL, NULL, NULL},
                                       {NULL, NULL, NULL, NULL, NULL}};
static PyType_Slot socket_slots[] = {{Py_tp_dealloc, socket_dealloc},
                                     {Py_tp_methods, socket_methods},
                                     {Py_tp_getset, socket_getters},
                                     {0, NULL}};
PyType_Spec socket_spec = {"skeletonhunter_native.Socket", sizeof(SocketObject), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, socket_slots};
