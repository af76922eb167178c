/*
 * Runs device/uqrp.h on a Cortex-M3 that qemu emulates (lm3s6965evb), without a C library: 256 KB of flash, 64 KB of memory. BOARD_CASES is
 * a file with the cases; each gives a line: result, octets of data, and a sum over them. Output and end are semihosting calls.
 */
#include "uqrp.h"

struct board_case {
  const uint8_t *query, *reply;
  uint16_t query_size, reply_size;
};

#include BOARD_CASES

void *memcpy(void *to, const void *from, size_t size) {
  uint8_t *out = (uint8_t *)to;
  const uint8_t *in = (const uint8_t *)from;
  while (size-- > 0) *out++ = *in++;
  return to;
}

void *memmove(void *to, const void *from, size_t size) {
  uint8_t *const out = (uint8_t *)to;
  const uint8_t *const in = (const uint8_t *)from;
  size_t i;
  if (out <= in) return memcpy(to, from, size);
  for (i = size; i > 0; i--) out[i - 1] = in[i - 1];
  return to;
}

void *memset(void *block, int octet, size_t size) {
  uint8_t *out = (uint8_t *)block;
  while (size-- > 0) *out++ = (uint8_t)octet;
  return block;
}

int memcmp(const void *a, const void *b, size_t size) {
  const uint8_t *x = (const uint8_t *)a, *y = (const uint8_t *)b;
  for (; size > 0; size--, x++, y++)
    if (*x != *y) return *x - *y;
  return 0;
}

void *memchr(const void *block, int octet, size_t size) {
  const uint8_t *at = (const uint8_t *)block;
  for (; size > 0; size--, at++)
    if (*at == (uint8_t)octet) return (void *)(size_t)at;
  return NULL;
}

size_t strlen(const char *text) {
  size_t size = 0;
  while (text[size] != 0) size++;
  return size;
}

static int semihost(int call, const void *argument) {
  register int r0 __asm__("r0") = call;
  register const void *r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

static char line[64];
static size_t length;

static void text(const char *part) {
  while (*part != 0) line[length++] = *part++;
}

static void number(uint32_t value) {
  char digits[11];
  size_t at = sizeof digits - 1;
  digits[at] = 0;
  do digits[--at] = (char)('0' + value % 10);
  while ((value /= 10) > 0);
  text(digits + at);
}

int main(void) {
  static uint8_t reply[UQRP_TCP_ROOM];
  static const uint32_t done[2] = {0x20026, 0}; /* the program ended by itself, with 0 */
  size_t i, j;
  for (i = 0; i < sizeof board_cases / sizeof board_cases[0]; i++) {
    const struct board_case *const each = &board_cases[i];
    struct uqrp_record record;
    uint32_t sum = 0;
    memcpy(reply, each->reply, each->reply_size);
    length = 0;
    text(uqrp_result_name(uqrp_reply(each->query, each->query_size, reply, each->reply_size, &record)));
    for (j = 0; j < record.size; j++) sum = sum * 31 + record.data[j];
    text(" ");
    number((uint32_t)record.size);
    text(" ");
    number(sum);
    text("\n");
    line[length] = 0;
    (void)semihost(0x04, line);
  }
  (void)semihost(0x20, done);
  return 0;
}

static void reset(void) {
  (void)main();
  for (;;) {
  }
}

/* The stack begins at the end of the memory. */
__attribute__((section(".vectors"), used)) static void (*const vectors[])(void) = {(void (*)(void))0x20010000, reset};
