#define _GNU_SOURCE
#include "xdp-path.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct xdp_path {
  xdp_path_owner owner;
  uv_loop_t *loop;
  uint32_t queue;
  int connection;
  uv_poll_t *connected;
  xsk *frames;
  /* NULL: no answer has brought a socket yet. */
  uv_poll_t *received;
  int handles;
  bool attached, closing;
};

static void on_closed(uv_handle_t *handle) {
  xdp_path *p = handle->data;
  free(handle);
  if (--p->handles > 0) return;
  if (p->frames != NULL) xsk_free(p->frames);
  xdp_path_owner owner = p->owner;
  free(p);
  owner.closed(owner.data);
}

void xdp_path_close(xdp_path *p) {
  if (p->closing) return;
  p->closing = true;
  uv_close((uv_handle_t *)p->connected, on_closed);
  if (p->received != NULL) uv_close((uv_handle_t *)p->received, on_closed);
  /* The socket first: the map of the program loses it, and what comes now goes to the UDP socket. */
  if (p->frames != NULL) xsk_close(p->frames);
  close(p->connection);
}

static void end(xdp_path *p, int error) {
  if (p->closing) return;
  xdp_path_close(p);
  p->owner.state(p->owner.data, error);
}

static void on_frames(uv_poll_t *poll, int status, int events) {
  (void)events;
  xdp_path *p = poll->data;
  if (p->closing) return;
  /* The interface is down or gone. */
  if (status < 0) end(p, status);
  else p->owner.readable(p->owner.data);
}

/* A poll handle; NULL: there is no memory, or the file cannot be polled. */
static uv_poll_t *watch(xdp_path *p, int fd, uv_poll_cb callback) {
  uv_poll_t *poll = calloc(1, uv_handle_size(UV_POLL));
  if (poll == NULL || uv_poll_init(p->loop, poll, fd) != 0) {
    free(poll);
    return NULL;
  }
  poll->data = p;
  p->handles++;
  /* The UDP socket keeps the thread running, or does not; this must not. */
  uv_unref((uv_handle_t *)poll);
  uv_poll_start(poll, UV_READABLE, callback);
  return poll;
}

/* The first answer, with the socket: it gets memory and a queue, and the loader is told. */
static int use(xdp_path *p, int fd, uint32_t interface) {
  int error = xsk_open(&p->frames, fd, interface, p->queue);
  if (error != 0) return error;
  p->received = watch(p, fd, on_frames);
  if (p->received == NULL) return -ENOMEM;
  xdp_bound bound = {.bound = 1};
  return send(p->connection, &bound, sizeof bound, MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof bound ? 0 : -EPIPE;
}

/* One message of the loader; 1: none is there yet. `*fd` is -1 where it brought none. */
static int read_answer(int connection, xdp_answer *answer, int *fd) {
  union {
    struct cmsghdr head;
    char octets[CMSG_SPACE(sizeof(int))];
  } control;
  struct iovec part = {.iov_base = answer, .iov_len = sizeof *answer};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  *fd = -1;
  ssize_t octets = recvmsg(connection, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (octets < 0) return errno == EAGAIN || errno == EINTR ? 1 : -errno;
  struct cmsghdr *head = CMSG_FIRSTHDR(&message);
  if (head != NULL && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS && head->cmsg_len == CMSG_LEN(sizeof(int)))
    memcpy(fd, CMSG_DATA(head), sizeof *fd);
  if (octets == sizeof *answer && (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0) return 0;
  if (*fd >= 0) close(*fd);
  *fd = -1;
  return octets == 0 ? -ECONNRESET : -EPROTO;
}

static void on_answer(uv_poll_t *poll, int status, int events) {
  (void)events;
  (void)status;
  xdp_path *p = poll->data;
  if (p->closing) return;
  xdp_answer answer;
  int fd, error = read_answer(p->connection, &answer, &fd);
  if (error == 1) return;
  if (error == -ECONNRESET) {
    end(p, 0);
  } else if (error != 0 || answer.error != 0) {
    if (error == 0 && fd >= 0) close(fd);
    end(p, error != 0 ? error : answer.error > 0 ? -answer.error : -EPROTO);
  } else if (p->frames == NULL && fd >= 0) {
    error = use(p, fd, answer.interface);
    if (error != 0) end(p, error);
  } else if (p->frames != NULL && fd < 0 && !p->attached && (answer.mode == XDP_NATIVE || answer.mode == XDP_GENERIC)) {
    p->attached = true;
    p->owner.state(p->owner.data, (int)answer.mode);
  } else {
    if (fd >= 0) close(fd);
    end(p, -EPROTO);
  }
}

/* A connection over which the request was sent, or a negative error number. */
static int ask(const char *socket_path, const xdp_request *request) {
  struct sockaddr_un to = {.sun_family = AF_UNIX};
  if (strlen(socket_path) >= sizeof to.sun_path) return -ENAMETOOLONG;
  strcpy(to.sun_path, socket_path);
  int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -errno;
  if (connect(fd, (struct sockaddr *)&to, sizeof to) == 0 &&
      send(fd, request, sizeof *request, MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof *request)
    return fd;
  int error = -errno;
  close(fd);
  return error;
}

int xdp_path_open(xdp_path **opened, uv_loop_t *loop, const char *socket_path, const xdp_request *request, xdp_path_owner owner) {
  xdp_path *p = calloc(1, sizeof *p);
  if (p == NULL) return -ENOMEM;
  p->owner = owner;
  p->loop = loop;
  p->queue = request->queue;
  p->connection = ask(socket_path, request);
  int error = p->connection < 0 ? p->connection : 0;
  if (error == 0) {
    p->connected = watch(p, p->connection, on_answer);
    if (p->connected != NULL) {
      *opened = p;
      return 0;
    }
    close(p->connection);
    error = -ENOMEM;
  }
  free(p);
  return error;
}

int xdp_path_receive(xdp_path *p, const xsk_slots *s) { return p->closing ? 0 : xsk_receive(p->frames, s); }

void xdp_path_send(xdp_path *p, int count, const xsk_slots *s) {
  if (!p->closing) xsk_send(p->frames, count, s);
}
