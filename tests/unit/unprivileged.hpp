// unprivileged: for its life this thread may open only what the user nobody may: root may read everything.
#pragma once

#include <sys/fsuid.h>
#include <unistd.h>

namespace outboxd::test {

class unprivileged {
 public:
  unprivileged() {
    if (::geteuid() == 0) ::setfsuid(65534);
  }
  unprivileged(const unprivileged&) = delete;
  unprivileged& operator=(const unprivileged&) = delete;
  ~unprivileged() { ::setfsuid(::geteuid()); }
};

}  // namespace outboxd::test
