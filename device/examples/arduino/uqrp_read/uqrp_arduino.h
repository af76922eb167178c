// Asks a name server over any UDP of Arduino: EthernetUDP, WiFiUDP. UDP alone: a record that is too long for `room` gives UQRP_TRUNCATED.
#ifndef UQRP_ARDUINO_H
#define UQRP_ARDUINO_H

#include <Arduino.h>
#include <Udp.h>

#include "uqrp.h"

// Looks at a record. True when it is the one: then the wait ends.
typedef bool (*UqrpAccept)(struct uqrp_record *record);

// Asks for `key` until a reply is accepted, or all attempts are over. `random16` gives 16 bits from the hardware's generator: Arduino's
// random() always begins with the same numbers. Without `accept` the first reply counts; with it only a record that it accepts, so that
// a forged reply that came first does not end the wait. Returns the result of the last reply, UQRP_OTHER when none came; the record is
// in `reply` when `*taken` is true.
static inline enum uqrp_result uqrpRead(UDP &udp, IPAddress server, uint16_t port, const char *key, const char *token, const char *zone,
                                        uint16_t (*random16)(), uint8_t *reply, uint16_t room, struct uqrp_record *record,
                                        bool *taken, UqrpAccept accept = NULL) {
  static uint8_t query[UQRP_QUERY_ROOM];
  static const uint16_t waits[] = {1000, 2000, 4000, 4000, 4000};
  enum uqrp_result result = UQRP_OTHER;
  *taken = false;
  for (uint8_t attempt = 0; attempt < sizeof waits / sizeof waits[0]; attempt++) {
    const size_t size = uqrp_query(query, sizeof query, random16(), key, token, zone, room);
    if (size == 0) return UQRP_FAILED;
    // Another port for each attempt, above those that have names.
    if (udp.begin((uint16_t)(random16() | 0x8000)) != 1) continue;
    udp.beginPacket(server, port);
    udp.write(query, size);
    udp.endPacket();
    const unsigned long began = millis();
    while (millis() - began < waits[attempt]) {
      const int got = udp.parsePacket();
      if (got <= 0) {
        delay(5);
        continue;
      }
      // A packet that is longer than the room is cut: it is damaged then.
      const int have = udp.read(reply, room);
      if (have <= 0 || udp.remoteIP() != server || udp.remotePort() != port) continue;
      const enum uqrp_result found = uqrp_reply(query, size, reply, (size_t)have, record);
      if (found == UQRP_OTHER) continue;
      result = found;
      if (accept == NULL || (found == UQRP_OK && accept(record))) {
        *taken = true;
        udp.stop();
        return result;
      }
    }
    udp.stop();
  }
  return result;
}

#endif
