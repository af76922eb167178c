/*
 * Sends frames from an interface and prints those that arrive there, both as lines of hexadecimal digits on standard input and output. With a number as
 * second argument it instead gives that many random and mutated frames to the functions of native/frame.h, in memory of exactly their size: for a
 * build with AddressSanitizer.
 */
#define _GNU_SOURCE
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../../../native/frame.h"

#define MOST 4096
/* Octets of frames that wait for a reader which is slow; the system gives 212,992, some 200 of them. */
static const int WAITING = 16 << 20;

static int fuzz(unsigned long count) {
  static const unsigned char IPV4[] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0, 0, 40, 0, 0, 0, 0, 64, 17};
  static const unsigned char IPV6[] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x86, 0xdd, 0x60, 0, 0, 0, 0, 20, 17, 64};
  unsigned long read = 0;
  srandom(1);
  for (unsigned long i = 0; i < count; i++) {
    size_t octets = (size_t)random() % 120, payload = 0;
    size_t room = octets + (size_t)random() % 80;
    unsigned char *frame = malloc(room + 1), *reply = malloc(64), peer[LOCAL_AT + LOCAL_OCTETS];
    unsigned char *exact = malloc(octets > 0 ? octets : 1);
    for (size_t k = 0; k < octets; k++) exact[k] = (unsigned char)random();
    const unsigned char *seed = i % 2 ? IPV4 : IPV6;
    size_t head_octets = i % 2 ? sizeof IPV4 : sizeof IPV6;
    if (octets >= 70) {
      memcpy(exact, seed, head_octets);
      if (i % 2) {
        memset(exact + 24, 0, 2);
        uint16_t sum = frame_checksum(frame_sum(exact + 14, 20));
        memcpy(exact + 24, &sum, 2);
        frame_put_u16(exact + 38, (size_t)random() % 24);
      } else {
        frame_put_u16(exact + 58, (size_t)random() % 24);
      }
      if (random() % 4 == 0) exact[(size_t)random() % octets] ^= (unsigned char)(1 << random() % 8);
    }
    size_t head = frame_read(exact, octets, &payload);
    if (head != 0) {
      read++;
      volatile unsigned char last = exact[head + payload - 1];
      (void)last;
      memcpy(frame, exact, octets);
      frame_local(frame, head, peer + LOCAL_AT);
      if (frame_peer(frame, head, i % 3 ? AF_INET6 : AF_INET, peer)) frame_reply(frame, head, room, reply, (size_t)random() % 64);
    }
    free(exact);
    free(frame);
    free(reply);
  }
  printf("%lu\n", read);
  return 0;
}

int main(int argc, char **argv) {
  if (argc > 2) return fuzz(strtoul(argv[2], NULL, 10));
  int fd = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL));
  struct sockaddr_ll at = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = (int)if_nametoindex(argv[1])};
  if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &WAITING, sizeof WAITING) != 0) return 1;
  if (bind(fd, (struct sockaddr *)&at, sizeof at) != 0) return 1;
  setvbuf(stdout, NULL, _IOLBF, 0);
  puts("ready");
  char line[2 * MOST + 2];
  for (;;) {
    struct pollfd polled[2] = {{.fd = 0, .events = POLLIN}, {.fd = fd, .events = POLLIN}};
    poll(polled, 2, -1);
    if (polled[1].revents) {
      unsigned char octets[MOST];
      struct sockaddr_ll from;
      socklen_t length = sizeof from;
      ssize_t count = recvfrom(fd, octets, sizeof octets, 0, (struct sockaddr *)&from, &length);
      if (count > 0 && from.sll_pkttype != PACKET_OUTGOING) {
        for (ssize_t i = 0; i < count; i++) printf("%02x", octets[i]);
        putchar('\n');
      }
    }
    if (!polled[0].revents) continue;
    /* A line at a time, unbuffered: poll would not see what stdio has read ahead. */
    size_t digits = 0;
    char digit;
    while (digits < sizeof line - 1) {
      if (read(0, &digit, 1) != 1) return 0;
      if (digit == '\n') break;
      line[digits++] = digit;
    }
    unsigned char octets[MOST];
    for (size_t i = 0; i < digits / 2; i++) {
      char pair[3] = {line[2 * i], line[2 * i + 1], 0};
      octets[i] = (unsigned char)strtoul(pair, NULL, 16);
    }
    if (send(fd, octets, digits / 2, 0) < 0) return 1;
  }
}
