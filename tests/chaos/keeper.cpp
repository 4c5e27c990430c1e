// keeper: the shell reads "+pid" and "-pid" from a pipe, and sees its end however this process ends.
#include "keeper.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace outboxd::chaos {
namespace {

constexpr auto script =
    "trap '' INT TERM HUP; all=' '; while read -r line; do pid=${line#?}; case $line in "
    "+*) all=\"$all$pid \" ;; -*) all=\"${all%% $pid *} ${all#* $pid }\" ;; esac; done; "
    "for pid in $all; do kill -KILL $pid 2>/dev/null; done";

}  // namespace

keeper::keeper() : shell_{::popen(script, "we")} {
  if (shell_ == nullptr) throw std::runtime_error{"popen"};
}

keeper::~keeper() {
  ::pclose(shell_);
}

void keeper::started(pid_t pid) {
  tell('+', pid);
}

void keeper::ended(pid_t pid) {
  tell('-', pid);
}

void keeper::tell(char what, pid_t pid) {
  const std::lock_guard lock{mutex_};
  fmt::print(shell_, "{}{}\n", what, pid);
  std::fflush(shell_);
}

}  // namespace outboxd::chaos
