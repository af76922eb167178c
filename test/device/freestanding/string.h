/* What device/uqrp.h uses of the C library, for compilers that have none. */
#include <stddef.h>

void *memchr(const void *block, int octet, size_t size);
int memcmp(const void *a, const void *b, size_t size);
void *memcpy(void *to, const void *from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *block, int octet, size_t size);
size_t strlen(const char *text);
