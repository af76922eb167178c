/*
 * A long and bad line between two network namespaces: each packet comes DELAY_MS later, and of every 1,000 in each direction LOSS do not
 * come. Not every kernel has netem, and every one with /dev/net/tun runs the TCP of both ends over this.
 *
 *   link PID DELAY_MS LOSS SEED
 *
 * Makes a device `far0` here and one in the namespace of PID, and prints `ready`. SIGUSR1: nothing passes; SIGUSR2: everything again.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define OCTETS 2048
/* Packets under way in one direction: 150 Mbit/s with the longest delay of tests. More are lost, as in a router. */
#define ROOM 16384

struct packet {
  uint64_t due;
  int length;
  char octets[OCTETS];
};

struct way {
  struct packet packets[ROOM];
  unsigned int first, count;
};

static struct way ways[2];
static volatile sig_atomic_t isDown;

static void turn(int number) { isDown = number == SIGUSR1; }

static uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static int device(void) {
  struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
  strcpy(request.ifr_name, "far0");
  int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
  return fd < 0 || ioctl(fd, TUNSETIFF, &request) != 0 ? -1 : fd;
}

/* xorshift64: the same packets are lost for the same seed, as far as the same ones are sent. */
static unsigned int perThousand(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return (unsigned int)(*state % 1000);
}

int main(int count, char **words) {
  if (count != 5) return 2;
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/ns/net", atoi(words[1]));
  uint64_t delay = (uint64_t)atoi(words[2]) * 1000000u;
  unsigned int loss = (unsigned int)atoi(words[3]);
  uint64_t state = 0x9e3779b97f4a7c15u ^ (uint64_t)atoi(words[4]);
  signal(SIGUSR1, turn);
  signal(SIGUSR2, turn);
  struct pollfd ends[2] = {{.events = POLLIN}, {.events = POLLIN}};
  ends[0].fd = device();
  int other = open(path, O_RDONLY);
  if (other < 0 || setns(other, CLONE_NEWNET) != 0) return 1;
  ends[1].fd = device();
  if (ends[0].fd < 0 || ends[1].fd < 0) return 1;
  puts("ready");
  fflush(stdout);
  for (;;) {
    uint64_t next = UINT64_MAX;
    for (int i = 0; i < 2; i++)
      if (ways[i].count > 0 && ways[i].packets[ways[i].first].due < next) next = ways[i].packets[ways[i].first].due;
    uint64_t time = now(), left = next > time ? next - time : 0;
    struct timespec wait = {.tv_sec = (time_t)(left / 1000000000u), .tv_nsec = (long)(left % 1000000000u)};
    ppoll(ends, 2, next == UINT64_MAX ? NULL : &wait, NULL);
    for (int i = 0; i < 2; i++) {
      struct way *way = &ways[i];
      for (;;) {
        static char lost[OCTETS];
        int isFull = way->count == ROOM;
        struct packet *packet = &way->packets[(way->first + way->count) % ROOM];
        ssize_t length = read(ends[i].fd, isFull ? lost : packet->octets, OCTETS);
        if (length <= 0) break;
        if (isFull || isDown || perThousand(&state) < loss) continue;
        packet->due = now() + delay;
        packet->length = (int)length;
        way->count++;
      }
      for (time = now(); way->count > 0 && way->packets[way->first].due <= time; way->count--) {
        struct packet *packet = &way->packets[way->first];
        way->first = (way->first + 1) % ROOM;
        /* A queue that is full loses it, as a router does. */
        if (!isDown && write(ends[1 - i].fd, packet->octets, (size_t)packet->length) < 0) continue;
      }
    }
  }
}
