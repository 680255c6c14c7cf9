#include "poller.h"

#include <errno.h>
#include <stddef.h>
#include <sys/epoll.h>

#define FOREVER_NS INT64_MAX
#define LONGEST_MS 3600000
#define MS 1000000
#define LATE_ROUNDS 256 /* over the time: what has arrived is read before Python's timers fire */

/* Events of Python's descriptors are odd numbers, those of sockets are their places in memory. */
static int control(struct poller *poller, int what, int fd, uint32_t events, uint64_t data) {
  struct epoll_event event = {.events = events, .data = {.u64 = data}};
  return epoll_ctl(poller->epoll, what, fd, &event) < 0 ? errno : 0;
}

int poller_watch(struct poller *poller, int fd, bool write) {
  uint64_t data = (uint64_t)(uint32_t)fd << 1 | 1;
  return control(poller, EPOLL_CTL_ADD, fd, write ? EPOLLOUT : EPOLLIN, data);
}

/* By edges: the kernel need not look at a socket again that was read until it was empty. */
static int serve(struct poller *poller, int what, const struct udp_socket *own) {
  return control(poller, what, own->fd, EPOLLIN | EPOLLET, (uint64_t)(uintptr_t)own);
}

int poller_serve(struct poller *poller, struct udp_socket *own) {
  return serve(poller, EPOLL_CTL_ADD, own);
}

int poller_remove(struct poller *poller, int fd) { return control(poller, EPOLL_CTL_DEL, fd, 0, 0); }

/* When Python has to be called at the latest [monotonic ns]. */
static int64_t due_ns(struct poller *poller, int64_t until_ns) {
  const struct probe *oldest = probes_oldest(&poller->probes);
  int64_t due = oldest != NULL && oldest->expires_ns < until_ns ? oldest->expires_ns : until_ns;
  if (poller->results.count == 0) return due;
  int64_t rested_ns = (poller->results.first_ns / GRID_NS + 1) * GRID_NS;
  return rested_ns < due ? rested_ns : due;
}

static bool urgent(const struct results *results) {
  return results->count >= RESULTS_HIGH || (results->count > 0 && results->urgent);
}

/* Whether nothing is left in the socket: only what comes from now on makes it ready. */
static bool read_all(struct poller *poller, struct udp_socket *own, uint32_t events) {
  return poller->results.count < RESULTS_HIGH &&
         socket_serve(own, &poller->results, (events & EPOLLERR) != 0);
}

int poller_wait(struct poller *poller, int64_t timeout_ns) {
  struct epoll_event events[READY_MAX];
  int64_t now = monotonic_ns();
  int64_t until_ns = timeout_ns < 0 || timeout_ns > FOREVER_NS - now ? FOREVER_NS : now + timeout_ns;
  poller->ready_count = 0;
  int late = 0;
  for (bool last = false; !last;) {
    int64_t left_ns = due_ns(poller, until_ns) - now;
    int64_t left_ms = left_ns <= 0 ? 0 : left_ns / MS + (left_ns % MS != 0);
    int wait_ms = (int)(left_ms > LONGEST_MS ? LONGEST_MS : left_ms);
    int count = epoll_wait(poller->epoll, events, READY_MAX, wait_ms);
    if (count < 0) return errno == EINTR ? 0 : errno;
    for (int i = 0; i < count; i++) {
      uint64_t data = events[i].data.u64;
      if (data & 1)
        poller->ready[poller->ready_count++] = (int)(data >> 1);
      else if (!read_all(poller, (struct udp_socket *)(uintptr_t)data, events[i].events))
        serve(poller, EPOLL_CTL_MOD, (struct udp_socket *)(uintptr_t)data); /* is ready again */
    }
    now = monotonic_ns();
    bool due = now >= due_ns(poller, until_ns) && (count == 0 || ++late > LATE_ROUNDS);
    if (due) sockets_expire(&poller->probes, &poller->results, now); /* what arrived was read */
    last = due || poller->ready_count > 0 || urgent(&poller->results);
  }
  return 0;
}
