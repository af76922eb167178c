/*
 * Asks questions over UDP at a constant rate, in batches; with DO and room for 1,232 octets. A question costs it about a quarter of what it costs
 * dnsperf, which beside a server on two cores takes more of them than the server.
 *
 *   udp-load PORT FILE SECONDS RATE [tell]
 *
 * FILE has lines `NAME TXT`, asked in turn. RATE: questions a second; 0: as many as are answered, 200 under way. Prints `ANSWERED ASKED`; with
 * `tell`, at most 20,000 a second, also a line for each question: microseconds until its answer, or 1000000 where none came in a second.
 * Answers whose times are not told and that nothing waits for are not read: a filter drops them at the socket, which counts them.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/sock_diag.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define SOCKETS 10
#define SLOTS 64
#define QUESTION 320
#define UNDER_WAY 200
#define TICK_NS 100000
#define SECOND_NS 1000000000LL
#define IDS 65536
#define CATCH_UP 1.1
#define LATE_NS 200000000

typedef struct {
  uint16_t octets;
  unsigned char message[QUESTION];
} question;

static question *questions;
static size_t known;
static int sockets[SOCKETS];
static int64_t asked_at[IDS];
static uint32_t *waits; /* microseconds, by the number of the question */
static size_t asked, answered;

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * SECOND_NS + t.tv_nsec;
}

/* RFC 1035 section 4.1, with an OPT record (RFC 6891 section 6.1.2). @returns whether the name fits */
static bool encode(const char *name, question *into) {
  static const unsigned char header[12] = {0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1};
  static const unsigned char rest[16] = {0, 0, 16, 0, 1, 0, 0, 41, 0x04, 0xd0, 0, 0, 0x80, 0, 0, 0};
  size_t at = sizeof header;
  memcpy(into->message, header, at);
  while (*name != 0) {
    size_t octets = strcspn(name, ".");
    if (octets == 0 || octets > 63 || at + 1 + octets + sizeof rest > QUESTION) return false;
    into->message[at++] = (unsigned char)octets;
    memcpy(into->message + at, name, octets);
    at += octets;
    name += octets + (name[octets] == '.');
  }
  memcpy(into->message + at, rest, sizeof rest);
  into->octets = (uint16_t)(at + sizeof rest);
  return true;
}

static int by_length(const void *a, const void *b) {
  return ((const question *)a)->octets - ((const question *)b)->octets;
}

static bool read_questions(const char *file) {
  FILE *in = fopen(file, "r");
  size_t room = 0;
  char name[256];
  if (in == NULL) return false;
  while (fscanf(in, "%255s TXT ", name) == 1) {
    if (known == room) questions = realloc(questions, (room = room ? room * 2 : 4096) * sizeof *questions);
    if (questions == NULL || !encode(name, &questions[known++])) return false;
  }
  fclose(in);
  qsort(questions, known, sizeof *questions, by_length);
  return known > 0;
}

static bool open_sockets(const char *port) {
  struct sockaddr_in server = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
  int room = 4 << 20;
  server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  for (int i = 0; i < SOCKETS; i++) {
    sockets[i] = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    setsockopt(sockets[i], SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room);
    if (connect(sockets[i], (struct sockaddr *)&server, sizeof server) != 0) return false;
  }
  return true;
}

/*
 * Asks up to SLOTS questions of one length from one socket, which the kernel takes as one message (UDP_SEGMENT). The ID is the number of the
 * question, so an answer tells which it is.
 */
static void ask(size_t count) {
  static unsigned char octets[SLOTS * QUESTION];
  static size_t turn;
  const uint16_t length = questions[asked % known].octets;
  char control[CMSG_SPACE(sizeof length)] = {0};
  struct iovec part = {.iov_base = octets};
  struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
  struct cmsghdr *segment = CMSG_FIRSTHDR(&message);
  *segment = (struct cmsghdr){
      .cmsg_level = SOL_UDP, .cmsg_type = UDP_SEGMENT, .cmsg_len = CMSG_LEN(sizeof length)};
  memcpy(CMSG_DATA(segment), &length, sizeof length);
  int64_t now = now_ns();
  size_t taken = 0;
  for (; taken < count && taken < SLOTS && questions[(asked + taken) % known].octets == length; taken++) {
    uint16_t id = (uint16_t)(asked + taken);
    unsigned char *to = octets + part.iov_len;
    memcpy(to, questions[(asked + taken) % known].message, length);
    to[0] = (unsigned char)(id >> 8);
    to[1] = (unsigned char)id;
    asked_at[id] = now;
    part.iov_len += length;
  }
  if (sendmsg(sockets[turn++ % SOCKETS], &message, 0) > 0) asked += taken;
}

/* The kernel drops and counts all answers. */
static void count_only(void) {
  struct sock_filter none = {.code = BPF_RET | BPF_K, .k = 0};
  struct sock_fprog program = {.len = 1, .filter = &none};
  for (int i = 0; i < SOCKETS; i++)
    if (setsockopt(sockets[i], SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) != 0) exit(2);
}

static size_t counted(void) {
  size_t all = 0;
  for (int i = 0; i < SOCKETS; i++) {
    uint32_t of[SK_MEMINFO_VARS];
    socklen_t octets = sizeof of;
    if (getsockopt(sockets[i], SOL_SOCKET, SO_MEMINFO, of, &octets) != 0) exit(2);
    all += of[SK_MEMINFO_DROPS];
  }
  return all;
}

/* Takes what has come, of each answer its header alone. */
static void take(void) {
  static unsigned char octets[SLOTS][12];
  static struct iovec parts[SLOTS];
  static struct mmsghdr messages[SLOTS];
  for (size_t s = 0; s < SOCKETS; s++) {
    int count;
    do {
      for (size_t i = 0; i < SLOTS; i++) {
        parts[i] = (struct iovec){.iov_base = octets[i], .iov_len = sizeof octets[i]};
        messages[i].msg_hdr = (struct msghdr){.msg_iov = &parts[i], .msg_iovlen = 1};
      }
      count = recvmmsg(sockets[s], messages, SLOTS, MSG_DONTWAIT, NULL);
      if (count <= 0) break;
      answered += (size_t)count;
      if (waits == NULL) continue;
      int64_t now = now_ns();
      for (int i = 0; i < count; i++) {
        uint16_t id = (uint16_t)(octets[i][0] << 8 | octets[i][1]);
        /* The latest question of this ID: an earlier one was asked more than a second ago. */
        size_t number = asked - 1 - (uint16_t)((uint16_t)(asked - 1) - id);
        int64_t wait = (now - asked_at[id]) / 1000;
        if (wait < 1000000) waits[number] = (uint32_t)wait;
      }
    } while (count == SLOTS);
  }
}

static void await_answer(int64_t ns) {
  struct pollfd ready[SOCKETS];
  struct timespec time = {.tv_sec = ns / SECOND_NS, .tv_nsec = ns % SECOND_NS};
  for (int i = 0; i < SOCKETS; i++) ready[i] = (struct pollfd){.fd = sockets[i], .events = POLLIN};
  ppoll(ready, SOCKETS, &time, NULL);
}

/* Until a time of the clock, taking answers meanwhile where their times are told. */
static void wait_until(int64_t at) {
  if (waits != NULL) {
    for (int64_t left; (left = at - now_ns()) > 0; take()) await_answer(left);
    return;
  }
  struct timespec time = {.tv_sec = at / SECOND_NS, .tv_nsec = at % SECOND_NS};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
}

/* What was not asked while another program had the processor is made up for slowly: the load must not become more than the server can answer. */
static void at_rate(int64_t begin, int64_t end, double rate) {
  int64_t tick = rate * TICK_NS / SECOND_NS < 1 ? (int64_t)(SECOND_NS / rate) : TICK_NS;
  size_t most = (size_t)(CATCH_UP * rate * (double)tick / SECOND_NS) + 1;
  for (int64_t at = begin; at < end; at = at + tick > now_ns() ? at + tick : now_ns()) {
    wait_until(at);
    size_t due = (size_t)((double)(at - begin) / SECOND_NS * rate) + 1;
    if (due > asked + most) due = asked + most;
    while (asked < due) {
      size_t before = asked;
      ask(due - asked);
      if (asked == before) break;
    }
    if (waits != NULL) take();
  }
}

/* An answer that was lost gives its place back after 5 ms. */
static void at_most(int64_t end) {
  size_t lost = 0;
  while (now_ns() < end) {
    size_t before = answered, under_way = asked - answered - lost;
    if (under_way < UNDER_WAY) ask(UNDER_WAY - under_way);
    await_answer(5 * SECOND_NS / 1000);
    take();
    if (answered == before) lost = asked - answered;
  }
}

int main(int count, char **words) {
  if (count < 5 || !read_questions(words[2]) || !open_sockets(words[1])) return 2;
  double seconds = atof(words[3]), rate = atof(words[4]);
  if (count > 5) {
    size_t room = (size_t)(rate * seconds) + 1000;
    waits = malloc(room * sizeof *waits);
    if (waits == NULL || rate <= 0 || rate > 20000) return 2;
    for (size_t i = 0; i < room; i++) waits[i] = 1000000;
  }
  const bool only_counts = rate > 0 && waits == NULL;
  if (only_counts) count_only();
  int64_t begin = now_ns(), end = begin + (int64_t)(seconds * SECOND_NS);
  if (rate > 0)
    at_rate(begin, end, rate);
  else
    at_most(end);
  if (only_counts) {
    wait_until(end + LATE_NS);
    answered = counted();
  } else {
    for (int64_t left; answered < asked && (left = end + SECOND_NS - now_ns()) > 0; take())
      await_answer(left);
  }
  printf("%zu %zu\n", answered, asked);
  for (size_t i = 0; waits != NULL && i < asked; i++) printf("%u\n", waits[i]);
  return 0;
}
