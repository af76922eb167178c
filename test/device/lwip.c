/*
 * Runs device/examples/lwip.c in lwIP, with an interface whose packets go to 127.0.0.1 and the port in the variable DNS_PORT. Prints result
 * and data. Environment: DNS_PORT; arguments: KEY [TOKEN].
 */
#include "examples/lwip.c"


#include <lwip/init.h>
#include <lwip/ip.h>
#include <lwip/prot/udp.h>

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/socket.h>

#define HEADERS (IP_HLEN + UDP_HLEN)

static struct netif interface;
static int outside = -1;
static u16_t device_port;
static int is_done;

/* A packet from lwIP: its payload leaves through a socket. */
static err_t send_out(struct netif *netif, struct pbuf *p, const ip4_addr_t *to) {
  uint8_t packet[2048];
  const u16_t size = pbuf_copy_partial(p, packet, sizeof packet, 0);
  (void)netif;
  (void)to;
  if (size <= HEADERS) return ERR_OK;
  device_port = (u16_t)(packet[IP_HLEN] << 8 | packet[IP_HLEN + 1]);
  (void)send(outside, packet + HEADERS, (size_t)(size - HEADERS), 0);
  return ERR_OK;
}

static err_t begin(struct netif *netif) {
  netif->output = send_out;
  netif->mtu = 1500;
  netif->flags = NETIF_FLAG_UP | NETIF_FLAG_LINK_UP;
  return ERR_OK;
}

/* What came through the socket goes to lwIP as an IPv4 packet of 10.0.0.1 port 53. */
static void receive(void) {
  uint8_t packet[2048] = {0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 53};
  const ssize_t got = recv(outside, packet + HEADERS, sizeof packet - HEADERS, 0);
  struct pbuf *p;
  size_t i, size;
  uint32_t sum = 0;
  if (got < 0) return;
  size = (size_t)got + HEADERS;
  packet[2] = (uint8_t)(size >> 8);
  packet[3] = (uint8_t)size;
  packet[IP_HLEN + 2] = (uint8_t)(device_port >> 8);
  packet[IP_HLEN + 3] = (uint8_t)device_port;
  packet[IP_HLEN + 4] = (uint8_t)((size - IP_HLEN) >> 8);
  packet[IP_HLEN + 5] = (uint8_t)(size - IP_HLEN);
  for (i = 0; i < IP_HLEN; i += 2) sum += (uint32_t)(packet[i] << 8 | packet[i + 1]);
  sum = (sum & 0xffff) + (sum >> 16);
  sum = ~((sum & 0xffff) + (sum >> 16));
  packet[10] = (uint8_t)(sum >> 8);
  packet[11] = (uint8_t)sum;
  p = pbuf_alloc(PBUF_RAW, (u16_t)size, PBUF_POOL);
  if (p == NULL) return;
  (void)pbuf_take(p, packet, (u16_t)size);
  if (interface.input(p, &interface) != ERR_OK) pbuf_free(p);
}

static uint16_t any16(void) {
  uint16_t bits;
  if (getrandom(&bits, sizeof bits, 0) != (ssize_t)sizeof bits) abort();
  return bits;
}

static int print(enum uqrp_result result, struct uqrp_record *record) {
  printf("%s %s\n", uqrp_result_name(result), record != NULL && record->data != NULL ? (const char *)record->data : "");
  is_done = 1;
  return 1;
}

int main(int argc, char **argv) {
  struct sockaddr_in to = {0};
  ip4_addr_t self, mask, router;
  ip_addr_t server;
  if (argc < 2) return 2;
  to.sin_family = AF_INET;
  to.sin_port = htons((uint16_t)atoi(getenv("DNS_PORT")));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  outside = socket(AF_INET, SOCK_DGRAM, 0);
  if (connect(outside, (struct sockaddr *)&to, sizeof to) != 0) return 2;
  lwip_init();
  IP4_ADDR(&self, 10, 0, 0, 2);
  IP4_ADDR(&mask, 255, 255, 255, 0);
  IP4_ADDR(&router, 10, 0, 0, 1);
  if (netif_add(&interface, &self, &mask, &router, NULL, begin, ip_input) == NULL) return 2;
  netif_set_default(&interface);
  netif_set_up(&interface);
  ip_addr_copy_from_ip4(server, router);
  uqrp_lwip_start(&server, argv[1], argc > 2 ? argv[2] : NULL, any16, print);
  while (!is_done) {
    struct pollfd one = {outside, POLLIN, 0};
    if (poll(&one, 1, 20) == 1) receive();
    sys_check_timeouts();
  }
  return 0;
}
