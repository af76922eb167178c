// The class UDP of Arduino's core, without what Stream adds.
#pragma once
#include <stddef.h>

#include "Arduino.h"

class UDP {
 public:
  virtual ~UDP() {}
  virtual uint8_t begin(uint16_t port) = 0;
  virtual void stop() = 0;
  virtual int beginPacket(IPAddress ip, uint16_t port) = 0;
  virtual int endPacket() = 0;
  virtual size_t write(const uint8_t *buffer, size_t size) = 0;
  virtual int parsePacket() = 0;
  virtual int read(unsigned char *buffer, size_t length) = 0;
  virtual IPAddress remoteIP() = 0;
  virtual uint16_t remotePort() = 0;
};
