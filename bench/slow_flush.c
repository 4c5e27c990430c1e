/* slow_flush: preloaded into the benchmarks' own PostgreSQL, it makes every fdatasync and fsync take at least
 * OUTBOXD_BENCH_FLUSH_US microseconds, as on a cloud volume. The real flush happens, too. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

typedef int flush_function(int);

static long at_least_ns(void) {
  static long value = -1;
  if (value < 0) {
    const char* const text = getenv("OUTBOXD_BENCH_FLUSH_US");
    value = text == NULL ? 0 : strtol(text, NULL, 10) * 1000;
  }
  return value;
}

static int flush_slowly(flush_function* flush, int descriptor) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  const int result = flush(descriptor);
  const int saved = errno;
  until.tv_nsec += at_least_ns() % 1000000000L;
  until.tv_sec += at_least_ns() / 1000000000L + until.tv_nsec / 1000000000L;
  until.tv_nsec %= 1000000000L;
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {
  }
  errno = saved;
  return result;
}

int fdatasync(int descriptor) {
  static flush_function* real;
  if (real == NULL) real = (flush_function*)dlsym(RTLD_NEXT, "fdatasync");
  return flush_slowly(real, descriptor);
}

int fsync(int descriptor) {
  static flush_function* real;
  if (real == NULL) real = (flush_function*)dlsym(RTLD_NEXT, "fsync");
  return flush_slowly(real, descriptor);
}
