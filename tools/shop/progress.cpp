// progress: prints the progress.
#include "shop/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <string>

namespace outboxd::shop {

progress::progress() : terminal_{::isatty(STDOUT_FILENO) != 0} {}

progress::~progress() {
  if (open_line_) std::fputs("\n", stdout);
}

void progress::show(steady_clock::duration since_start, const counts& now) {
  const auto seconds = std::chrono::round<std::chrono::seconds>(since_start).count();
  auto line = fmt::format("{:>4} s   committed {:>7}   delivered {:>7}   in flight {:>5}", seconds,
                          now.committed, now.delivered, now.missing);
  if (now.latency) line += fmt::format("   p50 {:.1f} ms", now.latency->p50.count());
  fmt::print("{}{}{}", terminal_ ? "\r" : "", line, terminal_ ? "\x1b[K" : "\n");
  std::fflush(stdout);
  open_line_ = terminal_;
}

}  // namespace outboxd::shop
