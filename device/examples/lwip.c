/*
 * Reads a record with the raw API of lwIP, without an operating system (NO_SYS) or in the thread of TCP/IP. One question at a time.
 *   uqrp_lwip_start(&server, "lamp.status.acme.v1", NULL, random16, done);
 * calls `done` once, with UQRP_OTHER and no record when no reply came. UDP alone: longer records give UQRP_TRUNCATED.
 */
#include "uqrp.h"

#include <lwip/pbuf.h>
#include <lwip/timeouts.h>
#include <lwip/udp.h>

/* Looks at a result. Returns 0 to go on listening: for signed records after any other than a good one. */
typedef int (*uqrp_lwip_done)(enum uqrp_result result, struct uqrp_record *record);

static struct {
  struct udp_pcb *pcb;
  ip_addr_t server;
  const char *key, *token;
  uint16_t (*random16)(void);
  uqrp_lwip_done done;
  size_t size;
  uint8_t attempt;
  uint8_t query[UQRP_QUERY_ROOM], reply[UQRP_UDP_ROOM];
} state;

static const u16_t WAITS[] = {1000, 2000, 4000, 4000, 4000};

static void attempt(void *unused);

static void finish(void) {
  sys_untimeout(attempt, NULL);
  if (state.pcb != NULL) udp_remove(state.pcb);
  state.pcb = NULL;
}

static void received(void *unused, struct udp_pcb *pcb, struct pbuf *p, const ip_addr_t *from, u16_t port) {
  struct uqrp_record record;
  enum uqrp_result result;
  /* Copies at most the room: a longer packet is cut, and damaged then. */
  const u16_t got = pbuf_copy_partial(p, state.reply, sizeof state.reply, 0);
  (void)unused;
  (void)from;
  (void)port;
  pbuf_free(p);
  if (pcb != state.pcb) return;
  result = uqrp_reply(state.query, state.size, state.reply, got, &record);
  if (result != UQRP_OTHER && state.done(result, &record)) finish();
}

/* Sends the query with a new id from a new port, and comes again when the wait is over. */
static void attempt(void *unused) {
  struct pbuf *p;
  (void)unused;
  if (state.pcb != NULL) udp_remove(state.pcb);
  state.pcb = NULL;
  if (state.attempt == sizeof WAITS / sizeof WAITS[0]) {
    (void)state.done(UQRP_OTHER, NULL);
    return;
  }
  sys_timeout(WAITS[state.attempt++], attempt, NULL);
  state.size = uqrp_query(state.query, sizeof state.query, state.random16(), state.key, state.token, "uqrp.net", sizeof state.reply);
  state.pcb = udp_new();
  if (state.pcb == NULL || state.size == 0) return;
  udp_recv(state.pcb, received, NULL);
  /* Connected: packets of other addresses do not come in. */
  if (udp_bind(state.pcb, IP_ADDR_ANY, (u16_t)(state.random16() | 0x8000)) != ERR_OK) return;
  if (udp_connect(state.pcb, &state.server, 53) != ERR_OK) return;
  p = pbuf_alloc(PBUF_TRANSPORT, (u16_t)state.size, PBUF_RAM);
  if (p == NULL) return;
  if (pbuf_take(p, state.query, (u16_t)state.size) == ERR_OK) (void)udp_send(state.pcb, p);
  pbuf_free(p);
}

/* `random16` gives 16 bits of real randomness. `key` and `token` stay as they are until `done` was called. */
void uqrp_lwip_start(const ip_addr_t *server, const char *key, const char *token, uint16_t (*random16)(void), uqrp_lwip_done done);

void uqrp_lwip_start(const ip_addr_t *server, const char *key, const char *token, uint16_t (*random16)(void), uqrp_lwip_done done) {
  finish();
  state.server = *server;
  state.key = key;
  state.token = token;
  state.random16 = random16;
  state.done = done;
  state.attempt = 0;
  attempt(NULL);
}
