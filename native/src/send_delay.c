#include "send_delay.h"

#define EACH 16
#define LONGEST_NS 1000000

bool send_delay_is_due(struct send_delay *delay) {
  if (delay->until_next > 0) {
    delay->until_next--;
    return false;
  }
  delay->until_next = delay->count == SEND_DELAYS ? EACH - 1 : 0;
  return true;
}

void send_delay_add(struct send_delay *delay, int64_t ns) {
  if (ns <= 0 || ns > LONGEST_NS) return;
  delay->delays[delay->next] = ns;
  delay->next = (delay->next + 1) % SEND_DELAYS;
  if (delay->count < SEND_DELAYS) delay->count++;
  int64_t sorted[SEND_DELAYS];
  for (int i = 0; i < delay->count; i++) {
    int at = i;
    for (; at > 0 && sorted[at - 1] > delay->delays[i]; at--) sorted[at] = sorted[at - 1];
    sorted[at] = delay->delays[i];
  }
  delay->usual_ns = sorted[0];
}
