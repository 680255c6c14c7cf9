#include "sockets.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include <linux/errqueue.h> /* needs time.h before it */

#include "control.h"

#define BATCH 16          /* datagrams that are read at once */
#define LONGEST 128       /* bytes of a datagram that are read: whether it is longer than a packet */
#define ERROR_LONGEST 512 /* of an entry of the error queue: a packet and its headers */
#define ERRORS_AT_ONCE 64
#define TRIES 3
#define UNREACHABLE 3
#define STALL_NS 1000000000 /* as in probers.process.loop */

static int64_t now_ns(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

int64_t wall_ns(void) { return now_ns(CLOCK_REALTIME); }
int64_t monotonic_ns(void) { return now_ns(CLOCK_MONOTONIC); }

/* A place in the queue; NULL: it is full. */
static struct result *add(struct results *results, enum result_kind kind,
                          const struct udp_socket *own) {
  if (results->count == RESULTS_MAX) return NULL;
  if (results->count == 0) {
    results->first_ns = monotonic_ns();
    results->urgent = false;
  }
  if (kind == RESULT_QUEUE_PAIR) results->urgent = true;
  struct result *made = &results->entries[results->count++];
  memset(made, 0, sizeof *made);
  made->kind = kind;
  made->token = own->token;
  return made;
}

/* With IP_RECVERR an ICMP error about an earlier datagram fails the next send, once; the error
   itself stays in the error queue. A real refusal is repeated. */
static int send_packet(const struct udp_socket *own, uint8_t *raw, struct address to, int dscp,
                       int ttl, bool stamp) {
  _Alignas(struct cmsghdr) char room[CONTROL_ROOM];
  struct sockaddr_in name = {
      .sin_family = AF_INET, .sin_port = htons(to.port), .sin_addr = {.s_addr = to.ip}};
  struct iovec body = {.iov_base = raw, .iov_len = PACKET_SIZE};
  struct msghdr message = {
      .msg_name = &name, .msg_namelen = sizeof name, .msg_iov = &body, .msg_iovlen = 1};
  control_write(&message, room, dscp, ttl, stamp && own->stamps);
  for (int tried = 1;; tried++) {
    if (sendmsg(own->fd, &message, MSG_DONTWAIT) >= 0) return 0;
    if (tried == TRIES) return errno;
  }
}

/* What is waited for in the error queue: the stamp of a reply, or of a request. */
struct awaited {
  const uint8_t *raw;
  int64_t sent_ns; /* 0: not found */
};

static void on_stamp(struct udp_socket *own, const uint8_t *data, size_t length, int64_t sent_ns,
                     struct awaited *awaited) {
  if (length < PACKET_SIZE) return;
  const uint8_t *raw = data + length - PACKET_SIZE; /* headers are before it */
  if (awaited && memcmp(raw, awaited->raw, PACKET_SIZE) == 0) {
    awaited->sent_ns = sent_ns;
    return;
  }
  struct packet fields;
  if (!packet_read(&fields, raw, PACKET_SIZE) || fields.kind == KIND_REPLY) return;
  if (own->unstamped > 0) own->unstamped--;
  struct probe *probe = probes_find(own->probes, own, fields.sequence);
  if (probe != NULL) probe->stamped_ns = sent_ns;
}

/* Which probe a result is about; it has ended. */
static void ended(struct udp_socket *own, struct result *result, struct probe *probe) {
  result->tag = probe->tag;
  result->mono_ns = probe->mono_ns;
  result->stamped_ns = probe->stamped_ns;
  probes_end(own->probes, probe);
}

static void on_error(struct udp_socket *own, struct results *results, const uint8_t *data,
                     size_t length, const struct control *control,
                     const struct sockaddr_in *target) {
  struct result *found = add(results, RESULT_ICMP, own);
  if (found == NULL) return;
  uint64_t sequence;
  struct probe *probe = NULL;
  if (packet_sequence(data, length, &sequence)) probe = probes_find(own->probes, own, sequence);
  if (probe != NULL) {
    found->kind = RESULT_FAILED;
    ended(own, found, probe);
  }
  bool local = control->origin == SO_EE_ORIGIN_LOCAL; /* the own kernel found no neighbour */
  found->type = local ? UNREACHABLE : control->type;
  found->code = local ? 1 : control->code;
  found->offender = local ? 0 : control->offender;
  found->peer = (struct address){target->sin_addr.s_addr, ntohs(target->sin_port)};
  found->quoted_length = (uint8_t)(length < QUOTED ? length : QUOTED);
  memcpy(found->quoted, data, found->quoted_length);
}

/* Read the error queue until it is empty, what is awaited was found, or the results are needed for
   a batch of datagrams: the rest stays in the kernel until there is room. */
static void read_errors(struct udp_socket *own, struct results *results, struct awaited *awaited) {
  for (int read = 0; read < ERRORS_AT_ONCE && results->count < RESULTS_MAX - BATCH; read++) {
    _Alignas(struct cmsghdr) char room[CONTROL_ROOM];
    uint8_t data[ERROR_LONGEST];
    struct sockaddr_in target = {0};
    struct iovec body = {.iov_base = data, .iov_len = sizeof data};
    struct msghdr message = {.msg_name = &target, .msg_namelen = sizeof target, .msg_iov = &body,
                             .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    ssize_t length = recvmsg(own->fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT);
    if (length < 0) return;
    struct control control = control_read(&message);
    if (!control.error) continue;
    if (control.origin == SO_EE_ORIGIN_TIMESTAMPING && control.stamped_ns) {
      on_stamp(own, data, (size_t)length, control.stamped_ns, awaited);
      if (awaited && awaited->sent_ns) return;
    } else if (control.origin == SO_EE_ORIGIN_ICMP || control.origin == SO_EE_ORIGIN_LOCAL) {
      on_error(own, results, data, (size_t)length, &control, &target);
    }
  }
}

static void send_answer(struct udp_socket *own, struct results *results, struct packet *request,
                        const struct mac_key *key, struct address peer, int64_t received_ns,
                        bool kernel, int64_t now) {
  struct answers *answers = own->answers;
  uint8_t raw[PACKET_SIZE];
  request->kind = KIND_REPLY;
  request->received_ns = received_ns;
  request->sent_ns = now + (kernel ? answers->delay.usual_ns : 0);
  packet_write(raw, request, key, own->own, peer);
  bool stamp = send_delay_is_due(&answers->delay) && own->stamps;
  if (send_packet(own, raw, peer, request->dscp & 0x3f, 0, stamp) != 0) {
    answers->counts.unsendable++;
    return;
  }
  if (stamp) {
    struct awaited awaited = {.raw = raw};
    read_errors(own, results, &awaited);
    if (awaited.sent_ns) send_delay_add(&answers->delay, awaited.sent_ns - now);
  }
}

static void on_request(struct udp_socket *own, struct results *results, struct packet *request,
                       const uint8_t *raw, struct address peer, int64_t received_ns, bool kernel) {
  struct answers *answers = own->answers;
  struct answer_counts *counts = &answers->counts;
  int64_t now = wall_ns(), mono = monotonic_ns();
  int key = packet_verify(&answers->keys, raw, peer, own->own);
  if (key < 0) {
    counts->bad_mac++;
    return;
  }
  if (now - received_ns > answers->fresh_ns) {
    counts->late++; /* this process did not run meanwhile */
    return;
  }
  /* Authenticated, but any 64 bits: no difference of them may overflow. */
  if (request->wall_ns < now - answers->fresh_ns || request->wall_ns > now + answers->fresh_ns) {
    answers->skew_ns = (int64_t)((uint64_t)request->wall_ns - (uint64_t)now);
    counts->stale++;
    return;
  }
  if (!rate_limit_allows(&answers->limit, peer.ip, mono)) {
    counts->rate++;
    return;
  }
  counts->answered++;
  struct result *found = NULL;
  struct recent_flow *flow = NULL;
  if (request->kind == KIND_PROBE)
    flow = recent_flows_due(&answers->flows, own->token, peer, mono);
  if (flow != NULL)
    found = add(results, RESULT_PROBED, own);
  else if (request->kind == KIND_QUEUE_PAIR)
    found = add(results, RESULT_QUEUE_PAIR, own);
  if (found != NULL) {
    found->peer = peer;
    found->fields = *request;
    found->read_ns = mono;
    found->key = key;
  }
  if (flow != NULL && found != NULL)
    *flow = (struct recent_flow){.token = own->token, .peer = peer, .told_ns = mono};
  if (request->kind != KIND_QUEUE_PAIR)
    send_answer(own, results, request, &answers->keys.key[key], peer, received_ns, kernel, now);
}

void socket_datagram(struct udp_socket *own, struct results *results, const uint8_t *data,
                     size_t length, struct address peer, int64_t received_ns, bool kernel,
                     int64_t read_ns) {
  struct packet fields;
  if (!packet_read(&fields, data, length) || fields.kind == KIND_FOLLOW_UP) {
    own->answers->counts.not_ours++;
  } else if (fields.kind != KIND_REPLY) {
    on_request(own, results, &fields, data, peer, received_ns, kernel);
  } else if (packet_verify(&own->answers->keys, data, peer, own->own) < 0) {
    own->answers->counts.strange++;
  } else {
    if (own->unstamped) read_errors(own, results, NULL); /* its stamp comes before it */
    struct result *found = add(results, RESULT_REPLY, own);
    if (found == NULL) return;
    found->peer = peer;
    found->fields = fields;
    found->received_ns = received_ns;
    found->read_ns = read_ns;
    found->kernel = kernel;
    struct probe *probe = probes_find(own->probes, own, fields.sequence);
    if (probe != NULL && probe->nonce == fields.nonce && probe->to.ip == peer.ip &&
        probe->to.port == peer.port) {
      found->kind = RESULT_ROUND_TRIP;
      ended(own, found, probe);
    }
  }
}

bool socket_serve(struct udp_socket *own, struct results *results, bool errors) {
  uint8_t data[BATCH][LONGEST];
  _Alignas(struct cmsghdr) char room[BATCH][CONTROL_ROOM];
  struct sockaddr_in peers[BATCH];
  struct iovec bodies[BATCH];
  struct mmsghdr messages[BATCH] = {0};
  if (errors) read_errors(own, results, NULL);
  for (int i = 0; i < BATCH; i++) {
    bodies[i] = (struct iovec){.iov_base = data[i], .iov_len = LONGEST};
    messages[i].msg_hdr = (struct msghdr){
        .msg_name = &peers[i], .msg_namelen = sizeof peers[i], .msg_iov = &bodies[i],
        .msg_iovlen = 1, .msg_control = room[i], .msg_controllen = CONTROL_ROOM};
  }
  int count = recvmmsg(own->fd, messages, BATCH, MSG_DONTWAIT, NULL);
  if (count < 0) return errno == EAGAIN; /* else an ICMP error that is in the error queue too */
  int64_t read_ns = monotonic_ns();
  for (int i = 0; i < count; i++) {
    if (peers[i].sin_family != AF_INET) continue;
    struct control control = control_read(&messages[i].msg_hdr);
    bool kernel = control.stamped_ns != 0;
    struct address peer = {peers[i].sin_addr.s_addr, ntohs(peers[i].sin_port)};
    socket_datagram(own, results, data[i], messages[i].msg_len, peer,
                    kernel ? control.stamped_ns : wall_ns(), kernel, read_ns);
  }
  /* With errors, reading may have ended at one before the last datagram. */
  return count < BATCH && !errors;
}

int socket_request(struct udp_socket *own, const struct packet *request, struct address to,
                   int ttl) {
  uint8_t raw[PACKET_SIZE];
  packet_write(raw, request, &own->answers->keys.key[0], own->own, to);
  return send_packet(own, raw, to, request->dscp, ttl, false);
}

int socket_probe(struct udp_socket *own, struct results *results, const struct probe *wanted,
                 int dscp, int64_t grid_ns) {
  struct probe *probe = probes_add(own->probes);
  if (probe == NULL) return ENOBUFS;
  uint64_t sequence = probe->sequence;
  *probe = *wanted;
  probe->own = own;
  probe->sequence = sequence;
  probe->mono_ns = monotonic_ns();
  probe->expires_ns = (probe->mono_ns + probe->timeout_ns + grid_ns - 1) / grid_ns * grid_ns;
  struct packet fields = {.kind = KIND_PROBE, .dscp = (uint8_t)dscp, .sequence = sequence,
                          .monotonic_ns = probe->mono_ns, .wall_ns = wall_ns(),
                          .nonce = probe->nonce};
  uint8_t raw[PACKET_SIZE];
  packet_write(raw, &fields, &own->answers->keys.key[0], own->own, probe->to);
  int refused = send_packet(own, raw, probe->to, dscp, 0, true);
  if (refused) {
    probes_end(own->probes, probe);
    return refused;
  }
  if (!own->stamps) return 0;
  struct awaited awaited = {.raw = raw};
  read_errors(own, results, &awaited); /* it is mostly there already: saves a wake-up */
  if (probes_find(own->probes, own, sequence) != NULL) probe->stamped_ns = awaited.sent_ns;
  if (!awaited.sent_ns) own->unstamped++;
  return 0;
}

void sockets_expire(struct probes *probes, struct results *results, int64_t now) {
  for (;;) {
    struct probe *oldest = probes_oldest(probes);
    if (oldest == NULL || oldest->expires_ns > now || results->count >= RESULTS_HIGH) return;
    const struct udp_socket *own = oldest->own;
    struct result *found = add(results, RESULT_UNANSWERED, own);
    if (found == NULL) return;
    found->tag = oldest->tag;
    int64_t bound_ns = oldest->timeout_ns < STALL_NS ? oldest->timeout_ns : STALL_NS;
    found->stalled = now - oldest->expires_ns >= bound_ns;
    probes_end(probes, oldest);
  }
}
