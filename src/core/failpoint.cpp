#include "core/failpoint.hpp"

#ifdef OUTBOXD_FAILPOINTS
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <string>

namespace outboxd {
namespace {

struct chosen_point {
  std::string name;
  long passes_left = 0;
  int signal = SIGKILL;
};

chosen_point choose() {
  const char* const text = std::getenv("OUTBOXD_FAILPOINT");
  if (text == nullptr) return {};
  std::string word = text;
  int signal = SIGKILL;
  if (constexpr std::string_view stops = ":stop"; word.ends_with(stops)) {
    word.resize(word.size() - stops.size());
    signal = SIGSTOP;
  }
  const auto colon = word.find(':');
  if (colon == std::string::npos) return {word, 1, signal};
  return {word.substr(0, colon), std::strtol(word.c_str() + colon + 1, nullptr, 10), signal};
}

}  // namespace

void failpoint(std::string_view name) {
  static chosen_point chosen = choose();
  if (chosen.name == name && --chosen.passes_left == 0) ::kill(::getpid(), chosen.signal);
}

std::chrono::milliseconds hastened(std::chrono::milliseconds wait) {
  static const char* const text = std::getenv("OUTBOXD_FAILPOINT_HASTE");
  return text == nullptr ? wait : wait / std::max(1L, std::strtol(text, nullptr, 10));
}

}  // namespace outboxd
#endif
