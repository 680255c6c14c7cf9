/* Waits for descriptors; serves the UDP sockets among them until Python has something to do. */
#ifndef POLLER_H
#define POLLER_H

#include <stdbool.h>
#include <stdint.h>

#include "results.h"
#include "sockets.h"

/* Results rest so long, up to a multiple of it: COARSE_NS of probers/process/loop.py, where turns
   and time-outs are. One wake-up for all. */
#define GRID_NS 250000000
#define READY_MAX 64

struct poller {
  int epoll;
  int ready[READY_MAX]; /* descriptors that Python watches */
  int ready_count;
  struct results results;
  struct probes probes;
};

/* 0, or an errno. Watch a descriptor for Python, or serve a socket, which must stay where it is. */
int poller_watch(struct poller *poller, int fd, bool write);
int poller_serve(struct poller *poller, struct udp_socket *own);
int poller_remove(struct poller *poller, int fd);

/* Serve until a descriptor of Python's is ready, the results are due or many, a signal came, or
   `timeout_ns` have passed (below 0: no bound). 0, or an errno. */
int poller_wait(struct poller *poller, int64_t timeout_ns);

#endif
