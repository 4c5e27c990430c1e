#include "app/daemon/sd_notify.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>

#include "app/config/units.hpp"

namespace outboxd::app {
namespace {

std::string take_variable(const char* name) {
  const char* const found = std::getenv(name);
  std::string value = found != nullptr ? found : "";
  ::unsetenv(name);
  return value;
}

// Without WATCHDOG_PID the watchdog applies to every process that inherits the environment.
bool is_ours(const std::string& process) {
  return process.empty() || parse_integer(process) == static_cast<std::int64_t>(::getpid());
}

std::optional<std::chrono::microseconds> watchdog_of(const std::string& microseconds) {
  const auto parsed = parse_integer(microseconds);
  if (!parsed || *parsed <= 0) return std::nullopt;
  return std::chrono::microseconds(*parsed);
}

struct socket_address {
  sockaddr_un name;
  socklen_t size;
};

// The name of an abstract socket begins with a NUL and does not end with one (unix(7)).
std::optional<socket_address> parse_address(const std::string& text) {
  socket_address out{};
  out.name.sun_family = AF_UNIX;
  if (text.size() < 2 || (text[0] != '/' && text[0] != '@') || text.size() >= sizeof out.name.sun_path)
    return std::nullopt;
  std::memcpy(out.name.sun_path, text.data(), text.size());
  out.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + text.size());
  if (text[0] == '@')
    out.name.sun_path[0] = '\0';
  else
    ++out.size;
  return out;
}

}  // namespace

sd_notify::sd_notify(std::string address, std::optional<std::chrono::microseconds> watchdog)
    : address_(std::move(address)), watchdog_(wanted() ? watchdog : std::nullopt) {
  if (wanted()) socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

sd_notify::~sd_notify() {
  if (socket_ >= 0) ::close(socket_);
}

sd_notify sd_notify::from_environment() {
  auto address = take_variable("NOTIFY_SOCKET");
  const auto watchdog = watchdog_of(take_variable("WATCHDOG_USEC"));
  const bool ours = is_ours(take_variable("WATCHDOG_PID"));
  return sd_notify(std::move(address), ours ? watchdog : std::nullopt);
}

result<void> sd_notify::send(std::string_view lines) const {
  if (!wanted()) return {};
  const auto to = parse_address(address_);
  if (!to)
    return permanent(fmt::format(
        "NOTIFY_SOCKET = '{}' is neither a path nor @ and the name of an abstract socket", address_));
  // Each datagram is sent without a connection, because the manager may have recreated its socket.
  const auto sent = ::sendto(socket_, lines.data(), lines.size(), MSG_NOSIGNAL,
                             reinterpret_cast<const sockaddr*>(&to->name), to->size);
  if (sent >= 0) return {};
  return permanent(fmt::format("NOTIFY_SOCKET = '{}': {}", address_, std::generic_category().message(errno)));
}

std::string one_status_line(std::string_view words) {
  constexpr std::size_t longest =
      500;  // bytes; the cut may split a multibyte character, which systemd rejects
  std::string out(words.substr(0, longest));
  while (words.size() > longest && !out.empty() &&
         (static_cast<unsigned char>(words[out.size()]) & 0xC0) == 0x80)
    out.pop_back();
  std::replace_if(
      out.begin(), out.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; }, ' ');
  return out;
}

}  // namespace outboxd::app
