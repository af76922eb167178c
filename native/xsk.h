/* An AF_XDP socket with its memory: frames of one queue of one interface come and leave here, past the network stack. */
#ifndef UQRP_XSK_H
#define UQRP_XSK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* Where JavaScript reads requests and writes replies: slot i of a part is at `i * stride`. */
typedef struct {
  unsigned char *requests, *replies, *peers;
  size_t request_stride, reply_stride, peer_stride;
  int32_t *request_lengths, *reply_lengths;
  int slots;
  int32_t reply_octets;
  /* Of the UDP socket, which takes replies that do not fit a frame. */
  int socket;
  sa_family_t family;
  socklen_t address_octets;
} xsk_slots;

typedef struct xsk xsk;

/* Takes over a socket that is bound to nothing yet. 0, or a negative error number; the socket is closed by `xsk_close` in both cases. */
int xsk_open(xsk **opened, int fd, uint32_t interface, uint32_t queue);
int xsk_fd(const xsk *x);
/* Copies waiting requests into the slots, and returns how many. */
int xsk_receive(xsk *x, const xsk_slots *s);
/* Sends the replies of the slots that `xsk_receive` filled last, and gives the frames of the others back. */
void xsk_send(xsk *x, int count, const xsk_slots *s);
/* The kernel lets go of the interface. Memory stays until `xsk_free`. */
void xsk_close(xsk *x);
void xsk_free(xsk *x);

#endif
