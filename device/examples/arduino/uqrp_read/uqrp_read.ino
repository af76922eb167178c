// Reads a record once a minute and switches the LED. Copy uqrp.h beside this file. The record has no signature: anybody on the path can
// forge it, so this is for a lamp, not for a pump. docs/DEVICES.md has signed records.
#include <Ethernet.h>
#include <EthernetUdp.h>

#include "uqrp_arduino.h"

static byte mac[] = {0x02, 0x00, 0x00, 0x00, 0x00, 0x01};
static const IPAddress server(192, 0, 2, 53);
static EthernetUDP udp;
static uint8_t reply[512];

// Noise of an open pin, as a stand-in: use the generator of your board, such as esp_random() or the TRNG of a SAMD.
static uint16_t random16() {
  uint16_t bits = 0;
  for (uint8_t i = 0; i < 64; i++) bits = (uint16_t)((bits << 1 | bits >> 15) ^ (uint16_t)analogRead(A0) ^ (uint16_t)micros());
  return bits;
}

void setup() {
  pinMode(LED_BUILTIN, OUTPUT);
  Serial.begin(9600);
  Ethernet.begin(mac);
}

void loop() {
  struct uqrp_record record;
  bool taken;
  const enum uqrp_result result =
      uqrpRead(udp, server, 53, "lamp.status.acme.v1", NULL, "uqrp.net", random16, reply, sizeof reply, &record, &taken);
  Serial.println(uqrp_result_name(result));
  // Any other result keeps the last value.
  if (taken && result == UQRP_OK) digitalWrite(LED_BUILTIN, uqrp_is(&record, "on") ? HIGH : LOW);
  delay(60000);
}
