/*
 * What a server and uqrp-xdp tell each other, over a Unix socket that keeps the limits of messages (SOCK_SEQPACKET). A connection is one queue of one
 * interface: the server sends `xdp_request`; the loader attaches and answers with an AF_XDP socket; the server binds that and sends `xdp_bound`; the
 * loader sends frames there and answers again. From then on either end detaches by hanging up, and so does the end of either process.
 */
#ifndef UQRP_XDP_H
#define UQRP_XDP_H

#include <net/if.h>
#include <stdint.h>

/* Raised with every change of these structures. */
#define XDP_PROTOCOL 1

/* How the program is attached: in the driver, or in front of the network stack. */
enum { XDP_AUTO = 0, XDP_NATIVE = 1, XDP_GENERIC = 2 };

typedef struct {
  uint32_t protocol;
  uint32_t queue;
  uint32_t mode;
  uint32_t port;
  /* Where the UDP socket of the server is bound: IPv6, or IPv4 mapped to it. All zeros: any address. */
  uint8_t address[16];
  /* Whether any address means IPv4 only. */
  uint32_t only_ipv4;
  char interface[IF_NAMESIZE];
} xdp_request;

typedef struct {
  /* 0, or a number of errno.h: the connection ends. */
  int32_t error;
  uint32_t interface;
  /* XDP_NATIVE or XDP_GENERIC. */
  uint32_t mode;
} xdp_answer;

typedef struct {
  uint32_t bound;
} xdp_bound;

#endif
