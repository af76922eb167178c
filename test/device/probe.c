/*
 * Runs device/uqrp.h for test/ci/device-header.ts. A line of standard input is a call, a line of standard output its result; octets are
 * in hexadecimal, "-" for none.
 *   query ID KEY TOKEN ZONE SIZE ROOM          the query
 *   reply QUERY REPLY                          result, data, hint, DNS TTL, fields
 *   signed QUERY REPLY KEY KEYS LATEST         result, payload, latest
 *   field QUERY REPLY NAME                     the field
 *   is QUERY REPLY TEXT                        1 or 0
 * Each block of memory is as long as its content, so that a sanitizer sees an octet too many.
 */
#include "examples/openssl.h"
#include "uqrp.h"

#include <stdio.h>
#include <stdlib.h>

static uint8_t *octets(const char *text, size_t *size) {
  size_t i;
  uint8_t *made;
  *size = strcmp(text, "-") == 0 ? 0 : strlen(text) / 2;
  made = (uint8_t *)malloc(*size);
  for (i = 0; i < *size; i++) {
    const char pair[3] = {text[2 * i], text[2 * i + 1], 0};
    made[i] = (uint8_t)strtoul(pair, NULL, 16);
  }
  return made;
}

static void print(const uint8_t *data, size_t size) {
  size_t i;
  if (data == NULL) {
    printf(" -");
    return;
  }
  printf(" =");
  for (i = 0; i < size; i++) printf("%02x", data[i]);
}

static const char *word(void) {
  const char *const found = strtok(NULL, " \n");
  return found != NULL ? found : "-";
}

static const char *text(void) {
  const char *const found = word();
  return strcmp(found, "-") == 0 ? "" : found;
}

static void query(void) {
  const uint16_t id = (uint16_t)atoi(word());
  const char *const key = text(), *const token = text(), *const zone = text();
  const uint16_t size = (uint16_t)atoi(word());
  const size_t room = (size_t)atoi(word());
  uint8_t *const out = (uint8_t *)malloc(room);
  const size_t made = uqrp_query(out, room, id, key, token, zone, size);
  print(made > 0 ? out : NULL, made);
  free(out);
}

static void answer(const char *call) {
  size_t asked_size, size, keys_size, latest_size, found;
  uint8_t *const asked = octets(word(), &asked_size), *const reply = octets(word(), &size);
  struct uqrp_record record;
  enum uqrp_result result = uqrp_reply(asked, asked_size, reply, size, &record);
  if (record.data != NULL && record.data[record.size] != 0) printf(" no 0 behind the data");
  if (strcmp(call, "field") == 0) {
    const uint8_t *const field = uqrp_field(&record, text(), &found);
    print(field, found);
  } else if (strcmp(call, "is") == 0) {
    printf(" %d", uqrp_is(&record, text()));
  } else if (strcmp(call, "signed") == 0) {
    const char *const key = text();
    uint8_t *const keys = octets(word(), &keys_size), *const latest = octets(word(), &latest_size);
    if (result == UQRP_OK) result = uqrp_signed(&record, key, keys, keys_size / 32, latest);
    printf(" %s", uqrp_result_name(result));
    print(record.data, record.size);
    if (record.data != NULL && record.data[record.size] != 0) printf(" no 0 behind the payload");
    print(latest, latest_size);
    free(keys);
    free(latest);
  } else {
    printf(" %s", uqrp_result_name(result));
    print(record.data, record.size);
    printf(" %lu %lu", (unsigned long)record.ttl_hint, (unsigned long)record.dns_ttl);
    print(record.fields, record.fields_size);
  }
  free(asked);
  free(reply);
}

int main(void) {
  static char line[40000];
  while (fgets(line, sizeof line, stdin) != NULL) {
    const char *const call = strtok(line, " \n");
    if (call == NULL) continue;
    if (strcmp(call, "query") == 0) query();
    else answer(call);
    printf("\n");
  }
  return 0;
}
