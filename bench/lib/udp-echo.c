/*
 * The least that an answer over UDP costs: sends each question back as an answer that is OCTETS longer, in batches of up to 64.
 *
 *   udp-echo PORT OCTETS
 */
#define _GNU_SOURCE
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>

#define SLOTS 64
#define ROOM 4096

static char octets[SLOTS][ROOM];
static struct sockaddr_in peers[SLOTS];
static struct iovec parts[SLOTS];
static struct mmsghdr messages[SLOTS];

int main(int count, char **words) {
  if (count != 3) return 2;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(words[1]))};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  unsigned int more = (unsigned int)atoi(words[2]);
  int fd = socket(AF_INET, SOCK_DGRAM, 0);
  if (more > ROOM / 2 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0) return 1;
  for (;;) {
    for (int i = 0; i < SLOTS; i++) {
      parts[i].iov_base = octets[i];
      parts[i].iov_len = ROOM / 2;
      messages[i].msg_hdr = (struct msghdr){
          .msg_name = &peers[i], .msg_namelen = sizeof peers[i], .msg_iov = &parts[i], .msg_iovlen = 1};
    }
    int received = recvmmsg(fd, messages, SLOTS, MSG_WAITFORONE, NULL);
    if (received < 0) return 1;
    for (int i = 0; i < received; i++) {
      octets[i][2] |= (char)0x80; /* QR: an answer */
      parts[i].iov_len = messages[i].msg_len + more;
    }
    for (int sent = 0; sent < received;) {
      int now = sendmmsg(fd, messages + sent, (unsigned int)(received - sent), 0);
      if (now < 0) return 1;
      sent += now;
    }
  }
}
