/*
 * Asks a name server over POSIX sockets, for example.c and switch.c: UDP with retries, and TCP for records that are too long for it.
 * Each attempt has a new id and a new port.
 */
#ifndef UQRP_SOCKETS_H
#define UQRP_SOCKETS_H

#include "uqrp.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0 /* macOS */
#endif

/* Milliseconds that each attempt waits: with one packet in five lost on each way, one read in 160 gets no reply. */
static const int ATTEMPTS[] = {1000, 2000, 4000, 4000, 4000};

/* Looks at a record. 1 when it is the one: then the wait ends. */
typedef int (*accept_record)(void *context, struct uqrp_record *record);

static long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (long)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static uint16_t random_id(void) {
  uint8_t id[2];
  const int file = open("/dev/urandom", O_RDONLY);
  if (file < 0 || read(file, id, sizeof id) != (ssize_t)sizeof id) abort();
  close(file);
  return (uint16_t)(id[0] << 8 | id[1]);
}

/* A socket that never waits, connected to the server: the kernel passes on what this address sends, and nothing else. */
static int open_socket(const struct addrinfo *server, int type) {
  const int s = socket(server->ai_family, type, 0);
  if (s < 0) return -1;
  if (fcntl(s, F_SETFL, O_NONBLOCK) == 0 && (connect(s, server->ai_addr, server->ai_addrlen) == 0 || errno == EINPROGRESS)) return s;
  close(s);
  return -1;
}

/* 1 when the socket is ready before the deadline. */
static int is_ready(int s, short events, long deadline) {
  struct pollfd one = {s, events, 0};
  const long left = deadline - now();
  return left > 0 && poll(&one, 1, (int)left) == 1;
}

static int send_all(int s, const uint8_t *data, size_t size, long deadline) {
  while (size > 0) {
    ssize_t sent;
    if (!is_ready(s, POLLOUT, deadline)) return 0;
    sent = send(s, data, size, MSG_NOSIGNAL);
    if (sent <= 0) return 0;
    data += sent;
    size -= (size_t)sent;
  }
  return 1;
}

static int receive_all(int s, uint8_t *data, size_t size, long deadline) {
  while (size > 0) {
    ssize_t got;
    if (!is_ready(s, POLLIN, deadline)) return 0;
    got = recv(s, data, size, 0);
    if (got <= 0) return 0;
    data += got;
    size -= (size_t)got;
  }
  return 1;
}

/* The same query over TCP, after two octets of length. Returns the size of the reply, 0 when none came. */
static size_t ask_tcp(const struct addrinfo *server, const uint8_t *query, size_t size, uint8_t *reply, size_t room, long deadline) {
  const uint8_t length[2] = {(uint8_t)(size >> 8), (uint8_t)size};
  uint8_t head[2];
  size_t got = 0;
  const int s = open_socket(server, SOCK_STREAM);
  if (s < 0) return 0;
  if (send_all(s, length, 2, deadline) && send_all(s, query, size, deadline) && receive_all(s, head, 2, deadline)) {
    got = (size_t)head[0] << 8 | head[1];
    if (got > room || !receive_all(s, reply, got, deadline)) got = 0;
  }
  close(s);
  return got;
}

/*
 * Asks for `key` until a reply is accepted or every attempt is over. `accept` may be NULL: then the first reply counts, whatever it is.
 * With `accept`, only a record for which it returns 1 counts: a forged reply that came first does not end the wait.
 * Returns 1 with the record in `reply`, else 0; `result` is that of the last reply, UQRP_OTHER when none came.
 */
static int ask(const struct addrinfo *server, const char *key, const char *token, const char *zone, uint8_t *reply, size_t room,
               struct uqrp_record *record, enum uqrp_result *result, accept_record accept, void *context) {
  uint8_t query[UQRP_QUERY_ROOM];
  size_t attempt;
  *result = UQRP_OTHER;
  for (attempt = 0; attempt < sizeof ATTEMPTS / sizeof ATTEMPTS[0]; attempt++) {
    const size_t size = uqrp_query(query, sizeof query, random_id(), key, token, zone, UQRP_UDP_ROOM);
    const long deadline = now() + ATTEMPTS[attempt];
    int s, may_stream = 1;
    if (size == 0) return 0;
    s = open_socket(server, SOCK_DGRAM);
    if (s >= 0) (void)send(s, query, size, 0);
    while (s >= 0 && is_ready(s, POLLIN, deadline)) {
      const ssize_t got = recv(s, reply, room, 0);
      /* An ICMP message that nobody listens may be forged as well: the wait goes on. */
      enum uqrp_result found = got < 0 ? UQRP_OTHER : uqrp_reply(query, size, reply, (size_t)got, record);
      if (found == UQRP_OTHER) continue;
      if (found == UQRP_TRUNCATED && may_stream) {
        /* Once: whoever forges such replies must not make the device open one connection after the other. */
        const size_t length = ask_tcp(server, query, size, reply, room, now() + 4000);
        may_stream = 0;
        found = uqrp_reply(query, size, reply, length, record);
        if (found == UQRP_OTHER) continue;
      }
      *result = found;
      if (accept == NULL || (found == UQRP_OK && accept(context, record))) {
        close(s);
        return 1;
      }
    }
    if (s >= 0) close(s);
    else (void)poll(NULL, 0, ATTEMPTS[attempt]);
  }
  return 0;
}

/* The address of a name server, from texts such as "192.0.2.53" and "53". */
static struct addrinfo *find_server(const char *host, const char *port) {
  struct addrinfo hints, *found = NULL;
  memset(&hints, 0, sizeof hints);
  hints.ai_socktype = SOCK_DGRAM;
  return getaddrinfo(host, port, &hints, &found) == 0 ? found : NULL;
}

#endif
