/* Control messages of datagrams: the kernel's stamps, ICMP errors, TTL and DSCP. */
#ifndef CONTROL_H
#define CONTROL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#define CONTROL_ROOM 256 /* three timespecs and one extended error */

struct control {
  int64_t stamped_ns; /* 0: no stamp */
  bool error;         /* there is an extended error: */
  uint8_t origin, type, code;
  uint32_t offender;
};

/* The kernel's messages with a datagram. */
struct control control_read(struct msghdr *message);

/* Put DSCP and TTL (0: none), and the wish for a stamp of sending, before a message; `room` has
   CONTROL_ROOM bytes, aligned as a cmsghdr. */
void control_write(struct msghdr *message, void *room, int dscp, int ttl, bool stamp);

#endif
