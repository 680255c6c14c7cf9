/* How long a reply takes from its stamp to the kernel's sending, as probers/net/send_delay.py. */
#ifndef SEND_DELAY_H
#define SEND_DELAY_H

#include <stdbool.h>
#include <stdint.h>

#define SEND_DELAYS 15

struct send_delay {
  int64_t delays[SEND_DELAYS]; /* the latest ones, in a ring */
  int count, next, until_next;
  int64_t usual_ns; /* 0: none is known */
};

/* Whether the next reply should ask for the kernel's stamp; call once a reply. */
bool send_delay_is_due(struct send_delay *delay);

/* The kernel sent a reply `ns` after it was stamped. */
void send_delay_add(struct send_delay *delay, int64_t ns);

#endif
