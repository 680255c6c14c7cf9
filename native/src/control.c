#include "control.h"

#include <netinet/in.h>
#include <string.h>
#include <time.h>

#include <linux/errqueue.h> /* needs time.h before it */
#include <linux/net_tstamp.h>

#ifndef SO_TIMESTAMPING
#define SO_TIMESTAMPING 37
#endif
#ifndef SO_TIMESTAMPNS
#define SO_TIMESTAMPNS 35
#endif

/* The message's body, as far as it is there. */
static void copy(void *to, size_t length, const struct cmsghdr *from) {
  size_t there = from->cmsg_len > CMSG_LEN(0) ? from->cmsg_len - CMSG_LEN(0) : 0;
  memset(to, 0, length);
  memcpy(to, CMSG_DATA(from), there < length ? there : length);
}

struct control control_read(struct msghdr *message) {
  struct control found = {0};
  for (struct cmsghdr *each = CMSG_FIRSTHDR(message); each; each = CMSG_NXTHDR(message, each)) {
    if (each->cmsg_level == SOL_SOCKET &&
        (each->cmsg_type == SO_TIMESTAMPING || each->cmsg_type == SO_TIMESTAMPNS)) {
      struct timespec time;
      copy(&time, sizeof time, each);
      if (found.stamped_ns == 0)
        found.stamped_ns = (int64_t)((uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec);
    } else if (each->cmsg_level == IPPROTO_IP && each->cmsg_type == IP_RECVERR) {
      struct {
        struct sock_extended_err error;
        struct sockaddr_in offender;
      } body;
      copy(&body, sizeof body, each);
      found.error = true;
      found.origin = body.error.ee_origin;
      found.type = body.error.ee_type;
      found.code = body.error.ee_code;
      found.offender = body.offender.sin_addr.s_addr;
    }
  }
  return found;
}

static void add(struct msghdr *message, int level, int type, uint32_t value) {
  struct cmsghdr *header = (void *)((char *)message->msg_control + message->msg_controllen);
  header->cmsg_level = level;
  header->cmsg_type = type;
  header->cmsg_len = CMSG_LEN(sizeof value);
  memcpy(CMSG_DATA(header), &value, sizeof value);
  message->msg_controllen += CMSG_SPACE(sizeof value);
}

void control_write(struct msghdr *message, void *room, int dscp, int ttl, bool stamp) {
  memset(room, 0, CONTROL_ROOM);
  message->msg_control = room;
  message->msg_controllen = 0;
  if (dscp) add(message, IPPROTO_IP, IP_TOS, (uint32_t)dscp << 2);
  if (ttl) add(message, IPPROTO_IP, IP_TTL, (uint32_t)ttl);
  if (stamp) add(message, SOL_SOCKET, SO_TIMESTAMPING, SOF_TIMESTAMPING_TX_SOFTWARE);
  if (message->msg_controllen == 0) message->msg_control = NULL;
}
