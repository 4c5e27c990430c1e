#include "app/commands/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

#include "app/command/outcome.hpp"

namespace outboxd::app {
namespace {

using namespace std::chrono_literals;

constexpr auto between_rewrites = 200ms;
constexpr auto between_lines = 5s;
constexpr std::string_view clear_line = "\r\x1b[K";

}  // namespace

progress::progress(std::string command, std::int64_t all, bool quiet)
    : command_(std::move(command)),
      all_(all),
      where_(quiet                          ? place::nowhere
             : ::isatty(STDERR_FILENO) != 0 ? place::terminal
                                            : place::lines),
      next_(std::chrono::steady_clock::now() + (where_ == place::terminal ? 1s : between_lines)) {}

progress::~progress() {
  if (line_open_) fmt::print(stderr, "{}", clear_line);
}

void progress::show(std::int64_t done) {
  const auto now = std::chrono::steady_clock::now();
  if (where_ == place::nowhere || now < next_) return;
  const auto words = fmt::format("{}: {} of {} events so far", command_, done, all_);
  if (where_ == place::lines) {
    next_ = now + between_lines;
    say_error(words);
    return;
  }
  next_ = now + between_rewrites;
  line_open_ = true;
  fmt::print(stderr, "{}{}", clear_line, words);
  std::fflush(stderr);
}

}  // namespace outboxd::app
