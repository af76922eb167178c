/*
 * Ethernet frames with a UDP datagram over IPv4 or IPv6: reading one, and making the reply in its place. Every length comes from the wire. Nothing
 * here calls the system, so that the test can give it any octets (src/dns/udp/below.test.ts).
 */
#ifndef UQRP_FRAME_H
#define UQRP_FRAME_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "local-address.h"

enum {
  ETHERNET_OCTETS = 14,
  IPV4_OCTETS = 20,
  IPV6_OCTETS = 40,
  UDP_OCTETS = 8,
  IPV4_HEAD = ETHERNET_OCTETS + IPV4_OCTETS + UDP_OCTETS,
  IPV6_HEAD = ETHERNET_OCTETS + IPV6_OCTETS + UDP_OCTETS,
  HOPS = 64,
};

/* Sums of 16-bit words (RFC 1071), in the order of the wire. An odd last octet is padded with zero. */
static inline uint64_t frame_sum(const unsigned char *octets, size_t count) {
  uint64_t sum = 0;
  for (; count >= 4; count -= 4, octets += 4) {
    uint32_t word;
    memcpy(&word, octets, 4);
    sum += word;
  }
  unsigned char rest[4] = {0};
  uint32_t word;
  memcpy(rest, octets, count);
  memcpy(&word, rest, 4);
  return sum + word;
}

static inline uint16_t frame_checksum(uint64_t sum) {
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return (uint16_t)~sum;
}

static inline uint16_t frame_u16(const unsigned char *at) { return (uint16_t)(at[0] << 8 | at[1]); }

static inline void frame_put_u16(unsigned char *at, size_t value) {
  at[0] = (unsigned char)(value >> 8);
  at[1] = (unsigned char)value;
}

static inline void frame_swap(unsigned char *one, unsigned char *other, size_t octets) {
  unsigned char kept[16];
  memcpy(kept, one, octets);
  memcpy(one, other, octets);
  memcpy(other, kept, octets);
}

/*
 * Reads a frame of `octets`. Returns where its payload begins, IPV4_HEAD or IPV6_HEAD, and writes how long that is; 0: the frame is no whole datagram
 * in one packet without options. The UDP checksum is not verified: the sender of a virtual interface leaves it to hardware that is not there.
 */
static inline size_t frame_read(const unsigned char *frame, size_t octets, size_t *payload) {
  const unsigned char *ip = frame + ETHERNET_OCTETS;
  size_t head, carried;
  if (octets < IPV4_HEAD) return 0;
  uint16_t type = frame_u16(frame + 12);
  if (type == 0x0800) {
    head = IPV4_HEAD;
    size_t total = frame_u16(ip + 2);
    if (ip[0] != 0x45 || ip[9] != IPPROTO_UDP || (frame_u16(ip + 6) & 0x3fff) != 0 || total < IPV4_OCTETS + UDP_OCTETS ||
        total > octets - ETHERNET_OCTETS || frame_checksum(frame_sum(ip, IPV4_OCTETS)) != 0)
      return 0;
    carried = total - IPV4_OCTETS;
  } else if (type == 0x86dd) {
    head = IPV6_HEAD;
    if (octets < IPV6_HEAD) return 0;
    carried = frame_u16(ip + 4);
    if (ip[0] >> 4 != 6 || ip[6] != IPPROTO_UDP || carried < UDP_OCTETS || carried > octets - ETHERNET_OCTETS - IPV6_OCTETS) return 0;
  } else {
    return 0;
  }
  size_t datagram = frame_u16(frame + head - UDP_OCTETS + 4);
  if (datagram < UDP_OCTETS || datagram > carried) return 0;
  *payload = datagram - UDP_OCTETS;
  return head;
}

/* Whether a peer's address fits the family of the socket, and the peer written as the kernel does: sockaddr_in, or sockaddr_in6 with IPv4 mapped. */
static inline bool frame_peer(const unsigned char *frame, size_t head, sa_family_t family, unsigned char *peer) {
  const unsigned char *ip = frame + ETHERNET_OCTETS;
  if (family == AF_INET && head != IPV4_HEAD) return false;
  memset(peer, 0, sizeof(struct sockaddr_in6));
  memcpy(peer, &family, sizeof family);
  memcpy(peer + 2, frame + head - UDP_OCTETS, 2);
  if (family == AF_INET) {
    memcpy(peer + 4, ip + 12, 4);
  } else if (head == IPV4_HEAD) {
    peer[18] = peer[19] = 0xff;
    memcpy(peer + 20, ip + 12, 4);
  } else {
    memcpy(peer + 8, ip + 8, 16);
  }
  return true;
}

/* The address that a frame came to. */
static inline void frame_local(const unsigned char *frame, size_t head, unsigned char *local) {
  const unsigned char *ip = frame + ETHERNET_OCTETS;
  struct in6_addr ipv6;
  if (head == IPV4_HEAD) {
    local_put_ipv4(local, ip + 16);
    return;
  }
  memcpy(&ipv6, ip + 24, sizeof ipv6);
  local_put_ipv6(local, &ipv6);
}

/*
 * Makes the reply to a frame that `frame_read` took, in its place: addresses and ports change sides. `room`: octets from `frame` on that may be written.
 * Returns the octets of the new frame, or 0: there is no room.
 */
static inline size_t frame_reply(unsigned char *frame, size_t head, size_t room, const unsigned char *reply, size_t octets) {
  if (room < head || octets > room - head) return 0;
  unsigned char *ip = frame + ETHERNET_OCTETS, *udp = frame + head - UDP_OCTETS;
  size_t datagram = UDP_OCTETS + octets;
  frame_swap(frame, frame + 6, 6);
  frame_swap(udp, udp + 2, 2);
  frame_put_u16(udp + 4, datagram);
  frame_put_u16(udp + 6, 0);
  memcpy(udp + UDP_OCTETS, reply, octets);
  uint64_t sum = (uint64_t)htons(IPPROTO_UDP) + htons((uint16_t)datagram);
  if (head == IPV4_HEAD) {
    ip[1] = 0;
    frame_put_u16(ip + 2, IPV4_OCTETS + datagram);
    /* An identification is needed where a packet may be fragmented; this one may not (RFC 6864 section 4). */
    frame_put_u16(ip + 4, 0);
    frame_put_u16(ip + 6, 0x4000);
    ip[8] = HOPS;
    frame_put_u16(ip + 10, 0);
    frame_swap(ip + 12, ip + 16, 4);
    uint16_t header = frame_checksum(frame_sum(ip, IPV4_OCTETS));
    memcpy(ip + 10, &header, 2);
    sum += frame_sum(ip + 12, 8 + datagram);
  } else {
    static const unsigned char START[4] = {0x60, 0, 0, 0};
    memcpy(ip, START, 4);
    frame_put_u16(ip + 4, datagram);
    ip[7] = HOPS;
    frame_swap(ip + 8, ip + 24, 16);
    sum += frame_sum(ip + 8, 32 + datagram);
  }
  uint16_t checksum = frame_checksum(sum);
  /* Zero would mean that there is none (RFC 768). */
  if (checksum == 0) checksum = 0xffff;
  memcpy(udp + 6, &checksum, 2);
  return head + octets;
}

#endif
