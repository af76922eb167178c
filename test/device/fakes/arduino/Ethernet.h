#pragma once
#include "Arduino.h"

static struct FakeEthernet {
  int begin(uint8_t *) { return 1; }
} Ethernet;
