/* What the loader asks the kernel about an interface, and which addresses are served there. */
#ifndef UQRP_XDP_INTERFACE_H
#define UQRP_XDP_INTERFACE_H

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "xdp.h"

#define ADDRESSES 256
/* The smallest MTU of IPv6: no reply that goes past the kernel is longer. */
#define LEAST_MTU 1280

/* What must not change while a program is attached: its immediate values and the replies depend on it. */
typedef struct {
  uint32_t index;
  int mtu;
  unsigned char mac[6];
} facts;

static int read_facts(const char *interface, facts *f) {
  memset(f, 0, sizeof *f);
  f->index = if_nametoindex(interface);
  if (f->index == 0) return ENODEV;
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  struct ifreq r = {0};
  memcpy(r.ifr_name, interface, IF_NAMESIZE);
  int error = 0;
  if (ioctl(fd, SIOCGIFMTU, &r) != 0) error = errno;
  f->mtu = r.ifr_mtu;
  if (error == 0 && ioctl(fd, SIOCGIFHWADDR, &r) != 0) error = errno;
  memcpy(f->mac, r.ifr_hwaddr.sa_data, sizeof f->mac);
  close(fd);
  return error != 0 ? error : f->mtu < LEAST_MTU ? EMSGSIZE : 0;
}

/* Each frame from a socket at the other end of a virtual pair is copied once more before a native program sees it. */
static bool is_virtual_pair(const char *interface) {
  struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};
  struct ifreq r = {.ifr_data = (void *)&info};
  memcpy(r.ifr_name, interface, IF_NAMESIZE);
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  bool is = ioctl(fd, SIOCETHTOOL, &r) == 0 && strcmp(info.driver, "veth") == 0;
  close(fd);
  return is;
}

#ifndef VLAN_CONFIG
#define VLAN_CONFIG "/proc/net/vlan/config"
#endif

/* Hardware may have taken the tag from a frame before the program sees it: what was sent to a VLAN would be answered outside of it. */
static bool has_vlans(const char *interface) {
  FILE *file = fopen(VLAN_CONFIG, "re");
  if (file == NULL) return false;
  char line[256];
  bool found = false;
  while (!found && fgets(line, sizeof line, file) != NULL) {
    line[strcspn(line, "\n")] = 0;
    char *device = strrchr(line, '|');
    found = device != NULL && strcmp(device + 1 + strspn(device + 1, " "), interface) == 0;
  }
  fclose(file);
  return found;
}

static const unsigned char MAPPED[12] = {[10] = 0xff, [11] = 0xff};

/* An address in the form of the map: IPv6, or IPv4 mapped to it. */
static bool mapped_of(const struct sockaddr *address, unsigned char *into) {
  if (address == NULL) return false;
  if (address->sa_family == AF_INET) {
    memcpy(into, MAPPED, sizeof MAPPED);
    memcpy(into + sizeof MAPPED, &((const struct sockaddr_in *)address)->sin_addr, 4);
    return true;
  }
  if (address->sa_family != AF_INET6) return false;
  memcpy(into, &((const struct sockaddr_in6 *)address)->sin6_addr, 16);
  return true;
}

/* The addresses for which this server listens and which this host has: for "any", those of the interface. */
static size_t listened(const xdp_request *r, unsigned char into[ADDRESSES][16]) {
  static const unsigned char ANY[16];
  bool any = memcmp(r->address, ANY, sizeof ANY) == 0;
  size_t count = 0;
  struct ifaddrs *all;
  if (getifaddrs(&all) != 0) return 0;
  for (struct ifaddrs *one = all; one != NULL && count < ADDRESSES; one = one->ifa_next) {
    unsigned char *address = into[count];
    if (!mapped_of(one->ifa_addr, address)) continue;
    bool ipv4 = memcmp(address, MAPPED, sizeof MAPPED) == 0;
    if (any ? strncmp(one->ifa_name, r->interface, IF_NAMESIZE) == 0 && (ipv4 || r->only_ipv4 == 0) : memcmp(address, r->address, 16) == 0)
      count++;
  }
  freeifaddrs(all);
  return count;
}

#endif
