/*
 * The rings of an AF_XDP socket (Documentation/networking/af_xdp.rst of the kernel). The kernel puts received frames into the RX ring and takes empty
 * ones from the fill ring; it sends what is in the TX ring and returns frames by the completion ring. JavaScript sees none of this memory.
 */
#define _GNU_SOURCE
#include "xsk.h"

#include <errno.h>
#include <linux/if_xdp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "frame.h"
#include "local-address.h"

/* 4 MiB of locked memory: half of what systemd allows a service. No ring can overflow, for each has a place for every frame. */
#define FRAMES 2048
#define FRAME_OCTETS 2048
#define MEMORY ((size_t)FRAMES * FRAME_OCTETS)
#define BATCH 64
/*
 * Longer replies leave through the UDP socket: the kernel knows the path's MTU and fragments. 1,232 octets fit into the smallest MTU of IPv6, and are
 * all that a client gets which asks for no more.
 */
#define LONGEST_REPLY 1232
/* In copy mode the kernel sends at most 32 frames a call. */
#define SEND_CALLS 6
#define SEND_PATIENCE_MS 1

typedef struct {
  uint32_t *producer, *consumer;
  void *entries;
  void *mapped;
  size_t octets;
  /* Our place: producer of what we fill, consumer of what we empty. */
  uint32_t at;
} ring;

struct xsk {
  int fd;
  unsigned char *memory;
  ring fill, done, rx, tx;
  /* Of the batch under way. */
  uint64_t frame[BATCH];
  size_t head[BATCH];
};

static bool map_ring(int fd, ring *r, const struct xdp_ring_offset *offsets, size_t entry, off_t where) {
  r->octets = offsets->desc + FRAMES * entry;
  unsigned char *mapped = mmap(NULL, r->octets, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, where);
  if (mapped == MAP_FAILED) return false;
  r->mapped = mapped;
  r->producer = (uint32_t *)(mapped + offsets->producer);
  r->consumer = (uint32_t *)(mapped + offsets->consumer);
  r->entries = mapped + offsets->desc;
  return true;
}

static uint32_t waiting(const ring *r) { return __atomic_load_n(r->producer, __ATOMIC_ACQUIRE) - r->at; }

static void give_back(xsk *x, uint64_t frame) {
  ((uint64_t *)x->fill.entries)[x->fill.at++ & (FRAMES - 1)] = frame & ~(uint64_t)(FRAME_OCTETS - 1);
}

static int prepare(xsk *x, uint32_t interface, uint32_t queue) {
  int size = FRAMES;
  struct xdp_mmap_offsets at;
  socklen_t octets = sizeof at;
  x->memory = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (x->memory == MAP_FAILED) {
    x->memory = NULL;
    return -errno;
  }
  /* A child of this process must not copy pages that the kernel writes to. */
  madvise(x->memory, MEMORY, MADV_DONTFORK);
  struct xdp_umem_reg memory = {.addr = (uintptr_t)x->memory, .len = MEMORY, .chunk_size = FRAME_OCTETS};
  if (setsockopt(x->fd, SOL_XDP, XDP_UMEM_REG, &memory, sizeof memory) != 0 ||
      setsockopt(x->fd, SOL_XDP, XDP_UMEM_FILL_RING, &size, sizeof size) != 0 ||
      setsockopt(x->fd, SOL_XDP, XDP_UMEM_COMPLETION_RING, &size, sizeof size) != 0 ||
      setsockopt(x->fd, SOL_XDP, XDP_RX_RING, &size, sizeof size) != 0 ||
      setsockopt(x->fd, SOL_XDP, XDP_TX_RING, &size, sizeof size) != 0 ||
      getsockopt(x->fd, SOL_XDP, XDP_MMAP_OFFSETS, &at, &octets) != 0)
    return -errno;
  /* Before Linux 5.4 the offsets had no flags, and were shorter. */
  if (octets != sizeof at) return -EOPNOTSUPP;
  if (!map_ring(x->fd, &x->fill, &at.fr, sizeof(uint64_t), XDP_UMEM_PGOFF_FILL_RING) ||
      !map_ring(x->fd, &x->done, &at.cr, sizeof(uint64_t), XDP_UMEM_PGOFF_COMPLETION_RING) ||
      !map_ring(x->fd, &x->rx, &at.rx, sizeof(struct xdp_desc), XDP_PGOFF_RX_RING) ||
      !map_ring(x->fd, &x->tx, &at.tx, sizeof(struct xdp_desc), XDP_PGOFF_TX_RING))
    return -errno;
  for (uint64_t i = 0; i < FRAMES; i++) give_back(x, i * FRAME_OCTETS);
  __atomic_store_n(x->fill.producer, x->fill.at, __ATOMIC_RELEASE);
  struct sockaddr_xdp address = {
      .sxdp_family = AF_XDP,
      .sxdp_flags = XDP_COPY | XDP_USE_NEED_WAKEUP,
      .sxdp_ifindex = interface,
      .sxdp_queue_id = queue,
  };
  return bind(x->fd, (struct sockaddr *)&address, sizeof address) == 0 ? 0 : -errno;
}

int xsk_open(xsk **opened, int fd, uint32_t interface, uint32_t queue) {
  xsk *x = calloc(1, sizeof *x);
  *opened = x;
  if (x == NULL) {
    close(fd);
    return -ENOMEM;
  }
  x->fd = fd;
  return prepare(x, interface, queue);
}

int xsk_fd(const xsk *x) { return x->fd; }

/* Frames that were sent can be received into again. */
static void collect_sent(xsk *x) {
  for (uint32_t count = waiting(&x->done); count > 0; count--)
    give_back(x, ((uint64_t *)x->done.entries)[x->done.at++ & (FRAMES - 1)]);
  __atomic_store_n(x->done.consumer, x->done.at, __ATOMIC_RELEASE);
}

int xsk_receive(xsk *x, const xsk_slots *s) {
  collect_sent(x);
  int most = s->slots < BATCH ? s->slots : BATCH, count = 0;
  for (uint32_t there = waiting(&x->rx); there > 0 && count < most; there--) {
    struct xdp_desc frame = ((struct xdp_desc *)x->rx.entries)[x->rx.at++ & (FRAMES - 1)];
    if (frame.addr >= MEMORY || frame.len > FRAME_OCTETS - (frame.addr & (FRAME_OCTETS - 1))) continue;
    unsigned char *octets = x->memory + frame.addr;
    size_t payload, head = frame_read(octets, frame.len, &payload);
    if (head == 0 || payload > s->request_stride || !frame_peer(octets, head, s->family, s->peers + (size_t)count * s->peer_stride)) {
      give_back(x, frame.addr);
      continue;
    }
    frame_local(octets, head, s->peers + (size_t)count * s->peer_stride + LOCAL_AT);
    memcpy(s->requests + (size_t)count * s->request_stride, octets + head, payload);
    s->request_lengths[count] = (int32_t)payload;
    s->reply_lengths[count] = 0;
    x->frame[count] = frame.addr;
    x->head[count] = head;
    count++;
  }
  __atomic_store_n(x->rx.consumer, x->rx.at, __ATOMIC_RELEASE);
  __atomic_store_n(x->fill.producer, x->fill.at, __ATOMIC_RELEASE);
  return count;
}

/* Has the kernel send what is in the TX ring. What its queue has no room for leaves with the next batch. */
static void kick(xsk *x) {
  bool waited = false;
  for (int calls = 0; calls < SEND_CALLS && __atomic_load_n(x->tx.consumer, __ATOMIC_ACQUIRE) != x->tx.at; calls++) {
    if (sendto(x->fd, NULL, 0, MSG_DONTWAIT | MSG_NOSIGNAL, NULL, 0) >= 0 || errno == EINTR) continue;
    /* EAGAIN: 32 frames are sent, and there are more, or a buffer is full. */
    if (errno == EAGAIN) continue;
    if ((errno != EBUSY && errno != ENOBUFS) || waited) return;
    waited = true;
    poll(NULL, 0, SEND_PATIENCE_MS);
  }
}

/* A reply that does not fit a frame, from the address that was asked. */
static void send_by_socket(const xsk_slots *s, unsigned char *peer, const unsigned char *reply, size_t octets) {
  _Alignas(struct cmsghdr) unsigned char control[LOCAL_CONTROL_OCTETS];
  struct iovec content = {.iov_base = (void *)reply, .iov_len = octets};
  struct msghdr header = {.msg_name = peer, .msg_namelen = s->address_octets, .msg_iov = &content, .msg_iovlen = 1};
  local_write(&header, s->family, peer + LOCAL_AT, control);
  sendmsg(s->socket, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void xsk_send(xsk *x, int count, const xsk_slots *s) {
  uint32_t before = x->tx.at;
  for (int i = 0; i < count; i++) {
    int32_t octets = s->reply_lengths[i];
    uint64_t address = x->frame[i];
    const unsigned char *reply = s->replies + (size_t)i * s->reply_stride;
    size_t made = 0;
    if (octets > 0 && octets <= LONGEST_REPLY) {
      size_t room = FRAME_OCTETS - (address & (FRAME_OCTETS - 1));
      made = frame_reply(x->memory + address, x->head[i], room, reply, (size_t)octets);
    } else if (octets > LONGEST_REPLY && octets <= s->reply_octets) {
      send_by_socket(s, s->peers + (size_t)i * s->peer_stride, reply, (size_t)octets);
    }
    if (made == 0) {
      give_back(x, address);
      continue;
    }
    ((struct xdp_desc *)x->tx.entries)[x->tx.at++ & (FRAMES - 1)] = (struct xdp_desc){.addr = address, .len = (uint32_t)made};
  }
  __atomic_store_n(x->fill.producer, x->fill.at, __ATOMIC_RELEASE);
  if (x->tx.at != before) __atomic_store_n(x->tx.producer, x->tx.at, __ATOMIC_RELEASE);
  kick(x);
}

void xsk_close(xsk *x) {
  if (x->fd >= 0) close(x->fd);
  x->fd = -1;
}

void xsk_free(xsk *x) {
  xsk_close(x);
  ring *rings[] = {&x->fill, &x->done, &x->rx, &x->tx};
  for (size_t i = 0; i < sizeof rings / sizeof *rings; i++)
    if (rings[i]->mapped != NULL) munmap(rings[i]->mapped, rings[i]->octets);
  if (x->memory != NULL) munmap(x->memory, MEMORY);
  free(x);
}
