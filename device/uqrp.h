/*
 * uqrp.h: reads records of uqrp over DNS. One header for C99 and C++11. It allocates no memory, sends and receives nothing, and has no
 * state: the program owns sockets, time and buffers. docs/DEVICES.md has the way of a read, the results and what each costs.
 *
 *   uint8_t query[UQRP_QUERY_ROOM], reply[UQRP_UDP_ROOM];
 *   struct uqrp_record record;
 *   size_t size = uqrp_query(query, sizeof query, random_id, "pump-3.enabled.plant.v1", NULL, "uqrp.net", sizeof reply);
 *   ... send `query`, receive `got` octets into `reply` ...
 *   if (uqrp_reply(query, size, reply, got, &record) == UQRP_OK && uqrp_is(&record, "off")) stop();
 *
 * Anybody on the path can forge an answer without a signature: what switches a machine is signed, see `uqrp_signed`.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef UQRP_H
#define UQRP_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Octets of the longest query: 12 of header, 255 of name, 4 of type and class, 11 of EDNS. */
#define UQRP_QUERY_ROOM 282
/* The longest reply over UDP that the server sends. */
#define UQRP_UDP_ROOM 1232
/* Holds every record over TCP: an envelope has at most 3,500 octets. */
#define UQRP_TCP_ROOM 4096
/* Octets before the payload of a signed record: form, key id, time, signature. */
#define UQRP_SIGNED_HEAD 79

enum uqrp_result {
  UQRP_OK = 0,     /* a record */
  UQRP_EMPTY,      /* no such record, or it has expired */
  UQRP_REFUSED,    /* the token is missing, wrong or over, or the namespace does not exist */
  UQRP_FAILED,     /* the name server cannot answer now, or does not understand the name */
  UQRP_SERVICE,    /* a public service answers with an error envelope */
  UQRP_REPLY,      /* a damaged DNS message */
  UQRP_FORMAT,     /* the answer is no envelope of version svc1, or its data do not decode */
  UQRP_OTHER,      /* no reply to this query: listen on until the deadline */
  UQRP_TRUNCATED,  /* too long for UDP: send the same query over TCP */
  UQRP_UNSIGNED,   /* the record has no signature */
  UQRP_FORGED,     /* none of the pinned keys has signed this payload for this record */
  UQRP_OLDER       /* signed, but before a record that the device has seen */
};

struct uqrp_record {
  /* In the buffer of the reply, followed by an octet 0. NULL for answers that are fields only, as of public services. */
  uint8_t *data;
  size_t size;
  /* The fields before the data, for `uqrp_field`. */
  const uint8_t *fields;
  size_t fields_size;
  /* How long resolvers may keep the answer, in seconds. 0 for every read with a token. */
  uint32_t dns_ttl;
  /* Field `ttl`: what the writer suggests, in seconds; 0 when there is none. */
  uint32_t ttl_hint;
  /* The begin of the reply: `uqrp_signed` uses the octets between it and the data. */
  uint8_t *reply;
};

/*
 * Ed25519 of RFC 8032, from the program: Monocypher's crypto_ed25519_check, libsodium, OpenSSL, a secure element. Only `uqrp_signed`
 * calls it. Returns 1 when `signature` (64 octets) of `message` was made with the key whose public part is `key` (32), else 0.
 */
int uqrp_verify(const uint8_t *signature, const uint8_t *key, const uint8_t *message, size_t size);

/* The name of a result, for logs. */
static inline const char *uqrp_result_name(enum uqrp_result result) {
  static const char *const names[] = {"OK",    "EMPTY",     "REFUSED",  "FAILED", "SERVICE", "REPLY", "FORMAT",
                                      "OTHER", "TRUNCATED", "UNSIGNED", "FORGED", "OLDER"};
  return (size_t)result < sizeof names / sizeof names[0] ? names[result] : "?";
}

static inline uint8_t uqrp_lower_(uint8_t octet) {
  return octet >= 'A' && octet <= 'Z' ? (uint8_t)(octet + 32) : octet;
}

static inline uint16_t uqrp_u16_(const uint8_t *at) {
  return (uint16_t)((uint16_t)(at[0] << 8) | at[1]);
}

/* Writes `first` and `text` as labels at `at`. Returns the place after them; 0 for an empty or too long label, or no room. */
static inline size_t uqrp_labels_(uint8_t *out, size_t room, size_t at, const char *first, const char *text) {
  size_t mark = at;
  if (at == 0 || at >= room) return 0;
  at++;
  for (;;) {
    const char c = *first != 0 ? *first++ : *text++;
    if (c == 0 || c == '.') {
      const size_t length = at - mark - 1;
      if (length < 1 || length > 63) return 0;
      out[mark] = (uint8_t)length;
      if (c == 0) return at;
      mark = at;
    }
    if (at >= room) return 0;
    out[at++] = (uint8_t)c;
  }
}

/*
 * Writes the query for the record `key`, such as "pump-3.enabled.plant.v1", in `zone`, such as "uqrp.net".
 * id: 16 random bits, new for each attempt. token: the query token, NULL or "" for an open namespace. size: octets of the buffer for
 * the reply (UQRP_UDP_ROOM); 0 asks without EDNS, for at most 512.
 * Returns the octets written; 0 when a name is not possible or `room` is too small (UQRP_QUERY_ROOM is enough).
 */
static inline size_t uqrp_query(uint8_t *out, size_t room, uint16_t id, const char *key, const char *token, const char *zone,
                                uint16_t size) {
  static const uint8_t header[] = {1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 3, 'g', 'e', 't'};
  /* A name has at most 255 octets, the last one 0. */
  const size_t end = room < 12 + 254 ? room : 12 + 254;
  size_t at = 16;
  if (room < at) return 0;
  out[0] = (uint8_t)(id >> 8);
  out[1] = (uint8_t)id;
  memcpy(out + 2, header, sizeof header);
  if (token != NULL && *token != 0) at = uqrp_labels_(out, end, at, "auth-", token);
  at = uqrp_labels_(out, end, at, "", key);
  at = uqrp_labels_(out, end, at, "", zone);
  if (at == 0 || room - at < 5u + (size != 0 ? 11u : 0u)) return 0;
  memset(out + at, 0, 5);
  out[at + 2] = 16; /* TXT */
  out[at + 4] = 1;  /* IN */
  at += 5;
  if (size != 0) {
    memset(out + at, 0, 11);
    out[at + 2] = 41; /* OPT (RFC 6891) */
    out[at + 3] = (uint8_t)(size >> 8);
    out[at + 4] = (uint8_t)size;
    out[11] = 1;
    at += 11;
  }
  return at;
}

/*
 * Compares the name at `at` with the one of the query, without case. Returns the place after it, 0 when it is damaged.
 * A chain of pointers ends after 16, so that no reply can keep the device busy.
 */
static inline size_t uqrp_owner_(const uint8_t *reply, size_t size, size_t at, const uint8_t *query, uint8_t *is_same) {
  size_t after = 0, asked = 12, i;
  uint8_t pointers = 0;
  *is_same = 1;
  while (at < size) {
    const uint8_t length = reply[at];
    if (length >= 0xc0) {
      if (size - at < 2 || ++pointers > 16) return 0;
      if (after == 0) after = at + 2;
      if (!*is_same) return after;
      at = (size_t)(uqrp_u16_(reply + at) & 0x3fff);
      continue;
    }
    if (length > 63 || length >= size - at) return 0;
    /* The query is whole and ends with 0, and labels are equal in length as long as they are the same: nothing is read beyond it. */
    for (i = 0; *is_same && i <= length; i++)
      if (uqrp_lower_(reply[at + i]) != uqrp_lower_(query[asked + i])) *is_same = 0;
    at += (size_t)length + 1;
    asked += (size_t)length + 1;
    if (length == 0) return after != 0 ? after : at;
  }
  return 0;
}

/*
 * Finds a field such as "f" in the envelope, or "val" of a public service. Returns its octets as they were sent (they may be
 * percent-encoded) and their number in `size`; NULL when there is none.
 */
static inline const uint8_t *uqrp_field(const struct uqrp_record *record, const char *name, size_t *size) {
  const size_t length = strlen(name);
  const uint8_t *at = record->fields, *found = NULL;
  size_t left = record->fields_size;
  *size = 0;
  while (left > 0) {
    const uint8_t *const semicolon = (const uint8_t *)memchr(at, ';', left);
    const size_t field = semicolon != NULL ? (size_t)(semicolon - at) : left;
    if (field > length && at[length] == '=' && memcmp(at, name, length) == 0) {
      found = at + length + 1;
      *size = field - length - 1;
    }
    if (semicolon == NULL) break;
    left -= field + 1;
    at += field + 1;
  }
  return found;
}

static inline int uqrp_field_is_(const struct uqrp_record *record, const char *name, const char *value) {
  size_t size;
  const uint8_t *const found = uqrp_field(record, name, &size);
  return found != NULL && size == strlen(value) && memcmp(found, value, size) == 0;
}

/* 1 when the data are exactly this text. */
static inline int uqrp_is(const struct uqrp_record *record, const char *text) {
  return record->data != NULL && record->size == strlen(text) && memcmp(record->data, text, record->size) == 0;
}

/* Strict Base64 (RFC 4648 section 4) from `in` to `out`, which may begin earlier in the same buffer. 1 when it decodes. */
static inline int uqrp_base64_(uint8_t *out, const uint8_t *in, size_t size, size_t *made) {
  uint16_t bits = 0;
  uint8_t have = 0;
  size_t i;
  *made = 0;
  if (size % 4 != 0) return 0;
  if (size > 0 && in[size - 1] == '=') size -= in[size - 2] == '=' ? 2 : 1;
  for (i = 0; i < size; i++) {
    const uint8_t c = in[i], letter = (uint8_t)(uqrp_lower_(c) - 'a');
    uint8_t value;
    if (letter < 26) value = (uint8_t)(c >= 'a' ? letter + 26 : letter);
    else if (c >= '0' && c <= '9') value = (uint8_t)(c + 4);
    else if (c == '+') value = 62;
    else if (c == '/') value = 63;
    else return 0;
    bits = (uint16_t)(bits << 6 | value);
    have = (uint8_t)(have + 6);
    if (have < 8) continue;
    have = (uint8_t)(have - 8);
    out[(*made)++] = (uint8_t)(bits >> have);
    bits = (uint16_t)(bits & ((1u << have) - 1u));
  }
  return bits == 0;
}

/* Reads the envelope `text` of `size` octets, and decodes its data in place. */
static inline enum uqrp_result uqrp_envelope_(uint8_t *text, size_t size, struct uqrp_record *record) {
  size_t at = 0, equals = 0, number, i;
  uint8_t *data = NULL;
  const uint8_t *ttl;
  record->fields = text;
  if (size < 2 || text[0] != 'v' || text[1] != '=') return UQRP_FORMAT;
  while (at < size) {
    if (size - at >= 2 && text[at] == 'd' && text[at + 1] == '=') {
      data = text + at;
      break;
    }
    for (equals = 0, i = at; i < size && text[i] != ';'; i++)
      if (text[i] == '=' && equals == 0) equals = i;
    if (equals <= at) return UQRP_FORMAT;
    at = i < size ? i + 1 : i;
  }
  record->fields_size = at;
  if (!uqrp_field_is_(record, "v", "svc1")) return UQRP_FORMAT;
  if (uqrp_field_is_(record, "t", "error") || !uqrp_field_is_(record, "s", "ok")) return UQRP_SERVICE;
  ttl = uqrp_field(record, "ttl", &number);
  for (i = 0; i < number && number <= 10 && ttl[i] >= '0' && ttl[i] <= '9'; i++)
    record->ttl_hint = record->ttl_hint * 10 + (uint32_t)(ttl[i] - '0');
  if (data == NULL) return UQRP_OK;
  /* The data take the place of `d=`, so that there is an octet for the 0 behind them. */
  number = size - at - 2;
  if (uqrp_field_is_(record, "e", "b64")) {
    if (!uqrp_base64_(data, data + 2, number, &number)) return UQRP_FORMAT;
  } else if (uqrp_field_is_(record, "e", "plain")) {
    memmove(data, data + 2, number);
  } else {
    return UQRP_FORMAT;
  }
  data[number] = 0;
  record->data = data;
  record->size = number;
  return UQRP_OK;
}

/*
 * Reads a reply to `query`, and decodes the data inside `reply`, which changes. `record` points into `reply`.
 * Any octets may come in: nothing beyond `size` is read or written. `record` is empty unless the result is UQRP_OK.
 */
static inline enum uqrp_result uqrp_reply(const uint8_t *query, size_t query_size, uint8_t *reply, size_t size,
                                          struct uqrp_record *record) {
  enum uqrp_result result;
  size_t at = 12, i;
  uint16_t count;
  memset(record, 0, sizeof *record);
  /* The end of the question: name, type and class. */
  while (at < query_size && query[at] != 0) at += (size_t)query[at] + 1;
  at += 5;
  if (at > query_size || size < at || reply[0] != query[0] || reply[1] != query[1]) return UQRP_OTHER;
  /* A reply to an ordinary query, with one question: ours. */
  if ((reply[2] & 0xf8) != 0x80 || uqrp_u16_(reply + 4) != 1) return UQRP_OTHER;
  for (i = 12; i < at; i++)
    if (uqrp_lower_(reply[i]) != uqrp_lower_(query[i])) return UQRP_OTHER;
  if ((reply[2] & 0x02) != 0) return UQRP_TRUNCATED;
  if ((reply[3] & 0x0f) == 5) return UQRP_REFUSED;
  if ((reply[3] & 0x0f) == 3) return UQRP_EMPTY;
  if ((reply[3] & 0x0f) != 0) return UQRP_FAILED;
  for (count = uqrp_u16_(reply + 6); count > 0; count--) {
    uint8_t is_ours;
    uint8_t *head, *text;
    size_t length, joined = 0;
    at = uqrp_owner_(reply, size, at, query, &is_ours);
    if (at == 0 || size - at < 10) return UQRP_REPLY;
    head = reply + at;
    text = head + 10;
    at += 10;
    length = uqrp_u16_(head + 8);
    if (length > size - at) return UQRP_REPLY;
    at += length;
    if (!is_ours || uqrp_u16_(head) != 16 || uqrp_u16_(head + 2) != 1) continue;
    for (i = 0; i < length;) {
      const size_t string = text[i++];
      if (string > length - i) return UQRP_REPLY;
      memmove(text + joined, text + i, string);
      joined += string;
      i += string;
    }
    result = uqrp_envelope_(text, joined, record);
    if (result != UQRP_OK) {
      memset(record, 0, sizeof *record);
      return result;
    }
    record->dns_ttl = (uint32_t)uqrp_u16_(head + 4) << 16 | uqrp_u16_(head + 6);
    record->reply = reply;
    return UQRP_OK;
  }
  return UQRP_EMPTY;
}

/*
 * Checks that a record that `uqrp_reply` gave was signed for `key`, and leaves its payload in `record`.
 * keys: `count` public keys of 32 octets, one after the other; two, so that the signer's key can be changed.
 * latest: the time of the newest record seen, 6 octets, all 0 at first. It changes with UQRP_OK: store it where it outlives a restart.
 * Unless the result is UQRP_OK, `record` is empty, so that no forged value can be used by mistake.
 */
static inline enum uqrp_result uqrp_signed(struct uqrp_record *record, const char *key, const uint8_t *keys, size_t count,
                                           uint8_t *latest) {
  uint8_t *const data = record->data;
  const size_t letters = strlen(key), payload = record->size - UQRP_SIGNED_HEAD;
  /* What was signed: a line, the key and a line feed, form with key id and time, the payload. */
  const size_t before = 14 + letters + 1 + 15;
  uint8_t signature[64], time[6];
  uint8_t *message;
  size_t i;
  enum uqrp_result result = UQRP_FORGED;
  if (data == NULL || record->size < UQRP_SIGNED_HEAD || data[0] != 3) {
    memset(record, 0, sizeof *record);
    return UQRP_UNSIGNED;
  }
  memcpy(time, data + 9, sizeof time);
  if (memcmp(time, latest, sizeof time) < 0) {
    memset(record, 0, sizeof *record);
    return UQRP_OLDER;
  }
  /* It is put together in front of the payload, where the signature and the question stood: the name in the question is longer than the key. */
  if (before <= (size_t)(data - record->reply) + UQRP_SIGNED_HEAD) {
    memcpy(signature, data + 15, sizeof signature);
    message = data + UQRP_SIGNED_HEAD - before;
    memcpy(data + UQRP_SIGNED_HEAD - 15, data, 15);
    memcpy(message, "uqrp-signed-3\n", 14);
    for (i = 0; i < letters; i++) message[14 + i] = uqrp_lower_((uint8_t)key[i]);
    message[14 + letters] = '\n';
    for (i = 0; i < count && result != UQRP_OK; i++)
      if (uqrp_verify(signature, keys + 32 * i, message, before + payload) == 1) result = UQRP_OK;
  }
  if (result != UQRP_OK) {
    memset(record, 0, sizeof *record);
    return result;
  }
  memcpy(latest, time, sizeof time);
  record->data = data + UQRP_SIGNED_HEAD;
  record->size = payload;
  record->fields = NULL;
  record->fields_size = 0;
  return UQRP_OK;
}

#ifdef __cplusplus
}
#endif

#endif
