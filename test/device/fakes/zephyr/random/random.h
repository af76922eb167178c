#include <stddef.h>
#include <sys/random.h>

static inline int sys_csrand_get(void *out, size_t size) {
  return getrandom(out, size, 0) == (ssize_t)size ? 0 : -1;
}
