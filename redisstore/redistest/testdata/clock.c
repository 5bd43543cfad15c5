// Loaded into redis-server, this makes its clock one that can jump: the file that SWRUN_CLOCK names holds by how many
// microseconds it is ahead, as an integer of eight bytes.
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *ahead;

__attribute__((constructor)) static void load(void) {
  const char *path = getenv("SWRUN_CLOCK");
  int file = path ? open(path, O_RDONLY) : -1;
  if (file < 0) return;
  void *at = mmap(NULL, sizeof *ahead, PROT_READ, MAP_SHARED, file, 0);
  if (at != MAP_FAILED) ahead = at;
  close(file);
}

int gettimeofday(struct timeval *tv, void *zone) {
  (void)zone;
  struct timespec now;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  int64_t us = (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000 + (ahead ? *ahead : 0);
  tv->tv_sec = us / 1000000;
  tv->tv_usec = us % 1000000;
  return 0;
}
