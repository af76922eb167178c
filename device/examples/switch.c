/*
 * A kill switch: reads a signed record that says "on" or "off", and prints which of them holds. A reply that is not signed by a pinned key,
 * or is older than the newest seen, changes nothing, also when it comes first.
 *
 *   cc -std=c99 -I.. -o switch switch.c -lcrypto
 *   ./switch SERVER PORT KEY PUBLIC-KEY[,PUBLIC-KEY] STATE-FILE [TOKEN]
 *
 * PUBLIC-KEY is the Base64 that `uqrp key public seed.pem` prints; firmware has the keys as constants. STATE-FILE keeps the time and the value of the newest record;
 * without it the switch is off. Exit code 0 when a record came, 1 when the last value was kept, 2 when it is called wrongly.
 */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "openssl.h"
#include "sockets.h"

struct state {
  uint8_t latest[6];
  uint8_t is_on;
};

struct pinned {
  const char *key;
  uint8_t keys[2][32];
  size_t count;
  struct state state;
  enum uqrp_result last;
};

/* Takes a record with a good signature that says "on" or "off". */
static int accept_signed(void *context, struct uqrp_record *record) {
  struct pinned *const pinned = (struct pinned *)context;
  uint8_t latest[6];
  memcpy(latest, pinned->state.latest, sizeof latest);
  pinned->last = uqrp_signed(record, pinned->key, pinned->keys[0], pinned->count, latest);
  if (pinned->last != UQRP_OK) return 0;
  if (!uqrp_is(record, "on") && !uqrp_is(record, "off")) return 0;
  memcpy(pinned->state.latest, latest, sizeof latest);
  pinned->state.is_on = (uint8_t)uqrp_is(record, "on");
  return 1;
}

/* Keys in Base64 with a comma between them. Returns how many there are, 0 when one is not a key. */
static size_t read_keys(const char *text, uint8_t keys[2][32]) {
  size_t count = 0;
  while (count < 2) {
    /* 44 letters are 33 octets to OpenSSL, which counts the filling. */
    uint8_t octets[33];
    if (strcspn(text, ",") != 44 || text[43] != '=' || EVP_DecodeBlock(octets, (const uint8_t *)text, 44) != 33) return 0;
    memcpy(keys[count++], octets, 32);
    text += 44;
    if (*text == 0) return count;
    text++;
  }
  return 0;
}

static void load(const char *path, struct state *state) {
  FILE *const file = fopen(path, "rb");
  if (file == NULL) return;
  if (fread(state, sizeof *state, 1, file) != 1) memset(state, 0, sizeof *state);
  fclose(file);
}

/* On the disk before the value has an effect: a power cut must not bring back the time before. */
static int store(const char *path, const struct state *state) {
  char next[4096];
  FILE *file;
  int good;
  if (snprintf(next, sizeof next, "%s.next", path) >= (int)sizeof next) return 0;
  file = fopen(next, "wb");
  if (file == NULL) return 0;
  good = fwrite(state, sizeof *state, 1, file) == 1 && fflush(file) == 0 && fsync(fileno(file)) == 0;
  return fclose(file) == 0 && good && rename(next, path) == 0;
}

int main(int argc, char **argv) {
  static uint8_t reply[UQRP_TCP_ROOM];
  static struct pinned pinned;
  struct uqrp_record record;
  enum uqrp_result result;
  const char *const zone = getenv("UQRP_ZONE");
  struct addrinfo *server = argc >= 6 && argc <= 7 ? find_server(argv[1], argv[2]) : NULL;
  int came;
  if (server == NULL || (pinned.count = read_keys(argv[4], pinned.keys)) == 0) {
    fprintf(stderr, "usage: switch SERVER PORT KEY PUBLIC-KEY[,PUBLIC-KEY] STATE-FILE [TOKEN]\n");
    return 2;
  }
  pinned.key = argv[3];
  load(argv[5], &pinned.state);
  came = ask(server, argv[3], argv[6], zone != NULL ? zone : "uqrp.net", reply, sizeof reply, &record, &result, accept_signed, &pinned);
  freeaddrinfo(server);
  if (came && !store(argv[5], &pinned.state)) {
    fprintf(stderr, "cannot write %s\n", argv[5]);
    return 2;
  }
  if (!came)
    fprintf(stderr, "kept the last value: %s\n",
            result == UQRP_OTHER ? "no reply" : uqrp_result_name(result == UQRP_OK ? pinned.last : result));
  printf("%s\n", pinned.state.is_on ? "on" : "off");
  return came ? 0 : 1;
}
