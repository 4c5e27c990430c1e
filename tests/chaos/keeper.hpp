// keeper: a shell that kills this program's child processes if the program itself is killed.
#pragma once

#include <sys/types.h>

#include <cstdio>
#include <mutex>

namespace outboxd::chaos {

class keeper {
 public:
  keeper();
  ~keeper();
  keeper(const keeper&) = delete;
  keeper& operator=(const keeper&) = delete;

  void started(pid_t pid);
  void ended(pid_t pid);

 private:
  void tell(char what, pid_t pid);

  std::mutex mutex_;
  std::FILE* shell_;
};

}  // namespace outboxd::chaos
