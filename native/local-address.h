/*
 * The address that a datagram came to, which its reply must leave from (RFC 2181 section 4.1): for a socket of every address the kernel would take the one
 * that its routes prefer. It stands behind the peer in the peer's slot, in 16 octets, IPv4 mapped; zeros leave the choice to the kernel.
 */
#ifndef UQRP_LOCAL_ADDRESS_H
#define UQRP_LOCAL_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

enum {
  LOCAL_AT = 32,
  LOCAL_OCTETS = 16,
  /* Of a mapped address, before its four octets. */
  LOCAL_MAPPED = 12,
  LOCAL_CONTROL_OCTETS = CMSG_SPACE(sizeof(struct in6_pktinfo)),
};

/* Whether a socket with this address takes datagrams to every address. */
static inline bool local_is_any(const struct sockaddr *bound) {
  if (bound->sa_family == AF_INET) return ((const struct sockaddr_in *)bound)->sin_addr.s_addr == htonl(INADDR_ANY);
  return IN6_IS_ADDR_UNSPECIFIED(&((const struct sockaddr_in6 *)bound)->sin6_addr);
}

/* Has the kernel say it with each datagram. One that cannot decides itself. */
static inline void local_ask(int fd, sa_family_t family) {
  int on = 1;
  if (family == AF_INET) setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof on);
  else setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof on);
}

static inline void local_put_ipv4(unsigned char *local, const void *address) {
  memset(local, 0, LOCAL_OCTETS);
  local[10] = local[11] = 0xff;
  memcpy(local + LOCAL_MAPPED, address, LOCAL_OCTETS - LOCAL_MAPPED);
}

/* Nothing can leave from a multicast address, and from a link-local one only with its interface, which the peer's address has. */
static inline void local_put_ipv6(unsigned char *local, const struct in6_addr *address) {
  bool is_usable = !IN6_IS_ADDR_MULTICAST(address) && !IN6_IS_ADDR_LINKLOCAL(address);
  if (is_usable) memcpy(local, address, LOCAL_OCTETS);
  else memset(local, 0, LOCAL_OCTETS);
}

/* What the kernel said with a datagram. */
static inline void local_read(struct msghdr *header, unsigned char *local) {
  memset(local, 0, LOCAL_OCTETS);
  if ((header->msg_flags & MSG_CTRUNC) != 0) return;
  for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c != NULL; c = CMSG_NXTHDR(header, c)) {
    if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO && c->cmsg_len >= CMSG_LEN(sizeof(struct in_pktinfo))) {
      struct in_pktinfo info;
      memcpy(&info, CMSG_DATA(c), sizeof info);
      /* Of a broadcast, an address of the interface. */
      local_put_ipv4(local, &info.ipi_spec_dst);
    } else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO && c->cmsg_len >= CMSG_LEN(sizeof(struct in6_pktinfo))) {
      struct in6_pktinfo info;
      memcpy(&info, CMSG_DATA(c), sizeof info);
      local_put_ipv6(local, &info.ipi6_addr);
    }
  }
}

/* Addresses a reply. `control`: LOCAL_CONTROL_OCTETS, aligned as a cmsghdr, until it is sent. No interface is named, so that routes hold. */
static inline void local_write(struct msghdr *header, sa_family_t family, const unsigned char *local, void *control) {
  static const unsigned char NONE[LOCAL_OCTETS];
  header->msg_control = NULL;
  header->msg_controllen = 0;
  if (memcmp(local, NONE, LOCAL_OCTETS) == 0) return;
  struct in_pktinfo ipv4 = {0};
  struct in6_pktinfo ipv6 = {0};
  memcpy(&ipv4.ipi_spec_dst, local + LOCAL_MAPPED, sizeof ipv4.ipi_spec_dst);
  memcpy(&ipv6.ipi6_addr, local, sizeof ipv6.ipi6_addr);
  size_t octets = family == AF_INET ? sizeof ipv4 : sizeof ipv6;
  header->msg_control = control;
  header->msg_controllen = CMSG_SPACE(octets);
  memset(control, 0, CMSG_SPACE(octets));
  struct cmsghdr *c = CMSG_FIRSTHDR(header);
  c->cmsg_level = family == AF_INET ? IPPROTO_IP : IPPROTO_IPV6;
  c->cmsg_type = family == AF_INET ? IP_PKTINFO : IPV6_PKTINFO;
  c->cmsg_len = CMSG_LEN(octets);
  memcpy(CMSG_DATA(c), family == AF_INET ? (const void *)&ipv4 : (const void *)&ipv6, octets);
}

#endif
