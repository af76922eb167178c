/*
 * uqrp-xdp: lets a DNS server receive below its UDP sockets (docs/adr/18-below-the-sockets.md). It needs CAP_NET_ADMIN, CAP_NET_RAW and CAP_BPF, so
 * that the server, which faces the network, needs none of them. It loads a program for an interface that it was told of, hands an AF_XDP socket to
 * whoever may open its Unix socket, and keeps the program attached for as long as that connection lasts.
 *
 *   uqrp-xdp SOCKET PORT INTERFACE...
 *
 * What the program lets through goes past the firewall of this host: unfragmented UDP without options, to one port, an address of this host and the
 * MAC address of the interface. Everything else goes to the kernel as before. A link of BPF ends with its last descriptor: with this process.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_link.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "xdp-interface.h"
#include "xdp.h"
#include "xdp-program.h"

#define CONNECTIONS 64
#define INTERFACES 16
#define QUEUES 64
/* How often addresses of interfaces are read again. */
#define LOOK_MS 1000

/* One program on one interface, shared by the connections for its queues. */
typedef struct {
  bool used;
  int connections;
  xdp_request request;
  facts seen;
  uint32_t mode;
  int sockets, addresses, link;
  unsigned char known[ADDRESSES][16];
  size_t known_count;
} attachment;

typedef struct {
  int fd;
  attachment *of;
  uint32_t queue;
  /* The AF_XDP socket until the server has bound it; -1 after. */
  int socket;
} connection;

static attachment attachments[INTERFACES];
static connection connections[CONNECTIONS];
static char **allowed;
static int allowed_count;
static uint32_t allowed_port;

static long bpf(int command, union bpf_attr *of) { return syscall(SYS_bpf, command, of, sizeof *of); }

static void say(const attachment *a, const char *what, const char *detail) {
  fprintf(stderr, "uqrp-xdp: %.*s port %u: %s%s%s\n", IF_NAMESIZE, a->request.interface, a->request.port, what, *detail ? ": " : "", detail);
}

/* ---- Addresses ---- */

static bool has(unsigned char of[ADDRESSES][16], size_t count, const unsigned char *address) {
  for (size_t i = 0; i < count; i++)
    if (memcmp(of[i], address, 16) == 0) return true;
  return false;
}

static void change_address(int map, int command, unsigned char *address) {
  uint32_t value = 1;
  union bpf_attr of = {0};
  of.map_fd = (uint32_t)map;
  of.key = (uintptr_t)address;
  /* The kernel refuses fields that a command does not use. */
  if (command == BPF_MAP_UPDATE_ELEM) of.value = (uintptr_t)&value;
  bpf(command, &of);
}

/* Makes the program's map hold the addresses that the host has now. */
static void renew_addresses(attachment *a) {
  unsigned char now[ADDRESSES][16];
  size_t count = listened(&a->request, now);
  for (size_t i = 0; i < a->known_count; i++)
    if (!has(now, count, a->known[i])) change_address(a->addresses, BPF_MAP_DELETE_ELEM, a->known[i]);
  for (size_t i = 0; i < count; i++)
    if (!has(a->known, a->known_count, now[i])) change_address(a->addresses, BPF_MAP_UPDATE_ELEM, now[i]);
  memcpy(a->known, now, sizeof now);
  a->known_count = count;
}

/* ---- Attaching ---- */

static int make_map(enum bpf_map_type type, uint32_t key_octets, uint32_t entries) {
  union bpf_attr of = {0};
  of.map_type = type;
  of.key_size = key_octets;
  of.value_size = 4;
  of.max_entries = entries;
  return (int)bpf(BPF_MAP_CREATE, &of);
}

static int attach_as(int program, uint32_t index, uint32_t mode) {
  union bpf_attr of = {0};
  of.link_create.prog_fd = (uint32_t)program;
  of.link_create.target_ifindex = index;
  of.link_create.attach_type = BPF_XDP;
  of.link_create.flags = mode == XDP_NATIVE ? XDP_FLAGS_DRV_MODE : XDP_FLAGS_SKB_MODE;
  return (int)bpf(BPF_LINK_CREATE, &of);
}

static void detach(attachment *a) {
  int fds[] = {a->link, a->sockets, a->addresses};
  for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
    if (fds[i] >= 0) close(fds[i]);
  a->used = false;
}

/* 0, or a number of errno.h. */
static int attach(attachment *a, const xdp_request *r) {
  memset(a, 0, sizeof *a);
  a->link = a->sockets = a->addresses = -1;
  a->request = *r;
  int error = read_facts(r->interface, &a->seen);
  if (error != 0) return error;
  if (has_vlans(r->interface)) return EADDRINUSE;
  a->sockets = make_map(BPF_MAP_TYPE_XSKMAP, 4, QUEUES);
  if (a->sockets < 0) return errno;
  a->addresses = make_map(BPF_MAP_TYPE_HASH, 16, ADDRESSES);
  if (a->addresses < 0) return errno;
  struct bpf_insn program[PROGRAM_MOST];
  union bpf_attr of = {0};
  of.prog_type = BPF_PROG_TYPE_XDP;
  of.insns = (uintptr_t)program;
  of.insn_cnt = make_program(program, a->seen.mac, (uint16_t)r->port, a->sockets, a->addresses);
  of.license = (uintptr_t)"Apache-2.0";
  int loaded = (int)bpf(BPF_PROG_LOAD, &of);
  if (loaded < 0) return errno;
  renew_addresses(a);
  a->mode = r->mode != XDP_AUTO ? r->mode : is_virtual_pair(r->interface) ? XDP_GENERIC : XDP_NATIVE;
  a->link = attach_as(loaded, a->seen.index, a->mode);
  if (a->link < 0 && r->mode == XDP_AUTO && a->mode == XDP_NATIVE && errno != EBUSY) {
    a->mode = XDP_GENERIC;
    a->link = attach_as(loaded, a->seen.index, a->mode);
  }
  error = errno;
  close(loaded);
  return a->link < 0 ? error : 0;
}

/* ---- Connections ---- */

static bool is_allowed(const xdp_request *r) {
  if (r->port != allowed_port || r->queue >= QUEUES || r->mode > XDP_GENERIC || memchr(r->interface, 0, IF_NAMESIZE) == NULL) return false;
  for (int i = 0; i < allowed_count; i++)
    if (strcmp(allowed[i], r->interface) == 0) return true;
  return false;
}

/* An attachment that this request shares, or a new one. 0, or a number of errno.h. */
static int attachment_for(const xdp_request *r, attachment **found) {
  attachment *unused = NULL;
  for (size_t i = 0; i < INTERFACES; i++) {
    attachment *a = &attachments[i];
    if (!a->used) {
      unused = a;
      continue;
    }
    if (strcmp(a->request.interface, r->interface) != 0) continue;
    bool same = memcmp(a->request.address, r->address, sizeof r->address) == 0 && a->request.only_ipv4 == r->only_ipv4 && a->request.mode == r->mode;
    *found = a;
    return same ? 0 : EBUSY;
  }
  if (unused == NULL) return ENOSPC;
  int error = attach(unused, r);
  if (error != 0) {
    say(unused, "refused", strerror(error));
    detach(unused);
    return error;
  }
  unused->used = true;
  say(unused, unused->mode == XDP_NATIVE ? "attached, native" : "attached, generic", "the firewall of this host does not see these packets");
  *found = unused;
  return 0;
}

static void hang_up(connection *c) {
  if (c->socket >= 0) close(c->socket);
  close(c->fd);
  c->fd = c->socket = -1;
  attachment *a = c->of;
  c->of = NULL;
  if (a == NULL || --a->connections > 0) return;
  say(a, "detached", "");
  detach(a);
}

/* Whether the answer left. With a socket, the server gets a copy of it. */
static bool answer(const connection *c, int error, int with) {
  xdp_answer a = {.error = error};
  if (c->of != NULL) {
    a.interface = c->of->seen.index;
    a.mode = c->of->mode;
  }
  union {
    struct cmsghdr head;
    char octets[CMSG_SPACE(sizeof(int))];
  } control = {0};
  struct iovec part = {.iov_base = &a, .iov_len = sizeof a};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  if (with >= 0) {
    message.msg_control = &control;
    message.msg_controllen = sizeof control;
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(head), &with, sizeof with);
  }
  return sendmsg(c->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof a;
}

static bool on_request(connection *c) {
  xdp_request r;
  if (recv(c->fd, &r, sizeof r, MSG_DONTWAIT | MSG_TRUNC) != sizeof r || r.protocol != XDP_PROTOCOL) return false;
  int error = is_allowed(&r) ? attachment_for(&r, &c->of) : EACCES;
  if (error != 0) {
    c->of = NULL;
    answer(c, error, -1);
    return false;
  }
  c->of->connections++;
  c->queue = r.queue;
  c->socket = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
  if (c->socket >= 0) return answer(c, 0, c->socket);
  answer(c, errno, -1);
  return false;
}

static bool on_bound(connection *c) {
  xdp_bound bound;
  if (recv(c->fd, &bound, sizeof bound, MSG_DONTWAIT | MSG_TRUNC) != sizeof bound) return false;
  union bpf_attr of = {0};
  of.map_fd = (uint32_t)c->of->sockets;
  of.key = (uintptr_t)&c->queue;
  of.value = (uintptr_t)&c->socket;
  int error = bpf(BPF_MAP_UPDATE_ELEM, &of) == 0 ? 0 : errno;
  /* The map forgets the socket when the server closes it, which needs this copy gone. */
  close(c->socket);
  c->socket = -1;
  return answer(c, error, -1) && error == 0;
}

/* Anything that a server sends once it is attached is an error, and so is its end. */
static bool on_message(connection *c) { return c->of == NULL ? on_request(c) : c->socket >= 0 && on_bound(c); }

static void look(void) {
  for (size_t i = 0; i < INTERFACES; i++) {
    attachment *a = &attachments[i];
    if (!a->used) continue;
    facts now;
    if (read_facts(a->request.interface, &now) == 0 && memcmp(&now, &a->seen, sizeof now) == 0 && !has_vlans(a->request.interface)) {
      renew_addresses(a);
      continue;
    }
    say(a, "the interface changed", "");
    for (size_t c = 0; c < CONNECTIONS; c++)
      if (connections[c].fd >= 0 && connections[c].of == a) hang_up(&connections[c]);
  }
}

static void take(int listener) {
  int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
  if (fd < 0) return;
  for (size_t i = 0; i < CONNECTIONS; i++) {
    if (connections[i].fd >= 0) continue;
    connections[i] = (connection){.fd = fd, .socket = -1};
    return;
  }
  close(fd);
}

static int listen_at(const char *path) {
  struct sockaddr_un at = {.sun_family = AF_UNIX};
  struct stat there;
  if (strlen(path) >= sizeof at.sun_path) return -1;
  strcpy(at.sun_path, path);
  if (lstat(path, &there) == 0 && S_ISSOCK(there.st_mode)) unlink(path);
  int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  /* Read and write for the owner and the group. */
  umask(0117);
  if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof at) != 0 || listen(fd, CONNECTIONS) != 0) return -1;
  return fd;
}

static uint64_t now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

int main(int argc, char **argv) {
  char *end = NULL;
  unsigned long port = argc < 4 ? 0 : strtoul(argv[2], &end, 10);
  if (port == 0 || port > 65535 || *end != 0) {
    fprintf(stderr, "usage: uqrp-xdp SOCKET PORT INTERFACE...\n");
    return 2;
  }
  allowed_port = (uint32_t)port;
  allowed = argv + 3;
  allowed_count = argc - 3;
  signal(SIGPIPE, SIG_IGN);
  for (size_t i = 0; i < CONNECTIONS; i++) connections[i].fd = connections[i].socket = -1;
  int listener = listen_at(argv[1]);
  if (listener < 0) {
    fprintf(stderr, "uqrp-xdp: %s: %s\n", argv[1], strerror(errno));
    return 1;
  }
  uint64_t looked = now_ms();
  for (;;) {
    struct pollfd polled[CONNECTIONS + 1];
    polled[0] = (struct pollfd){.fd = listener, .events = POLLIN};
    bool any = false;
    for (size_t i = 0; i < CONNECTIONS; i++) {
      polled[i + 1] = (struct pollfd){.fd = connections[i].fd, .events = POLLIN};
      any = any || connections[i].fd >= 0;
    }
    if (poll(polled, CONNECTIONS + 1, any ? LOOK_MS : -1) < 0 && errno != EINTR) return 1;
    for (size_t i = 0; i < CONNECTIONS; i++)
      if (polled[i + 1].fd >= 0 && polled[i + 1].revents != 0 && !on_message(&connections[i])) hang_up(&connections[i]);
    if (polled[0].revents != 0) take(listener);
    if (now_ms() - looked < LOOK_MS) continue;
    looked = now_ms();
    look();
  }
}
