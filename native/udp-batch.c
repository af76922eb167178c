/*
 * Batched UDP for one thread: up to 64 datagrams a system call, one call into JavaScript for all of them, and one system
 * call for the replies. Used by src/dns/udp/batch-listener.ts, which does everything else; without this file the
 * server runs on node:dgram (docs/adr/01-packet-path.md).
 *
 * Only Node-API and uv_poll are used, so that one binary serves every Node of the last years. There is no state but that
 * of each socket, so any number of threads may load it.
 *
 * JavaScript and this file share one block of memory a socket, laid out as `describe_layout` tells. What JavaScript may
 * write there, addresses and lengths of replies, is checked here or by the kernel before it is used.
 */
#define _GNU_SOURCE
#define NAPI_VERSION 8

#include <errno.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <netdb.h>
#include <netinet/in.h>
#include <node_api.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "local-address.h"
#include "xdp-path.h"

/* Raised whenever JavaScript has to know. */
#define ABI 5

#define SLOTS 64
/* No UDP datagram is longer, so none is ever cut. Only pages that were written to take memory. */
#define REQUEST_OCTETS 65536
#define REPLY_OCTETS 4096
/* Slots at multiples of the page size would share the same few lines of the processor's caches. */
#define STAGGER 192
#define REQUEST_STRIDE (REQUEST_OCTETS + STAGGER)
#define REPLY_STRIDE (REPLY_OCTETS + STAGGER)
/* Room for a sockaddr_in6, 28 octets, and at LOCAL_AT for the address that was asked. */
#define PEER_STRIDE 64

#define REQUESTS_AT 0
#define REPLIES_AT (REQUESTS_AT + SLOTS * REQUEST_STRIDE)
#define PEERS_AT (REPLIES_AT + SLOTS * REPLY_STRIDE)
#define REQUEST_LENGTHS_AT (PEERS_AT + SLOTS * PEER_STRIDE)
#define REPLY_LENGTHS_AT (REQUEST_LENGTHS_AT + SLOTS * 4)
#define MEMORY_OCTETS (REPLY_LENGTHS_AT + SLOTS * 4)

/* Instead of a length: this slot holds nothing to look at. */
#define SKIP (-1)
/* Instead of a count of slots: the shared memory was detached, and nothing is received any more. */
#define DETACHED (-1)
/*
 * Asked of the kernel, which may give less. The receive queue is short, for what waits in it is in front of everybody: a
 * queue longer than a client's patience holds questions that nobody waits for any more. Replies may take more room.
 */
#define RECEIVE_BUFFER_OCTETS (512 * 1024)
#define SEND_BUFFER_OCTETS (4 * 1024 * 1024)
/* How long a full send buffer is waited for, once a batch. */
#define SEND_PATIENCE_MS 1
/* Interfaces below which one endpoint receives. */
#define PATHS 8

typedef struct endpoint endpoint;

/* A way below the socket (xdp-path.h). */
typedef struct {
  endpoint *of;
  xdp_path *path;
  napi_ref on_state;
} below;

struct endpoint {
  napi_env env;
  napi_ref on_batch;
  napi_ref memory;
  napi_async_cleanup_hook_handle cleanup;
  uv_poll_t *poll;
  int fd;
  bool closing;
  /* What is not closed yet: the poll handle, and each path. */
  int open;
  below *paths[PATHS];
  /* Of the socket's family. */
  socklen_t address_octets;
  int32_t *request_lengths;
  int32_t *reply_lengths;
  unsigned char *replies;
  xsk_slots slots;
  struct mmsghdr in[SLOTS];
  struct mmsghdr out[SLOTS];
  struct iovec in_octets[SLOTS];
  struct iovec out_octets[SLOTS];
  /* Whether the socket takes datagrams to every address. */
  bool is_any;
  union control {
    struct cmsghdr header;
    unsigned char octets[LOCAL_CONTROL_OCTETS];
  } in_control[SLOTS], out_control[SLOTS];
};

/* Marks the objects that `open` returns, so that no other object's pointer is ever taken for an endpoint. */
static const napi_type_tag ENDPOINT = {0x8f2d1c6ab0e94735, 0xa1c35e7790d24b18};

/* ---- Receiving and sending ---- */

/*
 * Whether the shared memory is still ours. JavaScript can detach it (structuredClone with a transfer list), and the
 * octets are freed with whatever took them over. To be asked before each system call that reads or writes there.
 */
static bool holds_memory(endpoint *e) {
  napi_handle_scope scope;
  if (napi_open_handle_scope(e->env, &scope) != napi_ok) return false;
  napi_value memory;
  bool detached = true;
  bool known = napi_get_reference_value(e->env, e->memory, &memory) == napi_ok && memory != NULL &&
               napi_is_detached_arraybuffer(e->env, memory, &detached) == napi_ok;
  napi_close_handle_scope(e->env, scope);
  return known && !detached;
}

static int receive(endpoint *e) {
  int count = recvmmsg(e->fd, e->in, SLOTS, MSG_DONTWAIT, NULL);
  /* Besides "nothing there" only errors of single packets are possible, and those are nobody's business. */
  if (count <= 0) return 0;
  for (int i = 0; i < count; i++) {
    struct msghdr *header = &e->in[i].msg_hdr;
    bool whole = (header->msg_flags & MSG_TRUNC) == 0 && header->msg_namelen == e->address_octets;
    e->request_lengths[i] = whole ? (int32_t)e->in[i].msg_len : SKIP;
    e->reply_lengths[i] = 0;
    header->msg_namelen = e->address_octets;
    if (!e->is_any) continue;
    local_read(header, (unsigned char *)header->msg_name + LOCAL_AT);
    header->msg_controllen = sizeof(union control);
  }
  return count;
}

/* Whether it is worth another try: the buffer was full, and now has room or soon did. */
static bool can_retry(endpoint *e, bool *waited) {
  if (errno == EINTR) return true;
  if ((errno != EAGAIN && errno != EWOULDBLOCK) || *waited) return false;
  *waited = true;
  struct pollfd room = {.fd = e->fd, .events = POLLOUT, .revents = 0};
  return poll(&room, 1, SEND_PATIENCE_MS) > 0;
}

/* Sends the replies of a batch of `count`. One that the kernel will not have (no route, no permission) is lost alone. */
static void send_replies(endpoint *e, int count) {
  unsigned int ready = 0;
  for (int i = 0; i < count; i++) {
    int32_t length = e->reply_lengths[i];
    if (length <= 0 || length > REPLY_OCTETS) continue;
    e->out_octets[ready].iov_base = e->replies + (size_t)i * REPLY_STRIDE;
    e->out_octets[ready].iov_len = (size_t)length;
    unsigned char *peer = e->in[i].msg_hdr.msg_name;
    e->out[ready].msg_hdr.msg_name = peer;
    local_write(&e->out[ready].msg_hdr, e->slots.family, peer + LOCAL_AT, &e->out_control[ready]);
    ready++;
  }
  bool waited = false;
  for (unsigned int sent = 0; sent < ready;) {
    int more = sendmmsg(e->fd, e->out + sent, ready - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (more > 0) {
      sent += (unsigned int)more;
    } else if (!can_retry(e, &waited)) {
      if (errno == EAGAIN || errno == EWOULDBLOCK) return;
      sent++;
    }
  }
}

/*
 * Calls JavaScript. What it throws ends up where uncaught exceptions do; where nothing may run any more, because the thread is being ended, nothing
 * does.
 */
static void call(napi_env env, napi_ref function, const int32_t *numbers, size_t count) {
  napi_handle_scope scope;
  if (napi_open_handle_scope(env, &scope) != napi_ok) return;
  napi_value callback, receiver, arguments[2];
  bool done = napi_get_reference_value(env, function, &callback) == napi_ok && napi_get_global(env, &receiver) == napi_ok;
  for (size_t i = 0; done && i < count; i++) done = napi_create_int32(env, numbers[i], &arguments[i]) == napi_ok;
  /* Promises and ticks are served when it returns, as after any callback of Node's own. */
  done = done && napi_make_callback(env, NULL, receiver, callback, count, arguments, NULL) == napi_ok;
  if (!done) {
    bool pending = false;
    napi_value thrown;
    if (napi_is_exception_pending(env, &pending) == napi_ok && pending &&
        napi_get_and_clear_last_exception(env, &thrown) == napi_ok) {
      napi_fatal_exception(env, thrown);
    }
  }
  napi_close_handle_scope(env, scope);
}

/* Gives a batch to JavaScript, and says whether it came below the socket. */
static void call_back(endpoint *e, int count, bool is_below) {
  call(e->env, e->on_batch, (int32_t[]){count, is_below}, 2);
}

static void on_readable(uv_poll_t *poll, int status, int events) {
  (void)events;
  endpoint *e = poll->data;
  if (status < 0) {
    /* libuv stops at an error that the kernel had put aside. Reading takes it away; the socket itself is well. */
    int error = 0;
    socklen_t octets = sizeof error;
    getsockopt(e->fd, SOL_SOCKET, SO_ERROR, &error, &octets);
    uv_poll_start(poll, UV_READABLE, on_readable);
    return;
  }
  if (!holds_memory(e)) {
    /* Not closed here: JavaScript still holds the endpoint, and closes it. */
    uv_poll_stop(poll);
    call_back(e, DETACHED, false);
    return;
  }
  /* One batch a turn: libuv calls again as long as there is more, and between two calls it serves timers and streams. */
  int count = receive(e);
  if (count == 0) return;
  call_back(e, count, false);
  /* JavaScript may have closed it; the memory of `e` itself lives until the event loop has seen that. */
  if (!e->closing && holds_memory(e)) send_replies(e, count);
}

/* ---- Ending ---- */

static void let_go(endpoint *e) {
  if (--e->open > 0) return;
  if (e->cleanup != NULL) napi_remove_async_cleanup_hook(e->cleanup);
  free(e);
}

static void on_closed(uv_handle_t *handle) {
  let_go(handle->data);
  free(handle);
}

/* Frees the port at once and the memory when the event loop has let go of it. */
static void shut(endpoint *e) {
  if (e->closing) return;
  e->closing = true;
  for (size_t i = 0; i < PATHS; i++)
    if (e->paths[i] != NULL) xdp_path_close(e->paths[i]->path);
  uv_close((uv_handle_t *)e->poll, on_closed);
  close(e->fd);
  e->fd = -1;
  if (e->on_batch != NULL) napi_delete_reference(e->env, e->on_batch);
  if (e->memory != NULL) napi_delete_reference(e->env, e->memory);
}

/* The thread ends, whatever state its sockets are in. It waits until `on_closed` has removed the hook. */
static void on_teardown(napi_async_cleanup_hook_handle hook, void *data) {
  (void)hook;
  shut(data);
}

/* ---- Opening ---- */

static int fail(int fd) {
  int error = errno;
  close(fd);
  return -error;
}

/* Some sandboxes have no such system calls. An empty list tests for sending, a socket without a port for receiving. */
static bool has_batches(int fd) {
  char octet;
  struct iovec octets = {.iov_base = &octet, .iov_len = 1};
  struct mmsghdr message = {.msg_hdr = {.msg_iov = &octets, .msg_iovlen = 1}};
  return sendmmsg(fd, &message, 0, MSG_DONTWAIT) == 0 && recvmmsg(fd, &message, 1, MSG_DONTWAIT, NULL) < 0 &&
         (errno == EAGAIN || errno == EWOULDBLOCK);
}

/* A bound socket, or the negative number of an error; ENOSYS where batches cannot be had. */
static int open_socket(const char *host, uint32_t port, bool reuse_port, socklen_t *address_octets, bool *is_any) {
  char service[12];
  snprintf(service, sizeof service, "%u", port);
  struct addrinfo hints = {
      .ai_family = AF_UNSPEC,
      .ai_socktype = SOCK_DGRAM,
      .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
  };
  struct addrinfo *found;
  if (port > 65535 || getaddrinfo(host, service, &hints, &found) != 0) return -EINVAL;
  int fd = socket(found->ai_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    int error = errno;
    freeaddrinfo(found);
    return -error;
  }
  if (!has_batches(fd)) {
    close(fd);
    freeaddrinfo(found);
    return -ENOSYS;
  }
  int on = 1, off = 0, in_octets = RECEIVE_BUFFER_OCTETS, out_octets = SEND_BUFFER_OCTETS;
  bool set = true;
  if (reuse_port) set = setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) == 0;
  /* An address of `::` takes both families. */
  if (set && found->ai_family == AF_INET6)
    set = setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) == 0;
  setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &in_octets, sizeof in_octets);
  setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &out_octets, sizeof out_octets);
  *is_any = local_is_any(found->ai_addr);
  if (*is_any) local_ask(fd, (sa_family_t)found->ai_family);
  if (!set || bind(fd, found->ai_addr, found->ai_addrlen) != 0) fd = fail(fd);
  *address_octets = found->ai_addrlen;
  freeaddrinfo(found);
  return fd;
}

/* Points the kernel's message headers into the shared memory. */
static void lay_out(endpoint *e, unsigned char *memory) {
  e->replies = memory + REPLIES_AT;
  e->slots = (xsk_slots){
      .requests = memory + REQUESTS_AT,
      .replies = e->replies,
      .peers = memory + PEERS_AT,
      .request_stride = REQUEST_STRIDE,
      .reply_stride = REPLY_STRIDE,
      .peer_stride = PEER_STRIDE,
      .request_lengths = (int32_t *)(memory + REQUEST_LENGTHS_AT),
      .reply_lengths = (int32_t *)(memory + REPLY_LENGTHS_AT),
      .slots = SLOTS,
      .reply_octets = REPLY_OCTETS,
      .socket = e->fd,
      .family = e->address_octets == sizeof(struct sockaddr_in) ? AF_INET : AF_INET6,
      .address_octets = e->address_octets,
  };
  e->request_lengths = (int32_t *)(memory + REQUEST_LENGTHS_AT);
  e->reply_lengths = (int32_t *)(memory + REPLY_LENGTHS_AT);
  for (size_t i = 0; i < SLOTS; i++) {
    e->in_octets[i].iov_base = memory + REQUESTS_AT + i * REQUEST_STRIDE;
    e->in_octets[i].iov_len = REQUEST_OCTETS;
    e->in[i].msg_hdr.msg_name = memory + PEERS_AT + i * PEER_STRIDE;
    e->in[i].msg_hdr.msg_namelen = e->address_octets;
    e->in[i].msg_hdr.msg_iov = &e->in_octets[i];
    e->in[i].msg_hdr.msg_iovlen = 1;
    if (e->is_any) {
      e->in[i].msg_hdr.msg_control = &e->in_control[i];
      e->in[i].msg_hdr.msg_controllen = sizeof(union control);
    }
    e->out[i].msg_hdr.msg_namelen = e->address_octets;
    e->out[i].msg_hdr.msg_iov = &e->out_octets[i];
    e->out[i].msg_hdr.msg_iovlen = 1;
  }
}

/* Where the kernel bound it. */
static bool describe_address(napi_env env, int fd, napi_value into) {
  struct sockaddr_storage bound;
  socklen_t octets = sizeof bound;
  char host[NI_MAXHOST], port[NI_MAXSERV];
  napi_value host_text, port_number;
  return getsockname(fd, (struct sockaddr *)&bound, &octets) == 0 &&
         getnameinfo((struct sockaddr *)&bound, octets, host, sizeof host, port, sizeof port,
                     NI_NUMERICHOST | NI_NUMERICSERV) == 0 &&
         napi_create_string_latin1(env, host, NAPI_AUTO_LENGTH, &host_text) == napi_ok &&
         napi_create_uint32(env, (uint32_t)atoi(port), &port_number) == napi_ok &&
         napi_set_named_property(env, into, "host", host_text) == napi_ok &&
         napi_set_named_property(env, into, "port", port_number) == napi_ok;
}

/* Everything of an endpoint that JavaScript sees, and the references that keep it. */
static bool attach(endpoint *e, napi_value callback, napi_value *object) {
  napi_env env = e->env;
  void *memory;
  napi_value buffer;
  if (napi_create_arraybuffer(env, MEMORY_OCTETS, &memory, &buffer) != napi_ok) return false;
  lay_out(e, memory);
  return napi_create_object(env, object) == napi_ok &&
         napi_set_named_property(env, *object, "memory", buffer) == napi_ok &&
         describe_address(env, e->fd, *object) &&
         napi_type_tag_object(env, *object, &ENDPOINT) == napi_ok &&
         napi_wrap(env, *object, e, NULL, NULL, NULL) == napi_ok &&
         napi_create_reference(env, callback, 1, &e->on_batch) == napi_ok &&
         napi_create_reference(env, buffer, 1, &e->memory) == napi_ok &&
         napi_add_async_cleanup_hook(env, on_teardown, e, &e->cleanup) == napi_ok;
}

static napi_value number(napi_env env, int32_t value) {
  napi_value result;
  return napi_create_int32(env, value, &result) == napi_ok ? result : NULL;
}

/* open(host, port, reusePort, onBatch): an endpoint, or the negative number of an error. */
static napi_value open_endpoint(napi_env env, napi_callback_info info) {
  size_t argc = 4;
  napi_value argv[4];
  char host[NI_MAXHOST];
  size_t host_octets;
  uint32_t port;
  bool reuse_port;
  napi_valuetype kind;
  uv_loop_t *loop;
  if (napi_get_cb_info(env, info, &argc, argv, NULL, NULL) != napi_ok || argc < 4 ||
      napi_get_value_string_utf8(env, argv[0], host, sizeof host, &host_octets) != napi_ok ||
      napi_get_value_uint32(env, argv[1], &port) != napi_ok ||
      napi_get_value_bool(env, argv[2], &reuse_port) != napi_ok ||
      napi_typeof(env, argv[3], &kind) != napi_ok || kind != napi_function ||
      napi_get_uv_event_loop(env, &loop) != napi_ok) {
    napi_throw_type_error(env, NULL, "open(host, port, reusePort, onBatch)");
    return NULL;
  }
  socklen_t address_octets = 0;
  bool is_any = false;
  int fd = open_socket(host, port, reuse_port, &address_octets, &is_any);
  if (fd < 0) return number(env, fd);

  endpoint *e = calloc(1, sizeof *e);
  /* The size is asked for, not compiled in: this libuv may be a later one than that of the headers. */
  uv_poll_t *poll = calloc(1, uv_handle_size(UV_POLL));
  int error = e == NULL || poll == NULL ? -ENOMEM : uv_poll_init(loop, poll, fd);
  if (error != 0) {
    free(poll);
    free(e);
    close(fd);
    return number(env, error);
  }
  e->env = env;
  e->poll = poll;
  e->fd = fd;
  e->address_octets = address_octets;
  e->is_any = is_any;
  e->open = 1;
  poll->data = e;
  napi_value object;
  if (!attach(e, argv[3], &object) || uv_poll_start(poll, UV_READABLE, on_readable) != 0) {
    shut(e);
    bool pending = false;
    if (napi_is_exception_pending(env, &pending) == napi_ok && pending) return NULL;
    return number(env, -ENOMEM);
  }
  return object;
}

/* ---- The other functions ---- */

/* The endpoint of an object, or NULL: it is none, or closed. */
static endpoint *endpoint_of(napi_env env, napi_value object) {
  bool ours = false;
  void *found = NULL;
  napi_valuetype kind;
  if (napi_typeof(env, object, &kind) != napi_ok || kind != napi_object) return NULL;
  if (napi_check_object_type_tag(env, object, &ENDPOINT, &ours) != napi_ok || !ours) return NULL;
  return napi_unwrap(env, object, &found) == napi_ok ? found : NULL;
}

static bool octets_of(napi_env env, napi_value value, void **data, size_t *length) {
  napi_typedarray_type type;
  return napi_get_typedarray_info(env, value, &type, length, data, NULL, NULL) == napi_ok && type == napi_uint8_array;
}

/* send(endpoint, peer, message, octets): one reply outside a batch, to all octets of a peer's slot. What cannot be sent is lost, as UDP may. */
static napi_value send_one(napi_env env, napi_callback_info info) {
  size_t argc = 4;
  napi_value argv[4];
  void *peer, *message;
  size_t peer_octets, message_octets;
  uint32_t octets;
  if (napi_get_cb_info(env, info, &argc, argv, NULL, NULL) != napi_ok || argc < 4) return NULL;
  endpoint *e = endpoint_of(env, argv[0]);
  if (e == NULL || e->closing) return NULL;
  if (!octets_of(env, argv[1], &peer, &peer_octets) || peer_octets < PEER_STRIDE ||
      !octets_of(env, argv[2], &message, &message_octets) ||
      napi_get_value_uint32(env, argv[3], &octets) != napi_ok || octets > message_octets) {
    return NULL;
  }
  union control control;
  struct iovec content = {.iov_base = message, .iov_len = octets};
  struct msghdr header = {.msg_name = peer, .msg_namelen = e->address_octets, .msg_iov = &content, .msg_iovlen = 1};
  local_write(&header, e->slots.family, (unsigned char *)peer + LOCAL_AT, &control);
  bool waited = false;
  while (sendmsg(e->fd, &header, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 && can_retry(e, &waited)) {
  }
  return NULL;
}

/* flush(endpoint, count): the replies in the first slots, to the peers in them. Never called while a batch is answered. */
static napi_value flush(napi_env env, napi_callback_info info) {
  size_t argc = 2;
  napi_value argv[2];
  uint32_t count;
  if (napi_get_cb_info(env, info, &argc, argv, NULL, NULL) != napi_ok || argc < 2) return NULL;
  endpoint *e = endpoint_of(env, argv[0]);
  if (e == NULL || e->closing || napi_get_value_uint32(env, argv[1], &count) != napi_ok || count > SLOTS) return NULL;
  if (holds_memory(e)) send_replies(e, (int)count);
  return NULL;
}

/* close(endpoint): no callback comes any more, the port is free. A second call does nothing. */
static napi_value close_endpoint(napi_env env, napi_callback_info info) {
  size_t argc = 1;
  napi_value argv[1];
  void *found;
  if (napi_get_cb_info(env, info, &argc, argv, NULL, NULL) != napi_ok || argc < 1) return NULL;
  if (endpoint_of(env, argv[0]) != NULL && napi_remove_wrap(env, argv[0], &found) == napi_ok) shut(found);
  return NULL;
}

/* ---- Below the socket ---- */

static void on_below(void *data) {
  below *b = data;
  endpoint *e = b->of;
  if (e->closing || !holds_memory(e)) {
    xdp_path_close(b->path);
    return;
  }
  int count = xdp_path_receive(b->path, &e->slots);
  if (count == 0) return;
  call_back(e, count, true);
  if (!e->closing && holds_memory(e)) xdp_path_send(b->path, count, &e->slots);
}

static void on_below_state(void *data, int state) {
  below *b = data;
  call(b->of->env, b->on_state, (int32_t[]){state}, 1);
}

static void on_below_closed(void *data) {
  below *b = data;
  endpoint *e = b->of;
  for (size_t i = 0; i < PATHS; i++)
    if (e->paths[i] == b) e->paths[i] = NULL;
  napi_delete_reference(e->env, b->on_state);
  free(b);
  let_go(e);
}

/* What the loader is asked for: the address and port that the socket is bound to. */
static bool describe_socket(endpoint *e, xdp_request *r) {
  struct sockaddr_storage bound;
  socklen_t octets = sizeof bound;
  if (getsockname(e->fd, (struct sockaddr *)&bound, &octets) != 0) return false;
  if (bound.ss_family == AF_INET) {
    const struct sockaddr_in *ipv4 = (const struct sockaddr_in *)&bound;
    r->port = ntohs(ipv4->sin_port);
    r->only_ipv4 = 1;
    if (ipv4->sin_addr.s_addr == htonl(INADDR_ANY)) return true;
    r->address[10] = r->address[11] = 0xff;
    memcpy(r->address + 12, &ipv4->sin_addr, 4);
    return true;
  }
  const struct sockaddr_in6 *ipv6 = (const struct sockaddr_in6 *)&bound;
  r->port = ntohs(ipv6->sin6_port);
  memcpy(r->address, &ipv6->sin6_addr, sizeof r->address);
  return true;
}

/*
 * attach(endpoint, socketPath, interface, queue, mode, onState): 0, or the negative number of an error. After 0, onState gets the mode when requests
 * begin to come below the socket, and 0 or a negative error number when none comes any more; then it is not called again.
 */
static napi_value attach_below(napi_env env, napi_callback_info info) {
  size_t argc = 6;
  napi_value argv[6];
  char socket_path[128];
  size_t path_octets, name_octets;
  napi_valuetype kind;
  uv_loop_t *loop;
  xdp_request request = {.protocol = XDP_PROTOCOL};
  if (napi_get_cb_info(env, info, &argc, argv, NULL, NULL) != napi_ok || argc < 6 ||
      napi_get_value_string_utf8(env, argv[1], socket_path, sizeof socket_path, &path_octets) != napi_ok ||
      napi_get_value_string_utf8(env, argv[2], request.interface, sizeof request.interface, &name_octets) != napi_ok ||
      napi_get_value_uint32(env, argv[3], &request.queue) != napi_ok ||
      napi_get_value_uint32(env, argv[4], &request.mode) != napi_ok || napi_typeof(env, argv[5], &kind) != napi_ok ||
      kind != napi_function || napi_get_uv_event_loop(env, &loop) != napi_ok) {
    napi_throw_type_error(env, NULL, "attach(endpoint, socketPath, interface, queue, mode, onState)");
    return NULL;
  }
  endpoint *e = endpoint_of(env, argv[0]);
  if (e == NULL || e->closing || !describe_socket(e, &request)) return number(env, -EBADF);
  size_t place = 0;
  while (place < PATHS && e->paths[place] != NULL) place++;
  if (place == PATHS) return number(env, -ENOSPC);
  below *b = calloc(1, sizeof *b);
  if (b == NULL) return number(env, -ENOMEM);
  b->of = e;
  xdp_path_owner owner = {.data = b, .readable = on_below, .state = on_below_state, .closed = on_below_closed};
  int error = napi_create_reference(env, argv[5], 1, &b->on_state) != napi_ok ? -ENOMEM : xdp_path_open(&b->path, loop, socket_path, &request, owner);
  if (error != 0) {
    if (b->on_state != NULL) napi_delete_reference(env, b->on_state);
    free(b);
    return number(env, error);
  }
  e->open++;
  e->paths[place] = b;
  return number(env, 0);
}

/* trim(): pages in which the C library holds only free memory go back to the kernel, those of all threads. */
static napi_value trim(napi_env env, napi_callback_info info) {
  (void)env;
  (void)info;
#ifdef __GLIBC__
  malloc_trim(0);
#endif
  return NULL;
}

static bool describe_layout(napi_env env, napi_value exports) {
  static const struct {
    const char *name;
    int32_t value;
  } ROWS[] = {
      {"slots", SLOTS},
      {"requestsAt", REQUESTS_AT},
      {"requestOctets", REQUEST_OCTETS},
      {"requestStride", REQUEST_STRIDE},
      {"repliesAt", REPLIES_AT},
      {"replyOctets", REPLY_OCTETS},
      {"replyStride", REPLY_STRIDE},
      {"peersAt", PEERS_AT},
      {"peerStride", PEER_STRIDE},
      {"requestLengthsAt", REQUEST_LENGTHS_AT},
      {"replyLengthsAt", REPLY_LENGTHS_AT},
  };
  napi_value layout, abi = number(env, ABI);
  if (abi == NULL || napi_create_object(env, &layout) != napi_ok) return false;
  for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
    napi_value value = number(env, ROWS[i].value);
    if (value == NULL || napi_set_named_property(env, layout, ROWS[i].name, value) != napi_ok) return false;
  }
  return napi_set_named_property(env, exports, "abi", abi) == napi_ok &&
         napi_set_named_property(env, exports, "layout", layout) == napi_ok;
}

NAPI_MODULE_INIT() {
  static const struct {
    const char *name;
    napi_callback body;
  } FUNCTIONS[] = {{"open", open_endpoint}, {"send", send_one}, {"flush", flush}, {"close", close_endpoint}, {"attach", attach_below}, {"trim", trim}};
  for (size_t i = 0; i < sizeof FUNCTIONS / sizeof *FUNCTIONS; i++) {
    napi_value function;
    if (napi_create_function(env, FUNCTIONS[i].name, NAPI_AUTO_LENGTH, FUNCTIONS[i].body, NULL, &function) !=
            napi_ok ||
        napi_set_named_property(env, exports, FUNCTIONS[i].name, function) != napi_ok) {
      return NULL;
    }
  }
  return describe_layout(env, exports) ? exports : NULL;
}
