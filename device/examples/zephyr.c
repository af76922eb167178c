/*
 * Reads a record in Zephyr and prints it. prj.conf: CONFIG_NETWORKING, CONFIG_NET_IPV4, CONFIG_NET_UDP, CONFIG_NET_SOCKETS,
 * CONFIG_ENTROPY_GENERATOR and CONFIG_TEST_RANDOM_GENERATOR=n, so that ids come from hardware.
 */
#include "uqrp.h"

#include <zephyr/kernel.h>
#include <zephyr/net/socket.h>
#include <zephyr/random/random.h>
#include <zephyr/sys/printk.h>

#ifndef UQRP_SERVER
#define UQRP_SERVER "192.0.2.53"
#define UQRP_PORT 53
#define UQRP_KEY "lamp.status.acme.v1"
#endif

static uint8_t query[UQRP_QUERY_ROOM], reply[UQRP_UDP_ROOM];

/* Returns the result of the first reply, UQRP_OTHER when none came. For signed records go on after any other result than UQRP_OK. */
static enum uqrp_result read_record(const struct sockaddr_in *server, const char *key, const char *token, struct uqrp_record *record) {
  static const int waits[] = {1000, 2000, 4000, 4000, 4000};
  size_t attempt;
  for (attempt = 0; attempt < ARRAY_SIZE(waits); attempt++) {
    const int64_t deadline = k_uptime_get() + waits[attempt];
    uint16_t id;
    size_t size;
    /* A new socket has a new port. */
    const int s = zsock_socket(AF_INET, SOCK_DGRAM, IPPROTO_UDP);
    if (s < 0) return UQRP_FAILED;
    size = sys_csrand_get(&id, sizeof id) == 0 ? uqrp_query(query, sizeof query, id, key, token, "uqrp.net", sizeof reply) : 0;
    if (size == 0 || zsock_connect(s, (const struct sockaddr *)server, sizeof *server) != 0) {
      zsock_close(s);
      return UQRP_FAILED;
    }
    (void)zsock_send(s, query, size, 0);
    for (;;) {
      struct zsock_pollfd one = {.fd = s, .events = ZSOCK_POLLIN};
      const int64_t left = deadline - k_uptime_get();
      ssize_t got;
      enum uqrp_result result;
      if (left <= 0 || zsock_poll(&one, 1, (int)left) != 1) break;
      got = zsock_recv(s, reply, sizeof reply, 0);
      result = got < 0 ? UQRP_OTHER : uqrp_reply(query, size, reply, (size_t)got, record);
      if (result == UQRP_OTHER) continue;
      zsock_close(s);
      return result;
    }
    zsock_close(s);
  }
  return UQRP_OTHER;
}

int main(void) {
  struct sockaddr_in server = {.sin_family = AF_INET, .sin_port = htons(UQRP_PORT)};
  struct uqrp_record record;
  enum uqrp_result result;
  if (zsock_inet_pton(AF_INET, UQRP_SERVER, &server.sin_addr) != 1) return 0;
  result = read_record(&server, UQRP_KEY, NULL, &record);
  printk("%s %s\n", uqrp_result_name(result), result == UQRP_OK && record.data != NULL ? (const char *)record.data : "");
  return 0;
}
