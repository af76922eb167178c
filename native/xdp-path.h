/* The way below the sockets, of one endpoint and one queue: asks uqrp-xdp for it, receives, sends, and ends when either side hangs up. */
#ifndef UQRP_XDP_PATH_H
#define UQRP_XDP_PATH_H

#include <uv.h>

#include "xdp.h"
#include "xsk.h"

typedef struct xdp_path xdp_path;

typedef struct {
  void *data;
  /* Requests wait: to be taken with `xdp_path_receive` and answered with `xdp_path_send`, both before this returns. */
  void (*readable)(void *data);
  /* XDP_NATIVE or XDP_GENERIC: attached. 0 or less: ended, and why (a negative error number; 0: the loader hung up). Nothing follows an end. */
  void (*state)(void *data, int state);
  /* The last that is called: nothing of the path is left. */
  void (*closed)(void *data);
} xdp_path_owner;

/* 0, or a negative error number, in which case no function of the owner is called. */
int xdp_path_open(xdp_path **opened, uv_loop_t *loop, const char *socket_path, const xdp_request *request, xdp_path_owner owner);
int xdp_path_receive(xdp_path *p, const xsk_slots *s);
void xdp_path_send(xdp_path *p, int count, const xsk_slots *s);
/* May be called at any time, from the owner's functions too; a second call does nothing. */
void xdp_path_close(xdp_path *p);

#endif
