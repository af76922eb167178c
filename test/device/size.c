/* What a program uses, so that the compiler keeps it: -DSIGNED adds the check of signatures. */
#include "uqrp.h"

size_t query(uint8_t *out, size_t room, uint16_t id, const char *key, const char *token, const char *zone, uint16_t size);
size_t query(uint8_t *out, size_t room, uint16_t id, const char *key, const char *token, const char *zone, uint16_t size) {
  return uqrp_query(out, room, id, key, token, zone, size);
}

enum uqrp_result reply(const uint8_t *query, size_t query_size, uint8_t *reply, size_t size, struct uqrp_record *record);
enum uqrp_result reply(const uint8_t *query, size_t query_size, uint8_t *reply, size_t size, struct uqrp_record *record) {
  return uqrp_reply(query, query_size, reply, size, record);
}

#ifdef SIGNED
enum uqrp_result check(struct uqrp_record *record, const char *key, const uint8_t *keys, size_t count, uint8_t *latest);
enum uqrp_result check(struct uqrp_record *record, const char *key, const uint8_t *keys, size_t count, uint8_t *latest) {
  return uqrp_signed(record, key, keys, count, latest);
}
#endif
