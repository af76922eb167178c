// As much of Arduino over POSIX as device/examples/arduino uses.
#pragma once
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef uint8_t byte;
enum { LOW, HIGH, OUTPUT, LED_BUILTIN = 13, A0 = 14 };

static inline unsigned long micros() {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (unsigned long)now.tv_sec * 1000000ul + (unsigned long)now.tv_nsec / 1000ul;
}
static inline unsigned long millis() { return micros() / 1000; }
// The minute between two reads ends the program.
static inline void delay(unsigned long ms) {
  if (ms >= 60000) exit(0);
  poll(NULL, 0, (int)ms);
}
static inline int analogRead(int) { return rand() & 1023; }
static inline void pinMode(int, int) {}
static inline void digitalWrite(int pin, int level) { printf("pin %d is %s\n", pin, level == HIGH ? "on" : "off"); }

static struct FakeSerial {
  void begin(unsigned long) {}
  void println(const char *text) { printf("%s\n", text); }
} Serial;

class IPAddress {
 public:
  uint8_t octets[4];
  IPAddress(uint8_t a, uint8_t b, uint8_t c, uint8_t d) : octets{a, b, c, d} {}
  bool operator==(const IPAddress &other) const {
    return octets[0] == other.octets[0] && octets[1] == other.octets[1] && octets[2] == other.octets[2] && octets[3] == other.octets[3];
  }
  bool operator!=(const IPAddress &other) const { return !(*this == other); }
};
