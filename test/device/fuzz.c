/*
 * Damages replies and gives them to device/uqrp.h, under sanitizers. Standard input: lines "QUERY REPLY" in hexadecimal, from which each
 * reply is made. Arguments: the number of replies, and the seed of the random numbers. Prints how often each result came.
 */
#include "uqrp.h"

#include <stdio.h>
#include <stdlib.h>

#define SEEDS 400
#define ROOM 8192

struct seed {
  uint8_t *query, *reply;
  size_t query_size, reply_size;
};

static uint32_t state;

static uint32_t any(uint32_t below) {
  state ^= state << 13;
  state ^= state >> 17;
  state ^= state << 5;
  return state % below;
}

/* A signature that is sometimes good, so that the code behind it runs. Reads every octet of the message. */
int uqrp_verify(const uint8_t *signature, const uint8_t *key, const uint8_t *message, size_t size) {
  uint32_t sum = (uint32_t)signature[0] + signature[63] + key[31];
  size_t i;
  for (i = 0; i < size; i++) sum += message[i];
  return sum % 2 == 0;
}

static uint8_t *octets(const char *text, size_t *size) {
  uint8_t *made;
  size_t i;
  *size = strlen(text) / 2;
  made = (uint8_t *)malloc(*size);
  for (i = 0; i < *size; i++) {
    const char pair[3] = {text[2 * i], text[2 * i + 1], 0};
    made[i] = (uint8_t)strtoul(pair, NULL, 16);
  }
  return made;
}

/* Changes `reply` in one to four places. Returns its new size. */
static size_t damage(uint8_t *reply, size_t size) {
  uint32_t times = 1 + any(4);
  while (times-- > 0 && size > 0) {
    const uint32_t at = any((uint32_t)size);
    switch (any(7)) {
      case 0: reply[at] = (uint8_t)any(256); break;
      case 1: reply[at] ^= (uint8_t)(1u << any(8)); break;
      case 2: size = at; break;
      case 3: reply[at] = any(2) ? 0xff : 0xc0; break;
      case 4: reply[at] = 0; break;
      case 5: /* octets twice */
        if (size + 64 < ROOM) {
          const size_t more = 1 + any(64), left = size - at;
          memmove(reply + at + more, reply + at, left);
          size += more;
        }
        break;
      default: /* octets less */
        memmove(reply + at, reply + at + 1, size - at - 1);
        size--;
    }
  }
  return size;
}

int main(int argc, char **argv) {
  static char line[40000];
  static struct seed seeds[SEEDS];
  static uint8_t changed[ROOM];
  unsigned long counts[16] = {0}, rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000, i;
  uint32_t count = 0;
  state = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 1;
  while (count < SEEDS && fgets(line, sizeof line, stdin) != NULL) {
    const char *const query = strtok(line, " \n"), *const reply = strtok(NULL, " \n");
    if (query == NULL || reply == NULL || strlen(reply) / 2 > ROOM - 64) continue;
    seeds[count].query = octets(query, &seeds[count].query_size);
    seeds[count].reply = octets(reply, &seeds[count].reply_size);
    count++;
  }
  if (count == 0) return 2;
  for (i = 0; i < rounds; i++) {
    const struct seed *const seed = &seeds[any(count)];
    const uint8_t keys[64] = {0};
    uint8_t latest[6] = {0}, *exact;
    struct uqrp_record record;
    enum uqrp_result result;
    size_t size, found;
    memcpy(changed, seed->reply, seed->reply_size);
    size = damage(changed, seed->reply_size);
    /* As long as the reply, so that a sanitizer sees an octet too many. */
    exact = (uint8_t *)malloc(size);
    memcpy(exact, changed, size);
    result = uqrp_reply(seed->query, seed->query_size, exact, size, &record);
    counts[result]++;
    if ((result == UQRP_OK) != (record.reply != NULL)) abort();
    if (record.data != NULL && (record.data < exact || record.data + record.size >= exact + size)) abort();
    (void)uqrp_field(&record, "f", &found);
    if (result == UQRP_OK) {
      result = uqrp_signed(&record, "pump.status.acme.v1", keys, 2, latest);
      counts[result == UQRP_OK ? 15 : result]++;
      if ((result == UQRP_OK) != (record.data != NULL)) abort();
      if (record.data != NULL && record.data + record.size >= exact + size) abort();
    }
    free(exact);
  }
  for (i = 0; i < 12; i++) printf("%s %lu\n", uqrp_result_name((enum uqrp_result)i), counts[i]);
  printf("SIGNED %lu\n", counts[15]);
  return 0;
}
