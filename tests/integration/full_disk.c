/* full_disk: preloaded into a PostgreSQL of the tests' own, it lets no table or index grow while the file
 * that OUTBOXD_TEST_FULL_DISK names exists. The server writes its tables with pwrite, and
 * PostgreSQL 16 makes them grow with pwritev (mdextend, mdzeroextend). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

typedef ssize_t write_function(int, const void*, size_t, off_t);
typedef ssize_t vector_function(int, const struct iovec*, int, off_t);

static int is_full(void) {
  const char* const flag = getenv("OUTBOXD_TEST_FULL_DISK");
  return flag != NULL && access(flag, F_OK) == 0;
}

/* WAL goes on: its segments are there already. */
static int is_of_a_table(int descriptor) {
  char link[64];
  char path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = '\0';
  return strstr(path, "/base/") != NULL;
}

/* Whether a write up to this offset makes a table grow while there is no room. */
static int is_refused(int descriptor, off_t end) {
  struct stat now;
  return is_full() && is_of_a_table(descriptor) && fstat(descriptor, &now) == 0 && end > now.st_size;
}

ssize_t pwrite(int descriptor, const void* bytes, size_t count, off_t offset) {
  static write_function* real;
  if (real == NULL) real = (write_function*)dlsym(RTLD_NEXT, "pwrite");
  if (is_refused(descriptor, offset + (off_t)count)) {
    errno = ENOSPC;
    return -1;
  }
  return real(descriptor, bytes, count, offset);
}

ssize_t pwrite64(int descriptor, const void* bytes, size_t count, off_t offset) {
  return pwrite(descriptor, bytes, count, offset);
}

ssize_t pwritev(int descriptor, const struct iovec* parts, int count, off_t offset) {
  static vector_function* real;
  if (real == NULL) real = (vector_function*)dlsym(RTLD_NEXT, "pwritev");
  off_t end = offset;
  for (int i = 0; i < count; ++i) end += (off_t)parts[i].iov_len;
  if (is_refused(descriptor, end)) {
    errno = ENOSPC;
    return -1;
  }
  return real(descriptor, parts, count, offset);
}

ssize_t pwritev64(int descriptor, const struct iovec* parts, int count, off_t offset) {
  return pwritev(descriptor, parts, count, offset);
}
